//! `/admin/v1/status`: health, load and counters. Fields are added, never changed; `docs/admin-api.md` lists them.

use std::cmp::Reverse;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use partita_cluster::{Cluster, Served, StoreLoad};
use partita_coordinator::{Role, ServerInfo, Table};
use partita_engine::{Distribution, Stats};
use partita_range::{CacheStats, RowMemory};
use partita_service::{BusyReason, Limited};
use partita_wire::admin::{
    BlockCache, ClusterInfo, ClusterServer, ConnectionCounts, DamagedFile, EngineStats,
    EntityCache, ErrorCount, LimitedKey, Listening, LoadSummary, OperationLatency, OperationStats,
    Percentiles, RangeSummary, RequestCounts, ScrubStatus, ServerHealth, Status, StoreInfo,
    StoredBytes, UnownedRange, WrittenBytes,
};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use super::ranges::{milliseconds, range_change, window_latency};
use crate::config::Place;
use crate::forwarding::PEER_ADDRESS;
use crate::metrics::{OperationReading, Reading, process_stats};
use crate::status::{ClusterView, ServerStatus};

/// The maximum number of entries of `limited`.
const LIMITED_MAX: usize = 10;

/// The maximum number of entries of `unowned`.
const UNOWNED_MAX: usize = 100;

/// Answers `/admin/v1/status`.
pub(super) fn status(server: &ServerStatus) -> Status {
    let (state, reasons) = server.state();
    let settings = &server.settings;
    let metrics = server.metrics.read();
    let (queue, admin) = (server.listening.queue, server.listening.admin);
    let service = |address| format!("{}://{address}", settings.tls.scheme());
    let accounts = settings.accounts.iter();
    let busy = BusyReason::WORDS.into_iter().zip(metrics.busy);
    Status {
        name: "partita".to_owned(),
        version: crate::VERSION.to_owned(),
        state,
        reasons,
        notes: server.notes(),
        started_at: rfc3339(server.started_at),
        uptime_seconds: server.uptime().as_secs_f64(),
        listening: Listening {
            table: server.listening.table.map(service),
            queue: queue.map(service),
            admin: admin.map(|address| format!("http://{address}")),
        },
        accounts: accounts.map(|account| account.name.clone()).collect(),
        store: store(server),
        cluster: server.cluster_view().map(|view| cluster(server, view)),
        load: server.cluster().and_then(|cluster| load(cluster)),
        ranges: server
            .cluster()
            .map(|cluster| ranges(cluster, server.balances())),
        requests: requests(&metrics),
        busy: busy.map(|(word, count)| (word.to_owned(), count)).collect(),
        limited: limited(server),
        connections: ConnectionCounts {
            open: metrics.connections,
            opened: metrics.connections_opened,
        },
        engine: server
            .engine_stats()
            .map(|stats| engine(&stats, server.wall_clock_lag())),
        damaged_files: Some(
            server
                .damaged_files()
                .into_iter()
                .map(damaged_file)
                .collect(),
        ),
        scrub: Some(scrub(server)),
        entity_cache: entity_cache(server),
        process: process_stats(),
    }
}

fn store(server: &ServerStatus) -> StoreInfo {
    let absolute = |path: &PathBuf| std::path::absolute(path).unwrap_or_else(|_| path.clone());
    let kind = |kind: &str| StoreInfo {
        kind: kind.to_owned(),
        ..StoreInfo::default()
    };
    let remote = server.open().and_then(|store| store.remote.as_ref());
    match &server.settings.store.place {
        Place::Directory(path) => StoreInfo {
            path: Some(absolute(path).display().to_string()),
            ..kind("directory")
        },
        Place::ObjectStore(place) => StoreInfo {
            url: Some(place.files.url()),
            log_url: place.log.as_ref().map(|log| log.url()),
            id: remote.map(|remote| remote.id.clone()),
            clock_ahead_seconds: remote.map(|remote| remote.clock_ahead_seconds),
            ..kind("object_store")
        },
        Place::Memory => kind("memory"),
    }
}

/// Adds the health of all servers to the cluster in a status. `silent` are the servers that did not answer.
pub(super) fn add_servers(own: &mut Status, others: &[(String, Status)], silent: Vec<String>) {
    let health = server_health(own);
    let change = |status: &Status| {
        status
            .ranges
            .as_ref()
            .and_then(|ranges| ranges.change.clone())
    };
    let running = change(own).or_else(|| others.iter().find_map(|(_, other)| change(other)));
    let Some(cluster) = &mut own.cluster else {
        return;
    };
    for server in &mut cluster.servers {
        let other = others.iter().find(|(name, _)| *name == server.name);
        server.health = match other {
            Some((_, other)) => Some(server_health(other)),
            None => (server.name == cluster.server).then(|| health.clone()),
        };
    }
    cluster.change = running;
    cluster.silent = (!silent.is_empty()).then_some(silent);
}

/// The health of a server by its own status.
fn server_health(status: &Status) -> ServerHealth {
    let (cluster, load) = (status.cluster.as_ref(), status.load.as_ref());
    ServerHealth {
        state: status.state.clone(),
        engine: status.engine.as_ref().map(|engine| engine.health.clone()),
        requests_per_second: load.map(|load| load.requests_per_second),
        p99_us: load.map(|load| load.latency.p99_us),
        cores: cluster.and_then(|cluster| cluster.cores),
        lease_left_seconds: cluster.and_then(|cluster| cluster.lease_left_seconds),
        clock_ahead_seconds: status.store.clock_ahead_seconds,
        log_put_us: status
            .engine
            .as_ref()
            .map(|engine| engine.log_sync_us.clone()),
    }
}

/// The names of the roles of a server.
fn roles(info: &ServerInfo) -> Vec<String> {
    let roles = Role::ALL.into_iter().filter(|role| info.has_role(*role));
    roles.map(|role| role.name().to_owned()).collect()
}

/// The cluster as the copy of the registry's keys shows it.
fn cluster(server: &ServerStatus, view: &ClusterView) -> ClusterInfo {
    let table = view.routes.current();
    let manager = table.manager();
    let ranges_of = |name: &str| {
        let of_server = table.ranges().values();
        of_server
            .filter(|key| key.record.is_served_by(name))
            .count() as u64
    };
    let servers = table.servers().iter().map(|(name, server)| ClusterServer {
        ranges: Some(ranges_of(name)),
        draining: Some(server.record.info.draining),
        roles: Some(roles(&server.record.info)),
        name: name.clone(),
        life: server.record.life.to_string(),
        address: server.record.info.addresses.get(PEER_ADDRESS).cloned(),
        version: server.record.info.version.clone(),
        cluster_versions: Some(supported(&server.record.info)),
        health: None,
    });
    let unowned = view.unowned.list(&table, server.monotonic());
    let gate = server.membership().map(|membership| membership.gate());
    ClusterInfo {
        server: view.name.clone(),
        serves: server.is_hosting(),
        manager: manager.map(|manager| manager.record.owner.name.clone()),
        unserved: Some(unowned.len() as u64),
        balances: Some(table.balances()),
        active_version: Some(table.active_version().0),
        finalizable: finalizable(&table),
        unowned: Some(longest_first(unowned)),
        lease_left_seconds: gate.map(|gate| milliseconds(gate.open_for()) / 1e3),
        cores: server.cluster().and_then(|cluster| cores(cluster)),
        change: None,
        servers: servers.collect(),
        silent: None,
    }
}

/// The oldest and the newest cluster version that a server supports.
fn supported(info: &ServerInfo) -> [u32; 2] {
    let versions = info.versions();
    [versions.oldest().0, versions.newest().0]
}

/// The version after the active one, if all servers support it.
fn finalizable(table: &Table) -> Option<u32> {
    let next = table.active_version().next();
    let is_supported = !table.servers().is_empty() && table.unable(next).is_empty();
    is_supported.then_some(next.0)
}

fn longest_first(mut unowned: Vec<(u64, Duration)>) -> Vec<UnownedRange> {
    unowned.sort_by_key(|(range, time)| (Reverse(*time), *range));
    unowned.truncate(UNOWNED_MAX);
    let unowned = unowned.into_iter().map(|(range, time)| UnownedRange {
        range,
        seconds: milliseconds(time) / 1e3,
    });
    unowned.collect()
}

/// Processors that the requests of all ranges used in the last window; `None` before the first window ends.
fn cores(cluster: &Cluster) -> Option<f64> {
    let ranges = cluster.map().ranges();
    let cores = ranges
        .iter()
        .filter_map(|served| cluster.last_cores(served.range.id()));
    let cores: Vec<f64> = cores.collect();
    let sum = cores.iter().sum::<f64>();
    (!cores.is_empty()).then_some((sum * 1e3).round() / 1e3)
}

/// The load of all ranges in the last closed window of ten seconds; `None` before the first.
fn load(cluster: &Cluster) -> Option<LoadSummary> {
    let StoreLoad {
        elapsed,
        counts,
        latency,
    } = cluster.last_load()?;
    let seconds = elapsed.as_secs_f64();
    let rate = |count: u64| one_decimal(count as f64 / seconds);
    (seconds > 0.0).then(|| LoadSummary {
        seconds,
        requests_per_second: rate(counts.requests()),
        reads_per_second: rate(counts.reads),
        writes_per_second: rate(counts.writes),
        rows_scanned_per_second: rate(counts.rows_scanned),
        throttled_per_second: rate(counts.throttled),
        latency: window_latency(&latency),
    })
}

/// The number of ranges, and the change under way.
fn ranges(cluster: &Cluster, balances: bool) -> RangeSummary {
    let (ranges, record) = (cluster.map().ranges(), cluster.record());
    let count = |is: fn(&Served) -> bool| ranges.iter().filter(|served| is(served)).count() as u64;
    let (no_split_key, balanced) = cluster.balance_counts();
    RangeSummary {
        count: ranges.len() as u64,
        frozen: count(|served| served.range.is_frozen()),
        rewriting: count(|served| served.range.engine().file_layout().sources > 0),
        change: record
            .as_ref()
            .and_then(|record| record.change.as_ref())
            .map(range_change),
        orphans: record.map_or(0, |record| record.pending_deletion.len() as u64),
        balances,
        balanced,
        no_split_key,
    }
}

fn requests(metrics: &Reading) -> RequestCounts {
    let requested = metrics.operations.iter();
    let requested = requested.filter(|operation| operation.requests() > 0);
    RequestCounts {
        total: requested.clone().map(OperationReading::requests).sum(),
        in_flight: metrics.in_flight,
        operations: requested.map(operation).collect(),
    }
}

/// Keys that exceeded a target in the last minute.
fn limited(server: &ServerStatus) -> Vec<LimitedKey> {
    let service = server.open().map(|store| &store.service);
    let limited = service.map_or_else(Vec::new, |service| service.storage().limited(LIMITED_MAX));
    let entry = |limited: &Limited| LimitedKey {
        target: limited.scope.as_str().to_owned(),
        account: Some(limited.account().to_owned()),
        table: limited.table().map(str::to_owned),
        partition_key: limited.partition_key().map(str::to_owned),
        throttled: limited.throttled,
    };
    limited.iter().map(entry).collect()
}

fn operation(reading: &OperationReading) -> OperationStats {
    let [succeeded, redirected, client_errors, server_errors] = reading.classes;
    let percentile = |per_mille| reading.latencies.percentile_us(per_mille);
    let error = |(code, count): &(partita_wire::ErrorCode, u64)| ErrorCount {
        code: code.name().to_owned(),
        status: code.status(),
        count: *count,
    };
    OperationStats {
        operation: reading.name.to_owned(),
        requests: reading.requests(),
        succeeded: succeeded + redirected,
        client_errors,
        server_errors,
        errors: reading.errors.iter().map(error).collect(),
        bytes_in: reading.bytes_in,
        bytes_out: reading.bytes_out,
        entities_returned: reading.entities_out,
        latency_us: OperationLatency {
            p50: percentile(500),
            p90: percentile(900),
            p99: percentile(990),
            p999: percentile(999),
        },
    }
}

fn engine(stats: &Stats, wall_clock_lag: Duration) -> EngineStats {
    EngineStats {
        health: stats.health.as_str().to_owned(),
        batches: stats.batches,
        rows: stats.rows,
        bytes: stats.bytes,
        batches_refused: stats.batches_refused,
        batches_unknown: stats.batches_unknown,
        commit_groups: stats.group_batches.count,
        commit_group_batches: percentiles(&stats.group_batches),
        commit_group_bytes: percentiles(&stats.group_bytes),
        log_sync_us: percentiles(&stats.sync_us),
        log_bytes: stats.log_bytes,
        wall_clock_lag_seconds: wall_clock_lag.as_secs_f64(),
        written: written(stats),
        stored: stats.stored.as_ref().map(stored),
        block_cache: BlockCache {
            hits: stats.cache_hits,
            misses: stats.cache_misses,
            bytes: stats.cache_bytes,
        },
    }
}

fn written(stats: &Stats) -> Option<WrittenBytes> {
    stats.written.map(|written| WrittenBytes {
        row_bytes: stats.row_bytes(),
        log_bytes: written.log,
        flush_bytes: written.flushes,
        compaction_bytes: written.compactions,
        amplification: stats.write_amplification().map(one_decimal),
    })
}

fn stored(stored: &partita_engine::StoredBytes) -> StoredBytes {
    StoredBytes {
        live_bytes: stored.live,
        replaced_bytes: stored.replaced,
        log_bytes: stored.log,
        amplification: stored.amplification().map(one_decimal),
    }
}

/// Rounds to one decimal.
fn one_decimal(number: f64) -> f64 {
    (number * 10.0).round() / 10.0
}

fn scrub(server: &ServerStatus) -> ScrubStatus {
    let results = server.scrub.results();
    ScrubStatus {
        bytes: server.scrub.bytes(),
        passes: results.passes,
        last_pass_at: results.last_at.and_then(rfc3339),
        damaged: results.damaged,
    }
}

fn damaged_file(damaged: partita_engine::DamagedFile) -> DamagedFile {
    DamagedFile {
        range: damaged.range.0,
        file: damaged.file,
        problem: damaged.problem,
        since: rfc3339(damaged.since),
        blocks_writes: damaged.blocks_writes,
    }
}

/// The percentiles of a distribution: upper bounds of its buckets, which are powers of two.
fn percentiles(seen: &Distribution) -> Percentiles {
    let percentile = |per_mille: u64| {
        let rank = (seen.count * per_mille).div_ceil(1000);
        let mut below = 0;
        let reached = seen.buckets.iter().position(|count| {
            below += count;
            rank > 0 && below >= rank
        });
        reached.map(Distribution::bound)
    };
    Percentiles {
        mean: seen.mean(),
        p50: percentile(500),
        p99: percentile(990),
    }
}

/// Statistics of the row memory; the default before the data is open.
fn of_row_memory<T: Default>(server: &ServerStatus, stats: fn(&RowMemory) -> T) -> T {
    server.row_memory().map(stats).unwrap_or_default()
}

fn entity_cache(server: &ServerStatus) -> EntityCache {
    let stats = of_row_memory(server, RowMemory::cache_stats);
    let CacheStats {
        hits,
        misses,
        rows,
        bytes,
        bytes_max,
    } = stats;
    EntityCache {
        hits,
        misses,
        rows,
        bytes,
        bytes_max,
    }
}

/// A time as RFC 3339 text, without fractions of a second.
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

    const WINDOW: Duration = Duration::from_secs(10);

    /// Counts `times` reads of one partition in its range.
    fn read(cluster: &Cluster, partition: &str, times: u64) {
        let key = TableSpace::new("account", TableId(1)).partition(partition);
        let route = cluster.map().route(&key).unwrap();
        for _ in 0..times {
            route
                .range
                .note(&key, Access::Read, RequestStats::default());
        }
    }

    /// The reads per second in the last window, and the window's length in seconds.
    fn reads(cluster: &Cluster) -> (f64, f64) {
        let load = load(cluster).expect("a window was closed");
        (load.reads_per_second, load.seconds)
    }

    /// A split loses no counts: the load of a range is complete in the window before its split and in the window in
    /// which it is split.
    #[tokio::test(start_paused = true)]
    async fn the_load_of_a_split_range_is_counted() {
        // The clock starts at the beginning of a window; the test advances it together with tokio's time.
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
        assert_eq!(reads(&cluster), (50.0, 10.0));

        read(&cluster, "a", 900);
        let at = TableSpace::new("account", TableId(1)).partition("m");
        cluster.split(RangeId(1), Some(at)).await.unwrap();
        assert_eq!(reads(&cluster), (50.0, 10.0));
        read(&cluster, "a", 60);
        read(&cluster, "z", 40);
        clock.advance(WINDOW);
        tokio::time::sleep(WINDOW).await;
        assert_eq!(reads(&cluster), (100.0, 10.0));
    }
}
