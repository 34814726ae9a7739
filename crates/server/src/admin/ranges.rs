//! `/admin/v1/ranges`: the ranges, and what can be done to one. `docs/admin-api.md` lists fields and actions.

use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use hyper::StatusCode;
use partita_cluster::{ChangeRefused, Cluster, RangeAction, Served, rate};
use partita_model::{AccountName, TableName};
use partita_range::{Range, RangeId};
use partita_table::{Service, TableNames};
use serde::Deserialize;
use serde_json::{Value, json};

use super::places::{place, table_place};
use crate::standing::OpenStore;

/// Hot partitions shown of each range.
const HOT_MAX: usize = 5;

/// The longest that an action keeps writes waiting on purpose.
const FREEZE_MAX: Duration = Duration::from_secs(1);

/// How long a checkpoint keeps files when nobody says, and at most, in seconds.
const CHECKPOINT_S: u64 = 60;
const CHECKPOINT_S_MAX: u64 = 86_400;

/// An answer: status and body.
pub(super) type Answer = (StatusCode, Value);

/// All ranges in key order.
pub(super) async fn list(cluster: &Cluster, service: &Service) -> Answer {
    let names = match service.table_names().await {
        Ok(names) => names,
        Err(error) => return refused(StatusCode::SERVICE_UNAVAILABLE, "Busy", &error.to_string()),
    };
    let record = cluster.record();
    let ranges: Vec<Value> = cluster
        .map()
        .ranges()
        .iter()
        .map(|served| range(cluster, served, &names))
        .collect();
    let (no_split_key, balanced) = cluster.balance_counts();
    let body = json!({
        "map_version": record.version,
        "ranges": ranges,
        "change": record.change,
        "orphans": record.pending_deletion,
        "balanced": balanced,
        "no_split_key": no_split_key,
    });
    (StatusCode::OK, body)
}

fn range(cluster: &Cluster, served: &Served, names: &TableNames) -> Value {
    let heat = served.range.heat();
    let window = cluster.last_window(served.range.id());
    let hot: Vec<Value> = heat
        .hot_partitions(HOT_MAX)
        .iter()
        .map(|hot| {
            json!({
                "partition": place(&hot.partition, names),
                "share": hot.share,
                "window": hot.last,
                "p50_us": hot.p50_us,
                "p99_us": hot.p99_us,
            })
        })
        .collect();
    let growth: Vec<Value> = heat
        .growth()
        .iter()
        .map(|table| {
            let place = table_place(&table.table, names);
            json!({ "table": place.map(|place| place.table), "pattern": table.pattern })
        })
        .collect();
    let (bounds, shape) = (served.range.bounds(), served.range.engine().file_layout());
    json!({
        "id": served.range.id().0,
        "epoch": served.epoch,
        "start": place(&bounds.start, names),
        "end": bounds.end.as_ref().map(|end| place(end, names)),
        "bytes": shape.bytes,
        "files": shape.files,
        "sources": shape.sources,
        "lineage": shape.kept,
        "frozen": served.range.is_frozen(),
        "requests_per_second": window.as_ref().map(rate),
        "cores": cluster.last_cores(served.range.id()).map(|cores| (cores * 1000.0).round() / 1000.0),
        "last_window": window,
        "hot_partitions": hot,
        "growth": growth,
    })
}

/// What an action may be told.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Wish {
    /// Where to split: a key in Base64, as `start` shows them.
    key: Option<String>,
    /// Where to split: a partition.
    account: Option<String>,
    table: Option<String>,
    partition_key: Option<String>,
    /// The neighbour to merge with; without it, the next range.
    with: Option<u64>,
    /// How long to keep writes waiting.
    milliseconds: Option<u64>,
    /// How long to keep files.
    seconds: Option<u64>,
}

/// Does something to a range.
pub(super) async fn act(store: &OpenStore, id: &str, action: &str, body: &[u8]) -> Answer {
    let Ok(id) = id.parse().map(RangeId) else {
        return refused(
            StatusCode::NOT_FOUND,
            "NoSuchRange",
            "a range is named by its number",
        );
    };
    let wish: Wish = match body {
        [] => Wish::default(),
        body => match serde_json::from_slice(body) {
            Ok(wish) => wish,
            Err(error) => {
                return refused(StatusCode::BAD_REQUEST, "InvalidBody", &error.to_string());
            }
        },
    };
    match action {
        "split" => split(&store.cluster, &store.service, id, wish).await,
        "merge" => merge(&store.cluster, id, wish).await,
        "flush" | "compact" | "collect" | "freeze" => maintain(store, id, action, wish).await,
        "checkpoint" => checkpoint(&store.cluster, id, wish).await,
        _ => refused(
            StatusCode::NOT_FOUND,
            "NoSuchAction",
            "split, merge, flush, checkpoint, compact, collect, freeze",
        ),
    }
}

async fn split(cluster: &Cluster, service: &Service, id: RangeId, wish: Wish) -> Answer {
    let at = match cut(service, wish).await {
        Ok(at) => at,
        Err(answer) => return answer,
    };
    match cluster.split(id, at).await {
        Ok(split) => {
            let names = service.table_names().await.unwrap_or_default();
            let body = json!({
                "left": split.left.0,
                "right": split.right.0,
                "at": place(&split.at, &names),
                "transit_ms": milliseconds(split.transit),
            });
            (StatusCode::OK, body)
        }
        Err(why) => change_refused(&why),
    }
}

/// Where a split is wished; none is "in the middle".
async fn cut(service: &Service, wish: Wish) -> Result<Option<Bytes>, Answer> {
    let invalid = |what: &str| refused(StatusCode::BAD_REQUEST, "InvalidBody", what);
    match wish {
        Wish { key: Some(key), .. } => {
            let key = BASE64_STANDARD.decode(key);
            Ok(Some(key.map_err(|_| invalid("key is not Base64"))?.into()))
        }
        Wish {
            account: Some(account),
            table: Some(table),
            partition_key: Some(partition_key),
            ..
        } => {
            let account = AccountName::new(&account).map_err(|_| invalid("no account name"))?;
            let table = TableName::new(&table).map_err(|_| invalid("no table name"))?;
            let start = service
                .partition_start(&account, &table, &partition_key)
                .await;
            start.map(Some).map_err(|error| {
                refused(StatusCode::NOT_FOUND, "TableNotFound", &error.to_string())
            })
        }
        Wish {
            account: None,
            table: None,
            partition_key: None,
            ..
        } => Ok(None),
        _ => Err(invalid("account, table and partition_key go together")),
    }
}

async fn merge(cluster: &Cluster, id: RangeId, wish: Wish) -> Answer {
    let ranges = cluster.map().ranges();
    let at = ranges.iter().position(|served| served.range.id() == id);
    let Some(at) = at else {
        return change_refused(&ChangeRefused::NoSuchRange(id));
    };
    let next = ranges.get(at + 1).map(|served| served.range.id());
    let Some(with) = wish.with.map(RangeId).or(next) else {
        return refused(
            StatusCode::CONFLICT,
            "NoNeighbour",
            "the last range has no next one",
        );
    };
    let previous = at.checked_sub(1).and_then(|at| ranges.get(at));
    let is_previous = previous.is_some_and(|served| served.range.id() == with);
    // Nobody holds the old ranges longer than need be: their engines close when nobody does.
    drop(ranges);
    let (left, right) = if is_previous { (with, id) } else { (id, with) };
    match cluster.merge(left, right).await {
        Ok(merged) => {
            let body = json!({
                "into": merged.into.0,
                "transit_ms": milliseconds(merged.transit),
            });
            (StatusCode::OK, body)
        }
        Err(why) => change_refused(&why),
    }
}

fn find(cluster: &Cluster, id: RangeId) -> Option<Arc<Range>> {
    let ranges = cluster.map().ranges();
    let served = ranges.iter().find(|served| served.range.id() == id)?;
    Some(Arc::clone(&served.range))
}

/// Moves all rows to files and keeps these for a while.
async fn checkpoint(cluster: &Cluster, id: RangeId, wish: Wish) -> Answer {
    let seconds = wish.seconds.unwrap_or(CHECKPOINT_S);
    if !(1..=CHECKPOINT_S_MAX).contains(&seconds) {
        let text = format!("seconds is a number from 1 to {CHECKPOINT_S_MAX}");
        return refused(StatusCode::BAD_REQUEST, "InvalidBody", &text);
    }
    let Some(range) = find(cluster, id) else {
        return change_refused(&ChangeRefused::NoSuchRange(id));
    };
    let failed = |error: String| refused(StatusCode::SERVICE_UNAVAILABLE, "Failed", &error);
    if let Err(error) = range.engine().flush().await {
        return failed(error.to_string());
    }
    match range
        .engine()
        .checkpoint(Duration::from_secs(seconds))
        .await
    {
        Ok(name) => (
            StatusCode::OK,
            json!({ "checkpoint": name, "seconds": seconds }),
        ),
        Err(error) => failed(error.to_string()),
    }
}

async fn maintain(store: &OpenStore, id: RangeId, action: &str, wish: Wish) -> Answer {
    let (cluster, host) = (&store.cluster, store.cluster.host());
    if find(cluster, id).is_none() {
        return change_refused(&ChangeRefused::NoSuchRange(id));
    }
    let text = |error: &dyn std::error::Error| error.to_string();
    let done = match action {
        "flush" => host
            .act(id, RangeAction::Flush)
            .await
            .map_err(|error| text(&error)),
        "compact" => host
            .act(id, RangeAction::Detach)
            .await
            .map_err(|error| text(&error)),
        "collect" => {
            let collected = host.act(id, RangeAction::Collect).await;
            store.snapshots.maintain().await;
            cluster.maintain().await;
            collected.map_err(|error| text(&error))
        }
        _ => {
            let wished = Duration::from_millis(wish.milliseconds.unwrap_or(100));
            cluster
                .freeze(id, wished.min(FREEZE_MAX))
                .await
                .map_err(|error| text(&error))
        }
    };
    match done {
        Ok(()) => (StatusCode::OK, json!({ "done": true })),
        Err(error) => refused(StatusCode::SERVICE_UNAVAILABLE, "Failed", &error),
    }
}

fn change_refused(why: &ChangeRefused) -> Answer {
    let (status, code) = match why {
        ChangeRefused::NoSuchRange(_) => (StatusCode::NOT_FOUND, "NoSuchRange"),
        ChangeRefused::NotNeighbours(..) => (StatusCode::CONFLICT, "NotNeighbours"),
        ChangeRefused::KeyOutside(_) => (StatusCode::CONFLICT, "KeyOutside"),
        ChangeRefused::NoSplitKey(_) => (StatusCode::CONFLICT, "NoSplitKey"),
        ChangeRefused::Ancestry { .. } => (StatusCode::CONFLICT, "Lineage"),
        ChangeRefused::TooManyRanges(_) => (StatusCode::CONFLICT, "TooManyRanges"),
        ChangeRefused::Failed(_) => (StatusCode::SERVICE_UNAVAILABLE, "Failed"),
    };
    refused(status, code, &why.to_string())
}

pub(super) fn refused(status: StatusCode, code: &str, message: &str) -> Answer {
    let error = json!({ "code": code, "message": message });
    (status, json!({ "error": error }))
}

pub(super) fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}
