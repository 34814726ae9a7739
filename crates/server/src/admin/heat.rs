//! `/admin/v1/heat`: the heat map, ranges or partitions over time. `docs/admin-api.md` lists parameters and fields.

use std::time::{Duration, SystemTime};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use hyper::StatusCode;
use partita_heat::Bounds;
use partita_heat::history::{HeatHistory, HeatMap, MapShape, Metric, PartitionRow, Segment};
use partita_model::TableSpace;
use partita_wire::admin::{Heat, HeatMetric, HeatRow};
use serde::{Deserialize, Serialize};

use super::answer::{Answer, Answered};
use super::named_keys::{named_container, named_key};
use super::params::{InvalidParams, Params};
use super::status::rfc3339;
use crate::known_names::{KnownNames, Names};
use crate::status::OpenStore;

const PARAMETERS: [&str; 8] = [
    "from", "last", "to", "step", "table", "metric", "rows", "by",
];

/// The length of the history's shortest time slot, in seconds.
const STEP_S_MIN: u64 = 10;
/// The length of the history, in seconds.
const KEPT_S: u64 = 24 * 3600;
/// The length of the map by default, in seconds.
const LENGTH_S: u64 = 60 * 60;
/// The number of columns by default, approximately.
const COLUMNS: u64 = 360;
/// The maximum number of columns.
const COLUMNS_MAX: u64 = 1_440;
/// The number of rows by default.
const ROWS: usize = 64;
/// The maximum number of rows.
const ROWS_MAX: usize = 512;
/// The maximum number of values (columns times rows) of an answer, about a megabyte of JSON.
const VALUES_MAX: u64 = 100_000;

/// What a row of the map stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RowsBy {
    /// A part of the key space: key buckets of ranges.
    Range,
    /// One of the hottest partitions.
    Partition,
}

/// The parameters of a map, checked.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct MapQuery {
    /// The start; `from_s` and `to_s` are in seconds since 1970, and multiples of the step.
    from_s: u64,
    to_s: u64,
    step_s: u64,
    metric: HeatMetric,
    shape: MapShape,
    table: Option<String>,
    by: RowsBy,
}

/// The page on which other servers get the history of this one. The admin port does not have it.
pub(super) const HISTORY: [&str; 2] = ["heat", "history"];

/// The history of a server, for another one.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct SentHistory {
    /// The name and the content, in Base64, of each segment.
    segments: Vec<(String, String)>,
}

/// The histories of other servers.
#[derive(Debug, Default)]
pub(super) struct OtherHistories {
    pub(super) histories: Vec<HeatHistory>,
    /// The servers that sent none; `None` if all did.
    pub(super) silent: Option<Vec<String>>,
}

impl SentHistory {
    /// The segments.
    ///
    /// # Errors
    /// A content is not Base64.
    pub(super) fn read(self) -> Result<Vec<Segment>, String> {
        let segments = self.segments.into_iter().map(|(name, content)| {
            let content = BASE64_STANDARD.decode(content);
            let content = content.map_err(|error| error.to_string())?;
            Ok(Segment { name, content })
        });
        segments.collect()
    }
}

/// Answers [`HISTORY`].
pub(super) fn history(store: &OpenStore, query: Option<&str>) -> Answered {
    let params = Params::new(query, &["from", "to"])?;
    let time = |name| {
        let seconds = params.number(name, 0..=u64::from(u32::MAX))?;
        Ok::<_, InvalidParams>(at(seconds.unwrap_or_default()))
    };
    let (from, to) = (time("from")?, time("to")?);
    let segments = store.cluster.with_heat(|heat| heat.segments(from, to));
    let segments = segments.into_iter().map(|segment| {
        let content = BASE64_STANDARD.encode(segment.content);
        (segment.name, content)
    });
    Answer::ok(&SentHistory {
        segments: segments.collect(),
    })
}

fn at(seconds: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)
}

/// The parameters of `/admin/v1/heat`.
pub(super) fn query(query: Option<&str>, now: SystemTime) -> Result<MapQuery, InvalidParams> {
    MapQuery::read(query, now)
}

/// Draws the map of this server's history and those of others.
pub(super) async fn map(store: &OpenStore, query: &MapQuery, others: OtherHistories) -> Answered {
    let names = store.names().await;
    let keys = keys(query.table.as_deref(), &names);
    // Whether there is such a table is unknown without the names.
    let keys = keys.map_err(|refused| match &names.unread {
        Some(reason) => Answer::refused(StatusCode::SERVICE_UNAVAILABLE, "Busy", reason.clone()),
        None => refused,
    })?;
    let (from, to) = (at(query.from_s), at(query.to_s));
    let OtherHistories { histories, silent } = others;
    let rows = store.cluster.with_heat(|heat| match query.by {
        RowsBy::Range => {
            let map = heat.map_with(&histories, (from, to), query.shape, &keys);
            range_rows(&map, &names)
        }
        RowsBy::Partition => {
            // More than asked for, because those of dropped tables are left out.
            let shape = MapShape {
                rows: ROWS_MAX,
                ..query.shape
            };
            let rows = heat.partitions_with(&histories, (from, to), shape, &keys);
            partition_rows(&rows, &names, query.shape.rows)
        }
    });
    Answer::ok(&Heat {
        metric: query.metric.name().to_owned(),
        from: rfc3339(from),
        to: rfc3339(to),
        step_seconds: query.step_s,
        columns: query.shape.columns,
        rows,
        missing: names.missing(silent),
    })
}

fn range_rows(map: &HeatMap, names: &Names) -> Vec<HeatRow> {
    // The first bucket of a table begins with the prefix of the table.
    let bound = |key: &Bytes| named_key(key, names).or_else(|| named_container(key, names));
    let row = |(keys, values): (&Bounds, &Vec<Option<f64>>)| HeatRow::Range {
        start: bound(&keys.start),
        end: keys.end.as_ref().and_then(bound),
        values: rounded(values),
    };
    map.rows.iter().zip(&map.values).map(row).collect()
}

fn partition_rows(rows: &[PartitionRow], names: &KnownNames, rows_max: usize) -> Vec<HeatRow> {
    let row = |row: &PartitionRow| HeatRow::Partition {
        partition: named_key(&row.partition, names),
        values: rounded(&row.values),
    };
    // The load of dropped tables and queues has ended, and nothing can be done about it.
    let is_kept = |row: &HeatRow| match row {
        HeatRow::Partition { partition, .. } => {
            let partition = partition.as_ref();
            partition.is_none_or(|partition| names.may_exist(partition))
        }
        HeatRow::Range { .. } => true,
    };
    let kept = rows.iter().map(row).filter(is_kept);
    kept.take(rows_max).collect()
}

/// Rounds to a thousandth: a sum that is divided among several rows may have many decimals.
fn rounded(values: &[Option<f64>]) -> Vec<Option<f64>> {
    let rounded = |value: f64| (value * 1000.0).round() / 1000.0;
    values.iter().map(|value| value.map(rounded)).collect()
}

fn kept_metric(metric: HeatMetric) -> Metric {
    match metric {
        HeatMetric::Requests => Metric::Requests,
        HeatMetric::Reads => Metric::Reads,
        HeatMetric::Writes => Metric::Writes,
        HeatMetric::RowsScanned => Metric::RowsScanned,
        HeatMetric::Bytes => Metric::Bytes,
        HeatMetric::Throttled => Metric::Throttled,
        HeatMetric::P50Us => Metric::P50Us,
        HeatMetric::P99Us => Metric::P99Us,
    }
}

impl MapQuery {
    /// The time of the map as parameters of [`HISTORY`].
    pub(super) fn time_parameters(&self) -> String {
        format!("from={}&to={}", self.from_s, self.to_s)
    }

    fn read(query: Option<&str>, now: SystemTime) -> Result<Self, InvalidParams> {
        let params = Params::new(query, &PARAMETERS)?;
        let (from, to) = period(params, now)?;
        let usual = (to - from).div_ceil(COLUMNS).next_multiple_of(STEP_S_MIN);
        let step_s = params.number("step", STEP_S_MIN..=KEPT_S)?.unwrap_or(usual);
        if !step_s.is_multiple_of(STEP_S_MIN) {
            return Err(InvalidParams(
                "the parameter step must be a multiple of 10 seconds".to_owned(),
            ));
        }
        let rows = params.number("rows", 1..=ROWS_MAX)?.unwrap_or(ROWS);
        let from_s = from - from % step_s;
        let to_s = to.next_multiple_of(step_s);
        let columns = (to_s - from_s) / step_s;
        if columns > COLUMNS_MAX || columns * rows as u64 > VALUES_MAX {
            return Err(InvalidParams(format!(
                "{columns} columns of {rows} rows are too many: at most {COLUMNS_MAX} columns, and {VALUES_MAX} values in all"
            )));
        }
        let metric = match params.text("metric")? {
            None => HeatMetric::Requests,
            Some(name) => HeatMetric::from_name(&name).ok_or_else(|| {
                let names = HeatMetric::ALL.map(HeatMetric::name).join(", ");
                InvalidParams(format!("the parameter metric must be one of {names}"))
            })?,
        };
        let by = match params.text("by")?.as_deref() {
            None | Some("range") => RowsBy::Range,
            Some("partition") => RowsBy::Partition,
            Some(_) => {
                return Err(InvalidParams(
                    "the parameter by must be range or partition".to_owned(),
                ));
            }
        };
        Ok(Self {
            from_s,
            to_s,
            step_s,
            metric,
            shape: MapShape {
                metric: kept_metric(metric),
                columns: usize::try_from(columns).unwrap_or(1),
                rows,
            },
            table: params.text("table")?,
            by,
        })
    }
}

/// Start and end, in seconds since 1970.
fn period(params: Params<'_>, now: SystemTime) -> Result<(u64, u64), InvalidParams> {
    let seconds = |time: SystemTime| {
        let since = time.duration_since(SystemTime::UNIX_EPOCH);
        since.unwrap_or_default().as_secs()
    };
    let to = params.time("to")?.map_or_else(|| seconds(now), seconds);
    let last_s = params.number("last", STEP_S_MIN..=KEPT_S)?;
    let from = match (params.time("from")?.map(seconds), last_s) {
        (Some(_), Some(_)) => {
            let text = "the parameters from and last both set the start: give one of them";
            return Err(InvalidParams(text.to_owned()));
        }
        (Some(from), None) => from,
        (None, last_s) => to.saturating_sub(last_s.unwrap_or(LENGTH_S)),
    };
    if from >= to || to - from > KEPT_S {
        let text =
            "parameter from must be before to, by at most 24 hours: the history holds no more";
        return Err(InvalidParams(text.to_owned()));
    }
    Ok((from, to))
}

/// The keys of a table, `NAME` or `ACCOUNT/NAME`; all keys without one.
fn keys(table: Option<&str>, names: &Names) -> Result<Bounds, Answer> {
    let Some(table) = table else {
        return Ok(Bounds::all());
    };
    let (account, name) = match table.split_once('/') {
        Some((account, name)) => (Some(account), name),
        None => (None, table),
    };
    match *names.tables.find(account, name) {
        [(account, id)] => {
            let space = TableSpace::new(account, id);
            Ok(Bounds {
                start: space.prefix().clone(),
                end: Some(space.end()),
            })
        }
        [] => {
            let message = format!("table {table} does not exist");
            Err(Answer::not_found("TableNotFound", message))
        }
        _ => Err(Answer::invalid_query(format!(
            "several accounts have a table {name}: give ACCOUNT/{name}"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    const NOW_S: u64 = 1_770_000_123;

    fn read(query: &str) -> Result<MapQuery, InvalidParams> {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(NOW_S);
        MapQuery::read(Some(query), now)
    }

    #[test]
    fn the_default_map_is_an_hour_in_columns_of_ten_seconds() {
        let hour = read("").unwrap();
        assert_eq!((hour.from_s, hour.to_s), (1_769_996_520, 1_770_000_130));
        assert_eq!(
            (hour.step_s, hour.shape.columns, hour.shape.rows),
            (10, 361, 64)
        );
        assert_eq!(read("last=600").unwrap().from_s, 1_769_999_520);
        let day = read("from=1769913723&metric=p99_us&rows=9").unwrap();
        assert_eq!(
            (day.step_s, day.metric, day.shape.rows),
            (240, HeatMetric::P99Us, 9)
        );
        let minutes = read("from=2026-02-02T02:00:00Z&to=2026-02-02T02:30:00Z&step=60").unwrap();
        assert_eq!(
            (minutes.shape.columns, minutes.to_s - minutes.from_s),
            (30, 1_800)
        );
    }

    #[test]
    fn invalid_or_too_large_queries_are_refused() {
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
            ("since=1h", "unknown parameter"),
        ] {
            let why = read(query).unwrap_err().0;
            assert!(why.contains(expected), "{query}: {why}");
        }
    }

    use super::super::tests::{Heated, documented};
    use serde_json::Value;

    /// The sum of all values of the map.
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
        // The history loads in the background: until it is loaded, the map can lack the writes of the first server.
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
        documented::<Heat>(&map);
        // The partition has a key bucket of its own.
        let buckets = map["rows"].as_array().unwrap().iter();
        let of_m = |row: &&Value| row["start"]["partition_key"] == "m" && row["values"][0] != 0;
        let bucket = buckets.clone().find(of_m).unwrap();
        assert_eq!(bucket["start"]["table"], "People", "{map}");
        let values = bucket["values"].as_array().unwrap();
        assert_eq!(values.len(), map["columns"]);
        let (_, by_partition) = second.get(&format!("{path}&by=partition")).await;
        documented::<Heat>(&by_partition);
        let [row] = &by_partition["rows"].as_array().unwrap()[..] else {
            panic!("{by_partition}");
        };
        assert_eq!(row["partition"]["partition_key"], "m");
        assert_eq!(row["values"], bucket["values"]);
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
