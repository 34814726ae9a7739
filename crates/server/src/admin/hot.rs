//! `/admin/v1/hot`: the hottest partitions of all ranges, and whether a split can help. `docs/admin-api.md` lists the fields.

use hyper::StatusCode;
use partita_cluster::{Cluster, Served};
use partita_heat::{HotPartition, Pattern, SplitAdvice, TableGrowth};
use partita_table::{Service, TableNames};
use serde_json::{Value, json};

use super::asked::{Asked, Refused};
use super::places::{place, table_place, whole_table};
use super::ranges::{Answer, refused};

/// Partitions shown when nobody says how many, and at most.
const LIMIT: usize = 20;
const LIMIT_MAX: usize = 1_000;

/// The partitions, hottest first. `balances` says whether hot ranges are split unasked.
pub(super) async fn hot(
    cluster: &Cluster,
    service: &Service,
    query: Option<&str>,
    balances: bool,
) -> Answer {
    let limit =
        Asked::new(query, &["limit"]).and_then(|asked| asked.number("limit", 1..=LIMIT_MAX));
    let limit = match limit {
        Ok(limit) => limit.unwrap_or(LIMIT),
        Err(Refused(why)) => return refused(StatusCode::BAD_REQUEST, "InvalidQuery", &why),
    };
    let names = match service.table_names().await {
        Ok(names) => names,
        Err(error) => return refused(StatusCode::SERVICE_UNAVAILABLE, "Busy", &error.to_string()),
    };
    let ranges = cluster.map().ranges();
    let (mut partitions, mut splits, mut growth) = (Vec::new(), Vec::new(), Vec::new());
    for served in ranges.iter() {
        let heat = served.range.heat();
        let advice = heat.split_point();
        let of_range = heat.hot_partitions(limit);
        let shown = of_range
            .iter()
            .map(|hot| (hot.load, partition(cluster, served, hot, &advice, &names)));
        partitions.extend(shown);
        splits.push(split(served, &advice, &names));
        growth.extend(
            heat.growth()
                .iter()
                .map(|table| grows(served, table, &names)),
        );
    }
    // Each range's are in order already; the sort keeps key order where loads are equal.
    partitions.sort_by_key(|(load, _)| std::cmp::Reverse(*load));
    let partitions: Vec<Value> = partitions
        .into_iter()
        .take(limit)
        .map(|(_, shown)| shown)
        .collect();
    let (no_split_key, balanced) = cluster.balance_counts();
    let body = json!({
        "partitions": partitions,
        "splits": splits,
        "growth": growth,
        "balances": balances,
        "balanced": balanced,
        "no_split_key": no_split_key,
    });
    (StatusCode::OK, body)
}

fn partition(
    cluster: &Cluster,
    served: &Served,
    hot: &HotPartition,
    advice: &SplitAdvice,
    names: &TableNames,
) -> Value {
    let id = served.range.id();
    let window = cluster.last_window(id);
    // What is known of a window that is not over yet is no rate.
    let seconds = window.map(|window| window.elapsed.as_secs_f64());
    let seconds = seconds.filter(|seconds| *seconds > 0.0);
    let rate = |count: f64| seconds.map(|seconds| (count / seconds * 10.0).round() / 10.0);
    let (helps, why) = help(advice, hot);
    json!({
        "partition": place(&hot.partition, names),
        "range": id.0,
        "share": hot.share,
        "load": hot.load,
        "load_error": hot.error,
        "reads_per_second": rate(hot.last.reads),
        "writes_per_second": rate(hot.last.writes),
        "rows_per_second": rate(hot.last.rows_scanned + hot.last.rows_written),
        "bytes_in_per_second": rate(hot.last.bytes_in),
        "bytes_out_per_second": rate(hot.last.bytes_out),
        "throttled_per_second": rate(hot.last.throttled),
        "p50_us": hot.p50_us,
        "p99_us": hot.p99_us,
        "split_helps": helps,
        "why": why,
    })
}

/// Whether a split of its range helps a hot partition, and why or why not.
fn help(advice: &SplitAdvice, hot: &HotPartition) -> (bool, &'static str) {
    match advice {
        SplitAdvice::Cut { .. } => (true, "a split shares the load of its range out"),
        SplitAdvice::OneHotPartition { partition, .. } if *partition == hot.partition => (
            false,
            "it has most of its range's load, and a partition is never cut: spread its rows over more PartitionKeys",
        ),
        SplitAdvice::OneHotPartition { .. } => (
            false,
            "another partition has most of its range's load, and a partition is never cut",
        ),
        SplitAdvice::GrowsAtOneEnd { table, .. } if hot.partition.starts_with(table) => (
            false,
            "its table grows at one end, where most of its range's load is and stays, whatever is split: begin the PartitionKey with something that varies",
        ),
        SplitAdvice::GrowsAtOneEnd { .. } => (
            false,
            "most of its range's load is at the end of a table that grows there, and stays there whatever is split",
        ),
        SplitAdvice::NotEnoughLoad => (false, "its range has too little load to tell"),
    }
}

/// What the load says about splitting a range.
fn split(served: &Served, advice: &SplitAdvice, names: &TableNames) -> Value {
    let (word, at, share) = match advice {
        SplitAdvice::Cut { key, left_share } => ("cut", place(key, names), Some(left_share)),
        SplitAdvice::OneHotPartition { partition, share } => {
            ("one_hot_partition", place(partition, names), Some(share))
        }
        SplitAdvice::GrowsAtOneEnd { table, share } => {
            ("grows_at_one_end", whole_table(table, names), Some(share))
        }
        SplitAdvice::NotEnoughLoad => ("not_enough_load", Value::Null, None),
    };
    json!({
        "range": served.range.id().0,
        "advice": word,
        "at": at,
        "share": share,
    })
}

/// How a table grows in a range, with advice where that keeps it from being balanced.
fn grows(served: &Served, growth: &TableGrowth, names: &TableNames) -> Value {
    let advice = match growth.pattern {
        Pattern::AppendOnly => Some(
            "inserts go to the last partition, so one range takes them all whatever is split: begin the PartitionKey with something that varies, such as a hash of the RowKey",
        ),
        Pattern::PrependOnly => Some(
            "inserts go to the first partition, so one range takes them all whatever is split: begin the PartitionKey with something that varies, such as a hash of the RowKey",
        ),
        Pattern::Spread => None,
    };
    let place = table_place(&growth.table, names);
    json!({
        "range": served.range.id().0,
        "account": place.as_ref().map(|place| &place.account),
        "table": place.as_ref().map(|place| &place.table),
        "pattern": growth.pattern,
        "end_share": growth.end_share,
        "advice": advice,
    })
}

#[cfg(test)]
mod tests {
    use super::super::tests::{Heated, fields_are_documented};
    use serde_json::Value;

    #[tokio::test]
    async fn the_hottest_partitions_come_first_with_what_can_be_done() {
        let heated = Heated::start(None).await;
        let (_, idle) = heated.get("/admin/v1/hot").await;
        assert_eq!(idle["partitions"], Value::Array(Vec::new()));
        assert_eq!(idle["splits"][0]["advice"], "not_enough_load");

        heated.insert("a", 400).await;
        heated.insert("b", 100).await;
        let (_, hot) = heated.get("/admin/v1/hot").await;
        fields_are_documented(&hot);
        let [first, second] = [&hot["partitions"][0], &hot["partitions"][1]];
        assert_eq!(first["partition"]["partition_key"], "a");
        assert_eq!(
            (&first["split_helps"], &first["range"]),
            (&false.into(), &1.into())
        );
        assert!(first["share"].as_f64().is_some_and(|share| share > 0.5));
        assert!(
            second["why"]
                .as_str()
                .is_some_and(|why| why.starts_with("another partition"))
        );
        assert_eq!(hot["splits"][0]["at"]["partition_key"], "a");

        heated.insert("c", 400).await;
        let (_, hot) = heated.get("/admin/v1/hot?limit=2").await;
        assert_eq!(hot["partitions"].as_array().unwrap().len(), 2);
        assert_eq!(hot["partitions"][0]["split_helps"], true);
        assert_eq!(hot["splits"][0]["advice"], "cut");
        let (status, refused) = heated.get("/admin/v1/hot?limit=0").await;
        assert_eq!(
            (status, &refused["error"]["code"]),
            (400, &"InvalidQuery".into())
        );
        heated.server.stop().await;
    }

    #[tokio::test]
    async fn tables_that_grow_at_their_end_get_advice() {
        let heated = Heated::start(None).await;
        for day in 0..60 {
            heated.insert(&format!("day-{day:03}"), 100).await;
        }
        let (_, hot) = heated.get("/admin/v1/hot").await;
        fields_are_documented(&hot);
        let growth = &hot["growth"][0];
        assert_eq!(
            (&growth["table"], &growth["pattern"]),
            (&"People".into(), &"append_only".into())
        );
        assert!(
            growth["advice"]
                .as_str()
                .is_some_and(|text| text.contains("PartitionKey"))
        );
        // A split is not what helps, so none is advised beside that.
        let split = &hot["splits"][0];
        assert_eq!(split["advice"], "grows_at_one_end");
        assert_eq!(
            (&split["at"]["table"], &split["at"]["partition_key"]),
            (&"People".into(), &Value::Null)
        );
        assert!(split["share"].as_f64().is_some_and(|share| share > 0.9));
        let partitions = hot["partitions"].as_array().unwrap();
        for partition in partitions {
            assert_eq!(partition["split_helps"], false);
            let why = partition["why"].as_str().unwrap();
            assert!(why.starts_with("its table grows at one end"), "{why}");
        }
        assert!(!partitions.is_empty());
        heated.server.stop().await;
    }
}
