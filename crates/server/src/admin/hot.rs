//! `/admin/v1/hot`: the hottest partitions of all ranges, and whether a split can help. `docs/admin-api.md` lists the
//! fields.

use partita_cluster::{Cluster, Served, rate};
use partita_heat::{self as heat, Pattern};
use partita_wire::admin::{
    AdviceKind, GrowthAdvice, Hot, HotPartition, PartitionRates, SplitAdvice,
};

use super::answer::{Answer, Answered};
use super::named_keys::{named_container, named_key, table_of};
use super::params::Params;
use super::ranges::{growth_pattern, partition_latency};
use crate::known_names::{KnownNames, Names};
use crate::status::OpenStore;

/// The default number of partitions in the answer.
const LIMIT: usize = 20;
/// The maximum number of partitions in the answer.
const LIMIT_MAX: usize = 1_000;
/// The load from which on a range gets advice: either of the two is enough. A split or other keys change little below a
/// twentieth of the requests, or half of the processor time, at which `--balance load` splits. An import of some thousand
/// rows is below both, averaged over a window.
const FLOOR: Floor = Floor {
    requests_per_second: 250.0,
    cores: 0.25,
};

/// A load of a range in the last window.
#[derive(Debug, Clone, Copy)]
pub(super) struct Floor {
    requests_per_second: f64,
    /// Processors that the requests use.
    cores: f64,
}

/// The hottest partitions; for each range, the advice on splits and the growth of tables. `balances` is whether the
/// server splits hot ranges automatically.
pub(super) async fn hot(store: &OpenStore, query: Option<&str>, balances: bool) -> Answered {
    let limit = limit(&Params::new(query, &["limit"])?)?;
    Answer::ok(&hottest_of(store, limit, balances).await?)
}

/// How many partitions are asked for.
pub(super) fn limit(params: &Params<'_>) -> Result<usize, Answer> {
    Ok(params.number("limit", 1..=LIMIT_MAX)?.unwrap_or(LIMIT))
}

/// The hottest partitions of this server.
pub(super) async fn hottest_of(
    store: &OpenStore,
    limit: usize,
    balances: bool,
) -> Result<Hot, Answer> {
    hottest(store, limit, balances, FLOOR).await
}

async fn hottest(
    store: &OpenStore,
    limit: usize,
    balances: bool,
    floor: Floor,
) -> Result<Hot, Answer> {
    let (cluster, names) = (&store.cluster, store.names().await);
    let ranges = cluster.map().ranges();
    let (mut partitions, mut splits, mut growth) = (Vec::new(), Vec::new(), Vec::new());
    for served in ranges.iter() {
        let heat = served.range.heat();
        let is_quiet = floor.is_above(cluster, served);
        let advice = match is_quiet {
            true => heat::SplitAdvice::NotEnoughLoad,
            false => advice(served, &names),
        };
        // Dropped tables are left out below, so all partitions are asked for.
        let hottest = heat.hot_partitions(LIMIT_MAX);
        let entry = |hot| partition(cluster, served, hot, &advice, &names);
        let named = hottest.iter().map(entry);
        let kept = named.filter(|hot| {
            let partition = hot.partition.as_ref();
            partition.is_none_or(|partition| names.may_exist(partition))
        });
        partitions.extend(kept.take(limit));
        splits.push(split_advice(served, &advice, &names));
        let tables = heat.growth();
        let tables = tables
            .iter()
            .map(|table| growth_advice(served, table, &names, is_quiet));
        growth.extend(tables.filter(|growth| growth.table.is_some()));
    }
    // Each range's partitions are sorted already; a stable sort keeps key order where loads are equal.
    partitions.sort_by_key(|partition| std::cmp::Reverse(partition.load));
    partitions.truncate(limit);
    let (no_split_key, balanced) = cluster.balance_counts();
    Ok(Hot {
        partitions,
        splits,
        growth,
        balances,
        balanced,
        no_split_key,
        missing: names.missing(None),
    })
}

impl Floor {
    /// Whether a range has less load. Its load is unknown, and so too low, before the first window ends.
    fn is_above(self, cluster: &Cluster, served: &Served) -> bool {
        let id = served.range.id();
        let requests = cluster.last_window(id).map(|window| rate(&window));
        self.is_above_load(requests, cluster.last_cores(id))
    }

    fn is_above_load(self, requests_per_second: Option<f64>, cores: Option<f64>) -> bool {
        requests_per_second.unwrap_or_default() < self.requests_per_second
            && cores.unwrap_or_default() < self.cores
    }
}

/// The advice on a range: none at a key of a dropped table or queue, whose load has ended.
fn advice(served: &Served, names: &KnownNames) -> heat::SplitAdvice {
    let advice = served.range.heat().split_point();
    let at = match &advice {
        heat::SplitAdvice::Cut { key, .. } => named_key(key, names),
        heat::SplitAdvice::OneHotPartition { partition, .. } => named_key(partition, names),
        heat::SplitAdvice::GrowsAtOneEnd { table, .. } => named_container(table, names),
        heat::SplitAdvice::NotEnoughLoad => None,
    };
    match at {
        Some(key) if !names.may_exist(&key) => heat::SplitAdvice::NotEnoughLoad,
        _ => advice,
    }
}

fn partition(
    cluster: &Cluster,
    served: &Served,
    hot: &heat::HotPartition,
    advice: &heat::SplitAdvice,
    names: &Names,
) -> HotPartition {
    let id = served.range.id();
    let window = cluster.last_window(id);
    // The counts are those of the last closed window: dividing by its length gives rates.
    let seconds = window.map(|window| window.elapsed.as_secs_f64());
    let seconds = seconds.filter(|seconds| *seconds > 0.0);
    let rate = |count: f64| seconds.map(|seconds| (count / seconds * 10.0).round() / 10.0);
    let (split_helps, why) = split_helps(advice, hot);
    let last = &hot.last;
    HotPartition {
        partition: named_key(&hot.partition, names),
        range: id.0,
        share: hot.share,
        load: hot.load,
        load_error: hot.error,
        rates: PartitionRates {
            reads_per_second: rate(last.reads),
            writes_per_second: rate(last.writes),
            rows_per_second: rate(last.rows_scanned + last.rows_written),
            bytes_in_per_second: rate(last.bytes_in),
            bytes_out_per_second: rate(last.bytes_out),
            throttled_per_second: rate(last.throttled),
        },
        latency: partition_latency(&hot.latency),
        split_helps,
        why: why.to_owned(),
    }
}

/// Whether a split of its range helps a hot partition, and why or why not.
fn split_helps(advice: &heat::SplitAdvice, hot: &heat::HotPartition) -> (bool, &'static str) {
    use heat::SplitAdvice::{Cut, GrowsAtOneEnd, NotEnoughLoad, OneHotPartition};
    match advice {
        Cut { .. } => (true, "a split divides the load of its range"),
        OneHotPartition { partition, .. } if *partition == hot.partition => (
            false,
            "it has most of its range's load, and a partition cannot be split: spread its rows over more PartitionKeys",
        ),
        OneHotPartition { .. } => (
            false,
            "another partition has most of its range's load, and a partition cannot be split",
        ),
        GrowsAtOneEnd { table, .. } if hot.partition.starts_with(table) => (
            false,
            "its table grows at one end, which has most of its range's load after any split: start the PartitionKey with a varying part",
        ),
        GrowsAtOneEnd { .. } => (
            false,
            "most of its range's load is at the growing end of a table, which moves on with each insert after any split",
        ),
        NotEnoughLoad => (false, "its range has too little load to judge"),
    }
}

/// The advice on splitting a range.
fn split_advice(served: &Served, advice: &heat::SplitAdvice, names: &Names) -> SplitAdvice {
    let (kind, at, share) = match advice {
        heat::SplitAdvice::Cut { key, left_share } => {
            (AdviceKind::Cut, named_key(key, names), Some(*left_share))
        }
        heat::SplitAdvice::OneHotPartition { partition, share } => (
            AdviceKind::OneHotPartition,
            named_key(partition, names),
            Some(*share),
        ),
        heat::SplitAdvice::GrowsAtOneEnd { table, share } => (
            AdviceKind::GrowsAtOneEnd,
            named_container(table, names),
            Some(*share),
        ),
        heat::SplitAdvice::NotEnoughLoad => (AdviceKind::NotEnoughLoad, None, None),
    };
    SplitAdvice {
        range: served.range.id().0,
        advice: kind,
        at,
        share,
    }
}

/// How a table grows in a range, with advice if its growth defeats balancing, and the range is not quiet.
fn growth_advice(
    served: &Served,
    growth: &heat::TableGrowth,
    names: &Names,
    is_quiet: bool,
) -> GrowthAdvice {
    let end = match growth.pattern {
        _ if is_quiet => None,
        Pattern::AppendOnly => Some("last"),
        Pattern::PrependOnly => Some("first"),
        Pattern::Spread => None,
    };
    let advice = end.map(|end| {
        format!(
            "inserts go to the {end} partition, so one range receives them all after any split: start the PartitionKey with a varying part, such as a hash of the RowKey"
        )
    });
    let place = table_of(&growth.table, names);
    let (account, table) = place.map(|place| (place.account, place.table)).unzip();
    GrowthAdvice {
        range: served.range.id().0,
        account,
        table: table.flatten(),
        pattern: growth_pattern(growth.pattern),
        end_share: growth.end_share,
        advice,
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{Heated, documented};
    use super::{FLOOR, Floor, hottest};
    use partita_wire::admin::Hot;
    use serde_json::Value;

    /// The document, as for load above the floor: in tests no window ends.
    async fn hot_of(heated: &Heated) -> Value {
        let floor = Floor {
            requests_per_second: 0.0,
            cores: 0.0,
        };
        let status = heated.server.status();
        let hot = hottest(status.open().unwrap(), 20, false, floor).await;
        let hot = serde_json::to_value(hot.ok().unwrap()).unwrap();
        documented::<Hot>(&hot);
        hot
    }

    #[tokio::test]
    async fn the_hottest_partitions_come_first_with_advice() {
        let heated = Heated::start(None).await;
        let (_, idle) = heated.get("/admin/v1/hot").await;
        documented::<Hot>(&idle);
        assert_eq!(idle["partitions"], Value::Array(Vec::new()));
        assert_eq!(idle["splits"][0]["advice"], "not_enough_load");

        heated.insert("a", 400).await;
        heated.insert("b", 100).await;
        let hot = hot_of(&heated).await;
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
        let hot = hot_of(&heated).await;
        assert_eq!(hot["partitions"][0]["split_helps"], true);
        assert_eq!(hot["splits"][0]["advice"], "cut");
        let (status, refused) = heated.get("/admin/v1/hot?limit=0").await;
        assert_eq!(
            (status, &refused["error"]["code"]),
            (400, &"InvalidQuery".into())
        );
        heated.server.stop().await;
    }

    /// B3: at a few requests a second, or just after an import, there is nothing to advise.
    #[test]
    fn b3_advice_needs_load() {
        for (requests, cores, expected) in [
            (Some(12.0), Some(0.01), true),
            (Some(108.0), Some(0.12), true),
            (Some(12.0), None, true),
            (None, None, true),
            // Few requests that read many rows.
            (Some(12.0), Some(0.5), false),
            (Some(250.0), Some(0.01), false),
        ] {
            assert_eq!(
                FLOOR.is_above_load(requests, cores),
                expected,
                "{requests:?} {cores:?}"
            );
        }
    }

    /// B2: no row and no advice names a table that was dropped.
    #[tokio::test]
    async fn b2_dropped_tables_are_left_out() {
        let heated = Heated::start(None).await;
        heated.insert("a", 400).await;
        heated.insert("b", 400).await;
        let hot = hot_of(&heated).await;
        assert_eq!(hot["splits"][0]["advice"], "cut");
        let (account, table) = Heated::names();
        let service = &heated.server.status().open().unwrap().service.clone();
        service.delete_table(&account, &table).await.unwrap();
        let hot = hot_of(&heated).await;
        assert_eq!(hot["partitions"], Value::Array(Vec::new()));
        assert_eq!(hot["growth"], Value::Array(Vec::new()));
        let split = &hot["splits"][0];
        assert_eq!(
            (&split["advice"], &split["at"]),
            (&"not_enough_load".into(), &Value::Null)
        );
        heated.server.stop().await;
    }

    #[tokio::test]
    async fn tables_that_grow_at_their_end_get_advice() {
        let heated = Heated::start(None).await;
        for day in 0..60 {
            heated.insert(&format!("day-{day:03}"), 100).await;
        }
        let hot = hot_of(&heated).await;
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
        // A split does not help, so the advice is not `cut`.
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
