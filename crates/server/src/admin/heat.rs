//! `/admin/v1/heat`: the heat map, key ranges or partitions over time. `docs/admin-api.md` lists parameters and fields.

use std::time::{Duration, SystemTime};

use hyper::StatusCode;
use partita_cluster::Cluster;
use partita_heat::history::{Extent, HeatMap, MapShape, Metric, PartitionRow};
use partita_model::TableSpace;
use partita_table::{Service, TableNames};
use serde_json::{Value, json};

use super::asked::{Asked, Refused};
use super::places::place;
use super::ranges::{Answer, refused};
use super::status::rfc3339;

const PARAMETERS: [&str; 8] = [
    "from", "last", "to", "step", "table", "metric", "rows", "by",
];

/// The finest piece of time that is kept.
const STEP_S_MIN: u64 = 10;
/// For how long heat is kept.
const KEPT_S: u64 = 24 * 3600;
/// What is shown when nobody says from when on.
const SHOWN_S: u64 = 3600;
/// Columns when nobody says how long one is.
const COLUMNS: u64 = 360;
/// Rows when nobody says how many.
const ROWS: usize = 64;
/// Columns by rows of an answer at most, about a megabyte of JSON.
const VALUES_MAX: u64 = 100_000;

const METRICS: [(&str, Metric); 8] = [
    ("requests", Metric::Requests),
    ("reads", Metric::Reads),
    ("writes", Metric::Writes),
    ("rows_scanned", Metric::RowsScanned),
    ("bytes", Metric::Bytes),
    ("throttled", Metric::Throttled),
    ("p50_us", Metric::P50Us),
    ("p99_us", Metric::P99Us),
];

/// What the rows are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum By {
    /// Pieces of the key space.
    Range,
    /// The hottest partitions.
    Partition,
}

/// What map is asked for.
#[derive(Debug, PartialEq, Eq)]
struct Wish {
    /// Both in seconds since 1970, and multiples of the step.
    from_s: u64,
    to_s: u64,
    step_s: u64,
    metric: &'static str,
    shape: MapShape,
    table: Option<String>,
    by: By,
}

/// The map.
pub(super) async fn heat(
    cluster: &Cluster,
    service: &Service,
    query: Option<&str>,
    now: SystemTime,
) -> Answer {
    let wish = match wish(query, now) {
        Ok(wish) => wish,
        Err(Refused(why)) => return refused(StatusCode::BAD_REQUEST, "InvalidQuery", &why),
    };
    let names = match service.table_names().await {
        Ok(names) => names,
        Err(error) => return refused(StatusCode::SERVICE_UNAVAILABLE, "Busy", &error.to_string()),
    };
    let keys = match keys(wish.table.as_deref(), &names) {
        Ok(keys) => keys,
        Err(answer) => return answer,
    };
    let at = |seconds| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
    let (from, to) = (at(wish.from_s), at(wish.to_s));
    let rows = cluster.with_heat(|heat| match wish.by {
        By::Range => rows(&heat.map_within(from, to, wish.shape, &keys), &names),
        By::Partition => partitions(&heat.partitions(from, to, wish.shape, &keys), &names),
    });
    let body = json!({
        "metric": wish.metric,
        "from": rfc3339(from),
        "to": rfc3339(to),
        "step_seconds": wish.step_s,
        "columns": wish.shape.columns,
        "rows": rows,
    });
    (StatusCode::OK, body)
}

fn rows(map: &HeatMap, names: &TableNames) -> Vec<Value> {
    let rows = map.rows.iter().zip(&map.values);
    rows.map(|(keys, values)| {
        json!({
            "start": place(&keys.start, names),
            "end": keys.end.as_ref().map(|end| place(end, names)),
            "values": rounded(values),
        })
    })
    .collect()
}

fn partitions(rows: &[PartitionRow], names: &TableNames) -> Vec<Value> {
    let rows = rows.iter();
    rows.map(|row| {
        json!({
            "partition": place(&row.partition, names),
            "values": rounded(&row.values),
        })
    })
    .collect()
}

/// To a thousandth: a sum that is spread over several rows has no end of digits.
fn rounded(values: &[Option<f64>]) -> Vec<Option<f64>> {
    let rounded = |value: f64| (value * 1000.0).round() / 1000.0;
    values.iter().map(|value| value.map(rounded)).collect()
}

fn wish(query: Option<&str>, now: SystemTime) -> Result<Wish, Refused> {
    let asked = Asked::new(query, &PARAMETERS)?;
    let seconds = |time: SystemTime| {
        let since = time.duration_since(SystemTime::UNIX_EPOCH);
        since.unwrap_or_default().as_secs()
    };
    let to = asked.time("to")?.map_or_else(|| seconds(now), seconds);
    let last_s = asked.number("last", STEP_S_MIN..=KEPT_S)?;
    let from = match (asked.time("from")?.map(seconds), last_s) {
        (Some(_), Some(_)) => {
            let text = "from and last both say when it begins: give one of them";
            return Err(Refused(text.to_owned()));
        }
        (Some(from), None) => from,
        (None, last_s) => to.saturating_sub(last_s.unwrap_or(SHOWN_S)),
    };
    if from >= to || to - from > KEPT_S {
        let text = "from is before to, by 24 hours at most: that is how long heat is kept";
        return Err(Refused(text.to_owned()));
    }
    let usual = (to - from).div_ceil(COLUMNS).next_multiple_of(STEP_S_MIN);
    let step_s = asked.number("step", STEP_S_MIN..=KEPT_S)?.unwrap_or(usual);
    if !step_s.is_multiple_of(STEP_S_MIN) {
        return Err(Refused("step is a multiple of 10 seconds".to_owned()));
    }
    let rows = asked.number("rows", 1..=512)?.unwrap_or(ROWS);
    let from_s = from - from % step_s;
    let to_s = to.next_multiple_of(step_s);
    let columns = (to_s - from_s) / step_s;
    if columns > 1_440 || columns * rows as u64 > VALUES_MAX {
        return Err(Refused(format!(
            "{columns} columns of {rows} rows are too many: 1,440 columns, and {VALUES_MAX} values in all, are the most"
        )));
    }
    let name = asked
        .text("metric")?
        .unwrap_or_else(|| "requests".to_owned());
    let known = METRICS.iter().find(|(known, _)| *known == name);
    let (metric, of_metric) = *known.ok_or_else(|| {
        let names = METRICS.map(|(name, _)| name).join(", ");
        Refused(format!("metric is one of {names}"))
    })?;
    let shape = MapShape {
        metric: of_metric,
        columns: usize::try_from(columns).unwrap_or(1),
        rows,
    };
    let table = asked.text("table")?;
    let by = match asked.text("by")?.as_deref() {
        None | Some("range") => By::Range,
        Some("partition") => By::Partition,
        Some(_) => return Err(Refused("by is range or partition".to_owned())),
    };
    Ok(Wish {
        from_s,
        to_s,
        step_s,
        metric,
        shape,
        table,
        by,
    })
}

/// The keys of a table, `NAME` or `ACCOUNT/NAME`; all keys without one.
fn keys(table: Option<&str>, names: &TableNames) -> Result<Extent, Answer> {
    let Some(table) = table else {
        return Ok(Extent::all());
    };
    let (account, name) = match table.split_once('/') {
        Some((account, name)) => (Some(account), name),
        None => (None, table),
    };
    match *names.find(account, name) {
        [(account, id)] => {
            let space = TableSpace::new(account, id);
            Ok(Extent {
                start: space.prefix().clone(),
                end: Some(space.end()),
            })
        }
        [] => {
            let text = format!("there is no table {table}");
            Err(refused(StatusCode::NOT_FOUND, "TableNotFound", &text))
        }
        _ => {
            let text = format!("several accounts have a table {name}: ask for ACCOUNT/{name}");
            Err(refused(StatusCode::BAD_REQUEST, "InvalidQuery", &text))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    const NOW_S: u64 = 1_770_000_123;

    fn asked(query: &str) -> Result<Wish, Refused> {
        wish(
            Some(query),
            SystemTime::UNIX_EPOCH + Duration::from_secs(NOW_S),
        )
    }

    #[test]
    fn an_hour_in_columns_of_ten_seconds_is_usual() {
        let wish = asked("").unwrap();
        assert_eq!((wish.from_s, wish.to_s), (1_769_996_520, 1_770_000_130));
        assert_eq!(
            (wish.step_s, wish.shape.columns, wish.shape.rows),
            (10, 361, 64)
        );
        assert_eq!(asked("last=600").unwrap().from_s, 1_769_999_520);
        let day = asked("from=1769913723&metric=p99_us&rows=9").unwrap();
        assert_eq!((day.step_s, day.metric, day.shape.rows), (240, "p99_us", 9));
        let minutes = asked("from=2026-02-02T02:00:00Z&to=2026-02-02T02:30:00Z&step=60").unwrap();
        assert_eq!(
            (minutes.shape.columns, minutes.to_s - minutes.from_s),
            (30, 1_800)
        );
    }

    #[test]
    fn what_makes_no_sense_or_is_too_much_is_said() {
        for (query, expected) in [
            ("from=5&to=5", "before to"),
            ("from=0", "24 hours"),
            ("last=86401", "from 10 to 86400"),
            ("from=1769996520&last=60", "give one of them"),
            ("step=15", "multiple of 10"),
            ("step=0", "from 10 to 86400"),
            ("rows=513", "from 1 to 512"),
            ("rows=512", "too many"),
            ("from=1769913723&step=10", "too many"),
            ("metric=heat", "one of requests, reads"),
            ("by=table", "range or partition"),
            ("since=1h", "no parameter"),
        ] {
            let why = asked(query).unwrap_err().0;
            assert!(why.contains(expected), "{query}: {why}");
        }
    }

    use super::super::tests::{Heated, fields_are_documented};

    /// All that the map shows.
    fn writes(map: &Value) -> f64 {
        let rows = map["rows"].as_array().into_iter().flatten();
        let values = rows.flat_map(|row| row["values"].as_array().into_iter().flatten());
        values.filter_map(Value::as_f64).sum()
    }

    #[tokio::test]
    async fn the_map_outlives_a_restart_and_shows_one_table() {
        let directory = tempfile::tempdir().unwrap();
        let first = Heated::start(Some(directory.path())).await;
        first.insert("m", 300).await;
        assert_eq!(first.server.stop().await, Vec::<&str>::new());

        let second = Heated::start(Some(directory.path())).await;
        let path = "/admin/v1/heat?metric=writes&table=devstoreaccount1/people";
        // The history is read beside the start, and a window of this life may end before it is there.
        let deadline = Instant::now() + Duration::from_secs(60);
        let (map, writes) = loop {
            let (status, map) = second.get(path).await;
            assert_eq!(status, 200, "{map}");
            let writes = writes(&map);
            if writes > 0.0 {
                break (map, writes);
            }
            assert!(Instant::now() < deadline, "{map}");
        };
        assert!((writes - 300.0).abs() < 1e-6, "{writes}");
        fields_are_documented(&map);
        let values = map["rows"][0]["values"].as_array().unwrap();
        assert_eq!(values.len(), map["columns"]);
        let (_, by_partition) = second.get(&format!("{path}&by=partition")).await;
        fields_are_documented(&by_partition);
        let [row] = &by_partition["rows"].as_array().unwrap()[..] else {
            panic!("{by_partition}");
        };
        assert_eq!(row["partition"]["partition_key"], "m");
        assert_eq!(row["values"], map["rows"][0]["values"]);
        for (query, status, code) in [
            ("table=Pets", 404, "TableNotFound"),
            ("table=other/People", 404, "TableNotFound"),
            ("step=11", 400, "InvalidQuery"),
        ] {
            let (answered, body) = second.get(&format!("/admin/v1/heat?{query}")).await;
            assert_eq!((answered, &body["error"]["code"]), (status, &code.into()));
        }
        second.server.stop().await;
    }
}
