//! `/admin/v1/ranges`: the ranges, and the actions on a range. `docs/admin-api.md` lists fields and actions.

use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use hyper::StatusCode;
use partita_cluster::{ChangeRecord, ChangeRefused, Cluster, RangeAction, Served, rate};
use partita_heat::{self as heat, Pattern};
use partita_model::{AccountName, TableName};
use partita_range::{Range, RangeId};
use partita_table::{Service, TableNames};
use partita_wire::admin::{
    self, ActionDone, CheckpointResult, GrowthPattern, MergeResult, RangeActionParams, RangeChange,
    RangeHotPartition, RangeWindow, Ranges, SplitResult, TableGrowth, WindowCounts,
};

use super::answer::Answer;
use super::named_keys::{named_key, table_of};
use crate::status::OpenStore;

/// Hot partitions in each range's entry.
const HOT_MAX: usize = 5;

/// How long `freeze` makes writes wait by default, and at most.
const FREEZE_MS: u64 = 100;
const FREEZE_MAX: Duration = Duration::from_secs(1);

/// How long a checkpoint keeps files by default, and at most, in seconds.
const CHECKPOINT_S: u64 = 60;
const CHECKPOINT_S_MAX: u64 = 86_400;

/// All ranges in key order.
pub(super) async fn list(cluster: &Cluster, service: &Service) -> Answer {
    let names = match service.table_names().await {
        Ok(names) => names,
        Err(error) => return Answer::busy(&error),
    };
    let record = cluster.record();
    let ranges = cluster.map().ranges();
    let (no_split_key, balanced) = cluster.balance_counts();
    Answer::ok(&Ranges {
        map_version: record.version,
        ranges: ranges
            .iter()
            .map(|served| range(cluster, served, &names))
            .collect(),
        change: record.change.as_ref().map(range_change),
        orphans: record.pending_deletion.clone(),
        balanced,
        no_split_key,
    })
}

/// The change under way.
pub(super) fn range_change(change: &ChangeRecord) -> RangeChange {
    match change {
        ChangeRecord::Split {
            range,
            at,
            left,
            right,
        } => RangeChange::Split {
            range: *range,
            at: BASE64_STANDARD.encode(at),
            left: *left,
            right: *right,
        },
        ChangeRecord::Merge { left, right, into } => RangeChange::Merge {
            left: *left,
            right: *right,
            into: *into,
        },
    }
}

/// Where a table grows.
pub(super) fn growth_pattern(pattern: Pattern) -> GrowthPattern {
    match pattern {
        Pattern::AppendOnly => GrowthPattern::AppendOnly,
        Pattern::PrependOnly => GrowthPattern::PrependOnly,
        Pattern::Spread => GrowthPattern::Spread,
    }
}

fn range(cluster: &Cluster, served: &Served, names: &TableNames) -> admin::Range {
    let heat = served.range.heat();
    let window = cluster.last_window(served.range.id());
    let cores = cluster.last_cores(served.range.id());
    let hot = heat.hot_partitions(HOT_MAX);
    let growth = heat.growth();
    let (bounds, layout) = (served.range.bounds(), served.range.engine().file_layout());
    admin::Range {
        id: served.range.id().0,
        epoch: served.epoch.0,
        start: named_key(&bounds.start, names),
        end: bounds.end.as_ref().and_then(|end| named_key(end, names)),
        bytes: layout.bytes,
        files: layout.files,
        sources: layout.sources,
        lineage: layout.kept,
        frozen: served.range.is_frozen(),
        requests_per_second: window.as_ref().map(rate),
        cores: cores.map(|cores| (cores * 1000.0).round() / 1000.0),
        last_window: window.as_ref().map(range_window),
        hot_partitions: hot.iter().map(|hot| hot_partition(hot, names)).collect(),
        growth: growth
            .iter()
            .map(|growth| TableGrowth {
                table: table_of(&growth.table, names).and_then(|place| place.table),
                pattern: growth_pattern(growth.pattern),
            })
            .collect(),
    }
}

fn range_window(window: &heat::Window) -> RangeWindow {
    let heat::Counts {
        reads,
        writes,
        rows_scanned,
        rows_written,
        bytes_in,
        bytes_out,
        throttled,
    } = window.counts;
    RangeWindow {
        elapsed_ms: u64::try_from(window.elapsed.as_millis()).unwrap_or(u64::MAX),
        counts: WindowCounts {
            reads,
            writes,
            rows_scanned,
            rows_written,
            bytes_in,
            bytes_out,
            throttled,
        },
        p50_us: window.latency.percentile_us(50),
        p99_us: window.latency.percentile_us(99),
    }
}

fn hot_partition(hot: &heat::HotPartition, names: &TableNames) -> RangeHotPartition {
    let heat::Activity {
        reads,
        writes,
        rows_scanned,
        rows_written,
        bytes_in,
        bytes_out,
        throttled,
    } = hot.last;
    RangeHotPartition {
        partition: named_key(&hot.partition, names),
        share: hot.share,
        window: admin::Activity {
            reads,
            writes,
            rows_scanned,
            rows_written,
            bytes_in,
            bytes_out,
            throttled,
        },
        p50_us: hot.p50_us,
        p99_us: hot.p99_us,
    }
}

/// Runs an action on a range.
pub(super) async fn act(store: &OpenStore, id: &str, action: &str, body: &[u8]) -> Answer {
    let Ok(id) = id.parse().map(RangeId) else {
        let message = "a range is named by its number";
        return Answer::refused(StatusCode::NOT_FOUND, "NoSuchRange", message);
    };
    let params: RangeActionParams = match body {
        [] => RangeActionParams::default(),
        body => match serde_json::from_slice(body) {
            Ok(params) => params,
            Err(error) => return Answer::invalid_body(error.to_string()),
        },
    };
    match action {
        "split" => split(&store.cluster, &store.service, id, params).await,
        "merge" => merge(&store.cluster, id, params.with).await,
        "checkpoint" => checkpoint(&store.cluster, id, params.seconds).await,
        "flush" | "compact" | "collect" | "freeze" => {
            maintain(store, id, action, params.milliseconds).await
        }
        _ => Answer::refused(
            StatusCode::NOT_FOUND,
            "NoSuchAction",
            "expected split, merge, flush, checkpoint, compact, collect or freeze",
        ),
    }
}

async fn split(
    cluster: &Cluster,
    service: &Service,
    id: RangeId,
    params: RangeActionParams,
) -> Answer {
    let at = match split_key(service, params).await {
        Ok(at) => at,
        Err(refused) => return refused,
    };
    match cluster.split(id, at).await {
        Ok(split) => {
            let names = service.table_names().await.unwrap_or_default();
            Answer::ok(&SplitResult {
                left: split.left.0,
                right: split.right.0,
                at: named_key(&split.at, &names),
                transit_ms: milliseconds(split.transit),
            })
        }
        Err(why) => change_refused(&why),
    }
}

/// Where to split; `None` for the middle of the range's bytes.
async fn split_key(service: &Service, params: RangeActionParams) -> Result<Option<Bytes>, Answer> {
    let RangeActionParams {
        key,
        account,
        table,
        partition_key,
        ..
    } = params;
    if let Some(key) = key {
        let key = BASE64_STANDARD.decode(key);
        let key = key.map_err(|_| Answer::invalid_body("key is not valid Base64"))?;
        return Ok(Some(key.into()));
    }
    match (account, table, partition_key) {
        (Some(account), Some(table), Some(partition_key)) => {
            let account = AccountName::new(&account)
                .map_err(|_| Answer::invalid_body("account is not a valid account name"))?;
            let table = TableName::new(&table)
                .map_err(|_| Answer::invalid_body("table is not a valid table name"))?;
            let start = service
                .partition_start(&account, &table, &partition_key)
                .await;
            start.map(Some).map_err(|error| {
                let status = StatusCode::NOT_FOUND;
                Answer::refused(status, "TableNotFound", error.to_string())
            })
        }
        (None, None, None) => Ok(None),
        _ => Err(Answer::invalid_body(
            "account, table and partition_key go together",
        )),
    }
}

async fn merge(cluster: &Cluster, id: RangeId, with: Option<u64>) -> Answer {
    let ranges = cluster.map().ranges();
    let at = ranges.iter().position(|served| served.range.id() == id);
    let Some(at) = at else {
        return change_refused(&ChangeRefused::NoSuchRange(id));
    };
    let next = ranges.get(at + 1).map(|served| served.range.id());
    let Some(with) = with.map(RangeId).or(next) else {
        let message = "the last range has no next range";
        return Answer::refused(StatusCode::CONFLICT, "NoNeighbour", message);
    };
    let previous = at.checked_sub(1).and_then(|at| ranges.get(at));
    let is_previous = previous.is_some_and(|served| served.range.id() == with);
    // The engines of merged ranges close once nothing holds them.
    drop(ranges);
    let (left, right) = if is_previous { (with, id) } else { (id, with) };
    match cluster.merge(left, right).await {
        Ok(merged) => Answer::ok(&MergeResult {
            into: merged.into.0,
            transit_ms: milliseconds(merged.transit),
        }),
        Err(why) => change_refused(&why),
    }
}

fn find(cluster: &Cluster, id: RangeId) -> Option<Arc<Range>> {
    let ranges = cluster.map().ranges();
    let served = ranges.iter().find(|served| served.range.id() == id)?;
    Some(Arc::clone(&served.range))
}

/// Moves all rows to files and keeps these files for a while.
async fn checkpoint(cluster: &Cluster, id: RangeId, seconds: Option<u64>) -> Answer {
    let seconds = seconds.unwrap_or(CHECKPOINT_S);
    if !(1..=CHECKPOINT_S_MAX).contains(&seconds) {
        let text = format!("seconds is a number from 1 to {CHECKPOINT_S_MAX}");
        return Answer::invalid_body(text);
    }
    let Some(range) = find(cluster, id) else {
        return change_refused(&ChangeRefused::NoSuchRange(id));
    };
    if let Err(error) = range.engine().flush().await {
        return Answer::failed(error);
    }
    let kept_for = Duration::from_secs(seconds);
    match range.engine().checkpoint(kept_for).await {
        Ok(name) => Answer::ok(&CheckpointResult {
            checkpoint: name.to_string(),
            seconds,
        }),
        Err(error) => Answer::failed(error),
    }
}

async fn maintain(
    store: &OpenStore,
    id: RangeId,
    action: &str,
    milliseconds: Option<u64>,
) -> Answer {
    let (cluster, host) = (&store.cluster, store.cluster.host());
    if find(cluster, id).is_none() {
        return change_refused(&ChangeRefused::NoSuchRange(id));
    }
    let text = |error: &dyn std::error::Error| error.to_string();
    let act = async |action| {
        let done = host.act(id, action).await;
        done.map_err(|error| text(&error))
    };
    let done = match action {
        "flush" => act(RangeAction::Flush).await,
        "compact" => act(RangeAction::Detach).await,
        "collect" => {
            let collected = act(RangeAction::Collect).await;
            store.snapshots.maintain().await;
            cluster.maintain().await;
            collected
        }
        _ => {
            let wait = Duration::from_millis(milliseconds.unwrap_or(FREEZE_MS));
            let frozen = cluster.freeze(id, wait.min(FREEZE_MAX)).await;
            frozen.map_err(|error| text(&error))
        }
    };
    match done {
        Ok(()) => Answer::ok(&ActionDone { done: true }),
        Err(error) => Answer::failed(error),
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
    Answer::refused(status, code, why.to_string())
}

/// As the documents have lengths of time.
pub(super) fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}
