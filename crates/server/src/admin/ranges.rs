//! `/admin/v1/ranges`: the ranges, and the actions on a range. `docs/admin-api.md` lists fields and actions.

use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use hyper::StatusCode;
use partita_cluster::{
    ChangeRecord, ChangeRefused, Cluster, Host, HostError, RangeAction, Served, rate,
};
use partita_heat::{self as heat, Pattern};
use partita_model::{AccountName, TableName};
use partita_range::{Range, RangeId};
use partita_table::{Error, Service};
use partita_wire::admin::{
    self, ActionDone, CheckpointResult, GrowthPattern, MergeResult, RangeActionParams, RangeChange,
    RangeFiles, RangeHotPartition, RangeWindow, Ranges, SplitResult, TableGrowth, WindowCounts,
    WindowLatency,
};
use serde::de::DeserializeOwned;

use super::answer::{Answer, Answered};
use super::named_keys::{named_key, table_of};
use crate::known_names::Names;
use crate::status::OpenStore;

/// The maximum number of hot partitions in each range's entry.
const HOT_MAX: usize = 5;

/// How long `freeze` blocks writes by default, in milliseconds.
const FREEZE_MS: u64 = 100;
/// The longest time that `freeze` can block writes.
const FREEZE_MAX: Duration = Duration::from_secs(1);

/// How long a checkpoint keeps files by default, in seconds.
const CHECKPOINT_S: u64 = 60;
/// The longest time that a checkpoint can keep files, in seconds.
const CHECKPOINT_S_MAX: u64 = 86_400;

/// The ranges of this server in key order.
pub(super) async fn list(store: &OpenStore) -> Result<Ranges, Answer> {
    let (cluster, names) = (&store.cluster, store.names().await);
    let record = cluster.record();
    let ranges = cluster.map().ranges();
    let (no_split_key, balanced) = cluster.balance_counts();
    let entry = |served| range(cluster, served, &names);
    Ok(Ranges {
        map_version: record.as_ref().map_or(0, |record| record.version),
        ranges: ranges.iter().map(entry).collect(),
        change: record
            .as_ref()
            .and_then(|record| record.change.as_ref())
            .map(range_change),
        orphans: record.map_or_else(Vec::new, |record| record.pending_deletion),
        balanced,
        no_split_key,
        missing: names.missing(None),
    })
}

/// The split or merge under way, in the form of the document.
pub(super) fn range_change(change: &ChangeRecord) -> RangeChange {
    match *change {
        ChangeRecord::Split {
            range,
            ref at,
            left,
            right,
        } => RangeChange::Split {
            range,
            at: BASE64_STANDARD.encode(at),
            left,
            right,
        },
        ChangeRecord::Merge { left, right, into } => RangeChange::Merge { left, right, into },
    }
}

/// The end at which a table grows, in the form of the document.
pub(super) fn growth_pattern(pattern: Pattern) -> GrowthPattern {
    match pattern {
        Pattern::AppendOnly => GrowthPattern::AppendOnly,
        Pattern::PrependOnly => GrowthPattern::PrependOnly,
        Pattern::Spread => GrowthPattern::Spread,
    }
}

fn range(cluster: &Cluster, served: &Served, names: &Names) -> admin::Range {
    let heat = served.range.heat();
    let window = cluster.last_window(served.range.id());
    let cores = cluster.last_cores(served.range.id());
    let (hot, growth) = (heat.hot_partitions(HOT_MAX), heat.growth());
    let table_growth = |growth: &heat::TableGrowth| TableGrowth {
        table: table_of(&growth.table, names).and_then(|location| location.table),
        pattern: growth_pattern(growth.pattern),
    };
    let (bounds, layout) = (served.range.bounds(), served.range.engine().file_layout());
    admin::Range {
        id: served.range.id().0,
        server: None,
        epoch: served.epoch.0,
        start: named_key(&bounds.start, names),
        end: bounds.end.as_ref().and_then(|end| named_key(end, names)),
        layout: RangeFiles {
            bytes: layout.bytes,
            files: layout.files,
            sources: layout.sources,
            lineage: layout.kept,
        },
        frozen: served.range.is_frozen(),
        requests_per_second: window.as_ref().map(rate),
        cores: cores.map(|cores| (cores * 1000.0).round() / 1000.0),
        last_window: window.as_ref().map(range_window),
        hot_partitions: hot.iter().map(|hot| hot_partition(hot, names)).collect(),
        growth: growth.iter().map(table_growth).collect(),
    }
}

fn range_window(window: &heat::Window) -> RangeWindow {
    let counts = &window.counts;
    RangeWindow {
        elapsed_ms: u64::try_from(window.elapsed.as_millis()).unwrap_or(u64::MAX),
        counts: WindowCounts {
            reads: counts.reads,
            writes: counts.writes,
            rows_scanned: counts.rows_scanned,
            rows_written: counts.rows_written,
            bytes_in: counts.bytes_in,
            bytes_out: counts.bytes_out,
            throttled: counts.throttled,
        },
        latency: window_latency(&window.latency),
    }
}

/// The latencies of a window of one or more ranges.
pub(super) fn window_latency(latency: &heat::Latency) -> WindowLatency<u64> {
    WindowLatency {
        p50_us: latency.percentile_us(50),
        p99_us: latency.percentile_us(99),
    }
}

fn hot_partition(hot: &heat::HotPartition, names: &Names) -> RangeHotPartition {
    let last = &hot.last;
    RangeHotPartition {
        partition: named_key(&hot.partition, names),
        share: hot.share,
        window: admin::Activity {
            reads: last.reads,
            writes: last.writes,
            rows_scanned: last.rows_scanned,
            rows_written: last.rows_written,
            bytes_in: last.bytes_in,
            bytes_out: last.bytes_out,
            throttled: last.throttled,
        },
        latency: partition_latency(&hot.latency),
    }
}

/// The latencies of a hot partition.
pub(super) fn partition_latency(latency: &heat::CoarsePercentiles) -> WindowLatency<Option<u64>> {
    WindowLatency {
        p50_us: latency.p50_us,
        p99_us: latency.p99_us,
    }
}

/// Reads the id of a range in a path.
pub(super) fn read_id(text: &str) -> Result<RangeId, Answer> {
    text.parse().map(RangeId).map_err(|_| {
        let message = "invalid range id: expected a number";
        Answer::not_found("NoSuchRange", message)
    })
}

/// Runs an action on a range.
pub(super) async fn act(store: &OpenStore, id: &str, action: &str, body: &[u8]) -> Answered {
    let id = read_id(id)?;
    let params: RangeActionParams = read_params(body)?;
    let cluster = &store.cluster;
    match action {
        "split" => return split(store, id, params).await,
        "merge" => return merge(cluster, id, params.with).await,
        "checkpoint" => return checkpoint(cluster, id, params.seconds).await,
        "flush" => maintain(cluster, id, RangeAction::Flush).await?,
        "compact" => maintain(cluster, id, RangeAction::Detach).await?,
        "collect" => {
            let collected = maintain(cluster, id, RangeAction::Collect).await;
            store.snapshots.maintain().await;
            cluster.maintain().await;
            collected?;
        }
        "freeze" => {
            let wait = Duration::from_millis(params.milliseconds.unwrap_or(FREEZE_MS));
            cluster.freeze(id, wait.min(FREEZE_MAX)).await?;
        }
        _ => {
            let actions = "split, merge, move, flush, checkpoint, compact, collect or freeze";
            let message = format!("unknown action: expected {actions}");
            return Err(Answer::not_found("NoSuchAction", message));
        }
    }
    Answer::ok(&ActionDone { done: true })
}

/// The parameters of an action; an empty body gives the defaults.
pub(super) fn read_params<T: Default + DeserializeOwned>(body: &[u8]) -> Result<T, Answer> {
    match body {
        [] => Ok(T::default()),
        body => {
            serde_json::from_slice(body).map_err(|error| Answer::invalid_body(error.to_string()))
        }
    }
}

async fn split(store: &OpenStore, id: RangeId, params: RangeActionParams) -> Answered {
    let at = split_key(&store.service, params).await?;
    let split = store.cluster.split(id, at).await?;
    let names = store.names().await;
    Answer::ok(&SplitResult {
        left: split.left.0,
        right: split.right.0,
        at: named_key(&split.at, &names),
        transit_ms: milliseconds(split.transit),
    })
}

/// The first key of the right range; `None` for the middle of the range's bytes.
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
            let start = service.partition_start(&account, &table, &partition_key);
            let missing = |error: Error| Answer::not_found("TableNotFound", error.to_string());
            start.await.map(Some).map_err(missing)
        }
        (None, None, None) => Ok(None),
        _ => Err(Answer::invalid_body(
            "account, table and partition_key must be given together",
        )),
    }
}

async fn merge(cluster: &Cluster, id: RangeId, with: Option<u64>) -> Answered {
    let (left, right) = neighbours(cluster, id, with.map(RangeId))?;
    let merged = cluster.merge(left, right).await?;
    Answer::ok(&MergeResult {
        into: merged.into.0,
        transit_ms: milliseconds(merged.transit),
    })
}

/// A range and the neighbour `with`, in key order; the next range if none is named. Holds no range on return, because
/// the engines of merged ranges close once no task holds them.
fn neighbours(
    cluster: &Cluster,
    id: RangeId,
    with: Option<RangeId>,
) -> Result<(RangeId, RangeId), Answer> {
    let record = cluster.record().ok_or(ChangeRefused::NotManager)?;
    let ids: Vec<RangeId> = record.specs().map(|range| range.id).collect();
    let at = ids.iter().position(|known| *known == id);
    let at = at.ok_or(ChangeRefused::NoSuchRange(id))?;
    let next = ids.get(at + 1).copied();
    let with = with.or(next).ok_or_else(|| {
        let message = "the last range has no next range";
        Answer::refused(StatusCode::CONFLICT, "NoNeighbour", message)
    })?;
    let previous = at.checked_sub(1).and_then(|at| ids.get(at));
    Ok(match previous == Some(&with) {
        true => (with, id),
        false => (id, with),
    })
}

fn find(cluster: &Cluster, id: RangeId) -> Result<Arc<Range>, ChangeRefused> {
    let ranges = cluster.map().ranges();
    let served = ranges.iter().find(|served| served.range.id() == id);
    let served = served.ok_or(ChangeRefused::NoSuchRange(id))?;
    Ok(Arc::clone(&served.range))
}

/// Flushes the range, and protects its files from deletion for a limited time.
async fn checkpoint(cluster: &Cluster, id: RangeId, seconds: Option<u64>) -> Answered {
    let seconds = seconds.unwrap_or(CHECKPOINT_S);
    if !(1..=CHECKPOINT_S_MAX).contains(&seconds) {
        let text = format!("seconds must be a number from 1 to {CHECKPOINT_S_MAX}");
        return Err(Answer::invalid_body(text));
    }
    let range = find(cluster, id)?;
    range.engine().flush().await.map_err(Answer::failed)?;
    let kept_for = Duration::from_secs(seconds);
    let checkpoint = range.engine().checkpoint(kept_for).await;
    Answer::ok(&CheckpointResult {
        checkpoint: checkpoint.map_err(Answer::failed)?.to_string(),
        seconds,
    })
}

async fn maintain(cluster: &Cluster, id: RangeId, action: RangeAction) -> Result<(), Answer> {
    match cluster.local_host().act(id, action).await {
        Ok(()) => Ok(()),
        Err(HostError::NoSuchRange(id)) => Err(ChangeRefused::NoSuchRange(id).into()),
        Err(error) => Err(Answer::failed(error)),
    }
}

impl From<ChangeRefused> for Answer {
    fn from(why: ChangeRefused) -> Self {
        let (status, code) = match why {
            ChangeRefused::NoSuchRange(_) => (StatusCode::NOT_FOUND, "NoSuchRange"),
            ChangeRefused::NotNeighbours(..) => (StatusCode::CONFLICT, "NotNeighbours"),
            ChangeRefused::KeyOutside(_) => (StatusCode::CONFLICT, "KeyOutside"),
            ChangeRefused::NoSplitKey(_) => (StatusCode::CONFLICT, "NoSplitKey"),
            ChangeRefused::Ancestry { .. } => (StatusCode::CONFLICT, "Lineage"),
            ChangeRefused::TooManyRanges(_) => (StatusCode::CONFLICT, "TooManyRanges"),
            ChangeRefused::NotManager => (StatusCode::CONFLICT, "NotManager"),
            ChangeRefused::Failed(_) => (StatusCode::SERVICE_UNAVAILABLE, "Failed"),
        };
        Self::refused(status, code, why.to_string())
    }
}

/// A duration in milliseconds, with fractions, as in the documents.
pub(super) fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}
