//! `/admin/v1/status`: how the server stands, as JSON. Fields are added, never changed; `docs/admin-api.md` lists them.

use std::time::SystemTime;

use partita_cluster::{Cluster, Served, StoreLoad};
use partita_engine::{Distribution, Stats};
use partita_range::RowMemory;
use partita_service::{BusyReason, Limited};
use serde_json::{Value, json};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use crate::config::Place;
use crate::metrics::{OperationReading, Process, Reading};
use crate::standing::Standing;

/// Those over a target that are shown.
const LIMITED_MAX: usize = 10;

/// The whole status.
pub(super) fn status(standing: &Standing) -> Value {
    let (state, reason) = standing.state();
    let settings = &standing.settings;
    let names: Vec<&str> = settings
        .accounts
        .iter()
        .map(|account| account.name())
        .collect();
    let admin = standing
        .listening
        .admin
        .map(|address| format!("http://{address}"));
    let reading = standing.metrics.read();
    json!({
        "name": "partita",
        "version": crate::VERSION,
        "state": state.as_str(),
        "reasons": reason.into_iter().collect::<Vec<_>>(),
        "started_at": rfc3339(standing.started_at),
        "uptime_seconds": standing.uptime().as_secs_f64(),
        "listening": {
            "table": format!("{}://{}", settings.tls.scheme(), standing.listening.table),
            "admin": admin,
        },
        "accounts": names,
        "store": store(&settings.store.place),
        "load": standing.cluster().and_then(|cluster| load(cluster)),
        "ranges": standing.cluster().map(|cluster| ranges(cluster, settings.store.balance.is_some())),
        "requests": requests(&reading),
        "busy": busy(&reading),
        "limited": limited(standing),
        "connections": { "open": reading.connections, "opened": reading.connections_opened },
        "engine": standing.engine_stats().map(|stats| engine(&stats)),
        "entity_cache": entity_cache(standing),
        "key_filter": key_filter(standing),
        "process": Process::read().map(process),
    })
}

fn store(place: &Place) -> Value {
    match place {
        Place::Directory(path) => {
            let absolute = std::path::absolute(path).unwrap_or_else(|_| path.clone());
            json!({ "kind": "directory", "path": absolute.display().to_string() })
        }
        Place::Memory => json!({ "kind": "memory" }),
    }
}

/// What all ranges did in the window of ten seconds that was closed last; none before the first.
fn load(cluster: &Cluster) -> Option<Value> {
    let StoreLoad {
        elapsed,
        counts,
        latency,
    } = cluster.last_load()?;
    let seconds = elapsed.as_secs_f64();
    #[allow(clippy::cast_precision_loss, reason = "a rate")]
    let rate = |count: u64| (count as f64 / seconds * 10.0).round() / 10.0;
    (seconds > 0.0).then(|| {
        json!({
            "seconds": seconds,
            "requests_per_second": rate(counts.requests()),
            "reads_per_second": rate(counts.reads),
            "writes_per_second": rate(counts.writes),
            "rows_scanned_per_second": rate(counts.rows_scanned),
            "throttled_per_second": rate(counts.throttled),
            "p50_us": latency.percentile_us(50),
            "p99_us": latency.percentile_us(99),
        })
    })
}

/// How many ranges there are, and what is moving.
fn ranges(cluster: &Cluster, balances: bool) -> Value {
    let (ranges, record) = (cluster.map().ranges(), cluster.record());
    let count = |is: fn(&Served) -> bool| ranges.iter().filter(|served| is(served)).count();
    let (no_split_key, balanced) = cluster.balance_counts();
    json!({
        "count": ranges.len(),
        "frozen": count(|served| served.range.is_frozen()),
        "rewriting": count(|served| served.range.engine().file_layout().sources > 0),
        "change": record.change,
        "orphans": record.pending_deletion.len(),
        "balances": balances,
        "balanced": balanced,
        "no_split_key": no_split_key,
    })
}

fn requests(reading: &Reading) -> Value {
    let asked = reading
        .operations
        .iter()
        .filter(|operation| operation.requests() > 0);
    let operations: Vec<Value> = asked.map(operation).collect();
    let total: u64 = reading
        .operations
        .iter()
        .map(OperationReading::requests)
        .sum();
    json!({ "total": total, "in_flight": reading.in_flight, "operations": operations })
}

/// Requests that were not executed, by reason.
fn busy(reading: &Reading) -> Value {
    let counts = BusyReason::WORDS.iter().zip(reading.busy);
    counts.map(|(word, count)| (*word, count)).collect()
}

/// Who was over a target in the last minute.
fn limited(standing: &Standing) -> Value {
    let service = standing.service();
    let limited = service.map_or_else(Vec::new, |service| service.storage().limited(LIMITED_MAX));
    let one = |limited: Limited| {
        let Limited {
            scope,
            account,
            table,
            partition_key,
            throttled,
        } = limited;
        json!({
            "target": scope.as_str(),
            "account": account,
            "table": table,
            "partition_key": partition_key,
            "throttled": throttled,
        })
    };
    limited.into_iter().map(one).collect()
}

fn operation(reading: &OperationReading) -> Value {
    let [succeeded, redirected, client_errors, server_errors] = reading.classes;
    let percentile = |per_mille| reading.latencies.percentile_us(per_mille);
    let error = |(code, count): &(partita_wire::ErrorCode, u64)| json!({ "code": code.name(), "status": code.status(), "count": count });
    json!({
        "operation": reading.name,
        "requests": reading.requests(),
        "succeeded": succeeded + redirected,
        "client_errors": client_errors,
        "server_errors": server_errors,
        "errors": reading.errors.iter().map(error).collect::<Vec<_>>(),
        "bytes_in": reading.bytes_in,
        "bytes_out": reading.bytes_out,
        "entities_returned": reading.entities_out,
        "latency_us": {
            "p50": percentile(500),
            "p90": percentile(900),
            "p99": percentile(990),
            "p999": percentile(999),
        },
    })
}

fn engine(stats: &Stats) -> Value {
    json!({
        "health": stats.health.as_str(),
        "batches": stats.batches,
        "rows": stats.rows,
        "bytes": stats.bytes,
        "batches_refused": stats.batches_refused,
        "batches_unknown": stats.batches_unknown,
        "commit_groups": stats.group_batches.count,
        "commit_group_batches": distribution(&stats.group_batches),
        "commit_group_bytes": distribution(&stats.group_bytes),
        "log_sync_us": distribution(&stats.sync_us),
        "log_bytes": stats.log_bytes,
        "block_cache": { "hits": stats.cache_hits, "misses": stats.cache_misses, "bytes": stats.cache_bytes },
    })
}

/// Percentiles are bounds of buckets, so powers of two.
fn distribution(seen: &Distribution) -> Value {
    let percentile = |per_mille: u64| {
        let rank = (seen.count * per_mille).div_ceil(1000);
        let mut below = 0;
        let reached = seen.buckets.iter().position(|count| {
            below += count;
            rank > 0 && below >= rank
        });
        reached.map(Distribution::bound)
    };
    json!({ "mean": seen.mean(), "p50": percentile(500), "p99": percentile(990) })
}

fn entity_cache(standing: &Standing) -> Value {
    let cache = standing.row_memory().map(RowMemory::cache_stats);
    let cache = cache.unwrap_or_default();
    json!({
        "hits": cache.hits,
        "misses": cache.misses,
        "rows": cache.rows,
        "bytes": cache.bytes,
        "bytes_max": cache.bytes_max,
    })
}

fn key_filter(standing: &Standing) -> Value {
    let filter = standing.row_memory().map(RowMemory::key_filter_stats);
    let filter = filter.unwrap_or_default();
    json!({ "keys": filter.keys, "bytes": filter.bytes, "absent": filter.absent })
}

fn process(process: Process) -> Value {
    json!({
        "resident_bytes": process.resident_bytes,
        "cpu_seconds": process.cpu_seconds,
        "open_files": process.open_files,
    })
}

/// Without fractions of a second.
pub(super) fn rfc3339(at: SystemTime) -> Option<String> {
    let at = OffsetDateTime::from(at).replace_nanosecond(0).ok()?;
    at.format(&Rfc3339).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use object_store::memory::InMemory;
    use partita_cluster::{ClusterParts, ObjectMapStore};
    use partita_engine::memory::MemoryEngineSet;
    use partita_heat::Access;
    use partita_model::{TableId, TableSpace};
    use partita_range::{RangeId, RequestStats};
    use partita_rt::{ManualClock, Tasks};
    use partita_snapshot::{ObjectSnapshotStore, SnapshotPins};
    use std::sync::Arc;
    use std::time::Duration;

    const WINDOW: Duration = Duration::from_secs(10);

    /// Counts so many reads of one partition in its range.
    fn read(cluster: &Cluster, partition: &str, times: u64) {
        let key = TableSpace::new("account", TableId(1)).partition(partition);
        let route = cluster.map().route(&key);
        for _ in 0..times {
            route
                .range
                .note(&key, Access::Read, RequestStats::default());
        }
    }

    /// Reads a second, and over how many seconds.
    fn shown(cluster: &Cluster) -> (f64, f64) {
        let load = load(cluster).expect("a window was closed");
        let number = |field: &str| load[field].as_f64().unwrap();
        (number("reads_per_second"), number("seconds"))
    }

    /// What is split is often what has the load: neither the window before the split nor the one with it may lack that.
    #[tokio::test(start_paused = true)]
    async fn the_load_of_a_range_outlasts_its_split() {
        // It stands at the beginning of a window, and tokio's time goes with it.
        let clock = ManualClock::new(SystemTime::UNIX_EPOCH + Duration::from_secs(1_770_000_000));
        let store = Arc::new(InMemory::new());
        let records = Arc::new(ObjectSnapshotStore::new(store.clone()));
        let opening = Cluster::open(ClusterParts {
            engines: Arc::new(MemoryEngineSet::new()),
            memory: Arc::default(),
            map: Arc::new(ObjectMapStore::new(store)),
            pins: Arc::new(SnapshotPins::new(records)),
            clock: Arc::new(clock.clone()),
            tasks: Tasks::new(),
        });
        let cluster = opening.await.unwrap();
        cluster.start_watching(None, None);
        tokio::time::sleep(Duration::from_millis(1)).await;
        assert_eq!(load(&cluster), None);

        read(&cluster, "a", 500);
        clock.advance(WINDOW);
        tokio::time::sleep(WINDOW).await;
        assert_eq!(shown(&cluster), (50.0, 10.0));

        read(&cluster, "a", 900);
        let at = TableSpace::new("account", TableId(1)).partition("m");
        cluster.split(RangeId(1), Some(at)).await.unwrap();
        assert_eq!(shown(&cluster), (50.0, 10.0));
        read(&cluster, "a", 60);
        read(&cluster, "z", 40);
        clock.advance(WINDOW);
        tokio::time::sleep(WINDOW).await;
        assert_eq!(shown(&cluster), (100.0, 10.0));
    }
}
