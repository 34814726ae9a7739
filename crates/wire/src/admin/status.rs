//! `/admin/v1/status`: the health and the load of the server.

use super::{RangeChange, WindowLatency};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The answer of `/admin/v1/status`. Counts are since the start of the process.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Status {
    /// Always `partita`, which identifies the server.
    pub name: String,
    /// Version of the server.
    pub version: String,
    /// The state of the server.
    pub state: ServerState,
    /// Why the server is not ready; empty if it is ready.
    pub reasons: Vec<String>,
    /// Warnings for the operator, which do not make the server unready. Earlier versions do not send them.
    #[serde(default)]
    pub notes: Vec<String>,
    /// When the process started, RFC 3339.
    pub started_at: Option<String>,
    /// Time since the start.
    pub uptime_seconds: f64,
    /// The addresses at which the server listens.
    pub listening: Listening,
    /// Names of the accounts.
    pub accounts: Vec<String>,
    /// The location of the data.
    pub store: StoreInfo,
    /// The cluster; absent without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster: Option<ClusterInfo>,
    /// The load of all ranges in the last window; `None` in the first ten seconds.
    pub load: Option<LoadSummary>,
    /// The ranges; `None` until the data is open.
    pub ranges: Option<RangeSummary>,
    /// Requests.
    pub requests: RequestCounts,
    /// Requests refused with 503, and not executed, by reason.
    pub busy: BTreeMap<String, u64>,
    /// Partitions, tables and accounts that exceeded a target in the last minute.
    pub limited: Vec<LimitedKey>,
    /// Client connections.
    pub connections: ConnectionCounts,
    /// The engine; `None` until the data is open.
    pub engine: Option<EngineStats>,
    /// Files of the store that cannot be read, at most 100. Absent from older servers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub damaged_files: Option<Vec<DamagedFile>>,
    /// The search for damaged files. Absent from older servers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scrub: Option<ScrubStatus>,
    /// The cache of entities.
    pub entity_cache: EntityCache,
    /// The process; `None` if the operating system does not report it.
    pub process: Option<ProcessStats>,
}

/// The state of a server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ServerState {
    /// The data is being opened.
    Starting,
    /// Reads and writes are served.
    Ready,
    /// Reads are served and writes are refused, or a damaged file cannot be read.
    Degraded,
    /// Reads and writes are refused. After a failure the server recovers automatically; a closed store needs a restart.
    Unavailable,
    /// The server is stopping.
    Stopping,
    /// A value that a later version uses.
    #[serde(untagged)]
    Other(String),
}

impl ServerState {
    /// The name of the state in the document.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Starting => "starting",
            Self::Ready => "ready",
            Self::Degraded => "degraded",
            Self::Unavailable => "unavailable",
            Self::Stopping => "stopping",
            Self::Other(word) => word,
        }
    }
}

/// The base URLs at which a server listens, with the actual ports.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Listening {
    /// The base URL of the Table service; `None` for a server of a cluster without ports for clients.
    pub table: Option<String>,
    /// The base URL of the Queue service; `None` if it is disabled.
    pub queue: Option<String>,
    /// The base URL of the admin port; `None` if it is disabled.
    pub admin: Option<String>,
}

/// The location of the data.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoreInfo {
    /// `directory`, `object_store` or `memory`.
    pub kind: String,
    /// The absolute path of a directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The URL of an object store.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// The URL of the object store of the log, if that is another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log_url: Option<String>,
    /// The id of an object store; absent until it is open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// How far the clock of the machine was ahead of that of the object store at the start, in seconds; negative if it
    /// was behind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock_ahead_seconds: Option<i64>,
}

/// The cluster of a server, as this server knows it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ClusterInfo {
    /// The name of this server.
    pub server: String,
    /// Whether this server serves a range. A server without one forwards all requests.
    pub serves: bool,
    /// The name of the elected server; `None` while there is none.
    pub manager: Option<String>,
    /// The number of ranges that no living server serves. Absent from older servers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unserved: Option<u64>,
    /// Whether the manager splits, merges and moves ranges of its own accord. Absent from older servers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub balances: Option<bool>,
    /// The cluster version in which the servers write. Absent from older servers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub active_version: Option<u32>,
    /// The version that `finalize` would make active: the next one, if all servers support it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finalizable: Option<u32>,
    /// The ranges that no living server serves, those that have waited longest first, at most 100. Absent from older
    /// servers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unowned: Option<Vec<UnownedRange>>,
    /// How long the lease of this server is valid if it is not renewed, in seconds; 0 without a valid lease. Absent from
    /// older servers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease_left_seconds: Option<f64>,
    /// Processors that the requests of this server's ranges used in the last window. Absent from older servers, and before
    /// the first window ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cores: Option<f64>,
    /// The split or merge under way, on any server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub change: Option<RangeChange>,
    /// The servers that have a lease, by name.
    pub servers: Vec<ClusterServer>,
    /// The servers that did not answer: they have no `health`. Absent if all did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub silent: Option<Vec<String>>,
}

/// A range without a living server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct UnownedRange {
    /// The range.
    pub range: u64,
    /// How long the answering server has seen it without one, in seconds.
    pub seconds: f64,
}

/// The health and the load of a server, as it says itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ServerHealth {
    /// Its state.
    pub state: ServerState,
    /// The health of its engine, as in [`EngineStats`]; `None` until its data is open.
    pub engine: Option<String>,
    /// Requests of its ranges in the last window; `None` before the first window ends.
    pub requests_per_second: Option<f64>,
    /// The latency that 99 of 100 of them did not exceed.
    pub p99_us: Option<u64>,
    /// Processors that they used.
    pub cores: Option<f64>,
    /// How long its lease is valid if it is not renewed, in seconds.
    pub lease_left_seconds: Option<f64>,
    /// How far its clock was ahead of that of the object store at its start, in seconds.
    pub clock_ahead_seconds: Option<i64>,
    /// Duration of one PUT of its log, in microseconds.
    pub log_put_us: Option<Percentiles>,
}

/// A server of a cluster.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ClusterServer {
    /// The name.
    pub name: String,
    /// The life: the id of its lease, 16 hexadecimal digits.
    pub life: String,
    /// Where other servers reach it, host and port.
    pub address: Option<String>,
    /// The version of the program.
    pub version: String,
    /// The number of ranges that it serves. Absent from older servers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ranges: Option<u64>,
    /// Whether it takes no more ranges. Absent from older servers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub draining: Option<bool>,
    /// What it does: `front`, `ranges`, `manager`. Absent from older servers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub roles: Option<Vec<String>>,
    /// The oldest and the newest cluster version that it supports. Absent from older servers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster_versions: Option<[u32; 2]>,
    /// Its health. Absent from older servers, and of a server that did not answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub health: Option<ServerHealth>,
}

/// The load of all ranges in the last complete window of ten seconds.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "named as docs/admin-api.md describes them")]
pub struct LoadSummary {
    pub seconds: f64,
    pub requests_per_second: f64,
    pub reads_per_second: f64,
    pub writes_per_second: f64,
    pub rows_scanned_per_second: f64,
    pub throttled_per_second: f64,
    #[serde(flatten)]
    pub latency: WindowLatency<u64>,
}

/// The number of ranges, and their changes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RangeSummary {
    /// Ranges.
    pub count: u64,
    /// Ranges whose writes wait.
    pub frozen: u64,
    /// Ranges that still share files with older databases.
    pub rewriting: u64,
    /// The running change.
    pub change: Option<RangeChange>,
    /// Databases of replaced ranges that are not deleted yet.
    pub orphans: u64,
    /// Whether the server splits and merges ranges automatically.
    pub balances: bool,
    /// Number of automatic splits and merges.
    pub balanced: u64,
    /// How often a hot or large range could not be split because it had no split key.
    pub no_split_key: u64,
}

/// Requests.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct RequestCounts {
    /// Requests answered.
    pub total: u64,
    /// Requests being executed, approximately.
    pub in_flight: i64,
    /// One entry for each operation requested so far.
    pub operations: Vec<OperationStats>,
}

/// Requests of one operation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OperationStats {
    /// The name in the service's analytics logs.
    pub operation: String,
    /// Requests answered.
    pub requests: u64,
    /// Status 1xx to 3xx.
    pub succeeded: u64,
    /// Status 4xx.
    pub client_errors: u64,
    /// Status 5xx.
    pub server_errors: u64,
    /// Errors by code.
    pub errors: Vec<ErrorCount>,
    /// Bytes of request bodies.
    pub bytes_in: u64,
    /// Bytes of answers' bodies.
    pub bytes_out: u64,
    /// Entities returned.
    pub entities_returned: u64,
    /// Latencies in microseconds: upper bounds, at most 6.25 % too high.
    pub latency_us: OperationLatency,
}

/// Errors with one code.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorCount {
    /// The storage error code.
    pub code: String,
    /// Its HTTP status.
    pub status: u16,
    /// The number of errors.
    pub count: u64,
}

/// Percentiles of an operation's latency; `None` without requests.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "percentiles")]
pub struct OperationLatency {
    pub p50: Option<u64>,
    pub p90: Option<u64>,
    pub p99: Option<u64>,
    pub p999: Option<u64>,
}

/// A partition, table or account that exceeded a target in the last minute.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LimitedKey {
    /// `partition`, `table` or `account`.
    pub target: String,
    /// The account.
    pub account: Option<String>,
    /// The table; `None` for an account.
    pub table: Option<String>,
    /// The PartitionKey; `None` for the target of a table or an account.
    pub partition_key: Option<String>,
    /// Requests refused in the last minute.
    pub throttled: u64,
}

impl LimitedKey {
    /// The account, the table and the PartitionKey, as far as the target has them: `account/table/key`.
    pub fn names(&self) -> String {
        let names = [&self.account, &self.table, &self.partition_key];
        let names: Vec<&str> = names.into_iter().flatten().map(String::as_str).collect();
        names.join("/")
    }
}

/// Client connections.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConnectionCounts {
    /// Connections that are open now.
    pub open: i64,
    /// Connections opened since the start.
    pub opened: u64,
}

/// The statistics of the engine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EngineStats {
    /// `healthy`, `disk_full`, `backlogged`, `recovering` or `closed`.
    pub health: String,
    /// Batches made durable.
    pub batches: u64,
    /// Rows of the durable batches.
    pub rows: u64,
    /// Bytes of the durable batches.
    pub bytes: u64,
    /// Batches that were not executed.
    pub batches_refused: u64,
    /// Batches that may have been executed.
    pub batches_unknown: u64,
    /// Groups of batches that shared one sync.
    pub commit_groups: u64,
    /// Batches in each group.
    pub commit_group_batches: Percentiles,
    /// Bytes in each group.
    pub commit_group_bytes: Percentiles,
    /// Duration of one write and sync of the WAL, in microseconds.
    pub log_sync_us: Percentiles,
    /// Bytes of the WAL that a start would replay.
    pub log_bytes: u64,
    /// How far the wall clock is behind the newest stored row; earlier versions do not send it.
    #[serde(default)]
    pub wall_clock_lag_seconds: f64,
    /// Bytes that were written to the WAL and to data files. Absent from older servers and from stores in memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub written: Option<WrittenBytes>,
    /// Bytes of the WAL and of data files. Absent from older servers and from stores in memory, and while the files are not
    /// known: shortly after the start, and while the data is being reopened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stored: Option<StoredBytes>,
    /// The cache of blocks of the database files.
    pub block_cache: BlockCache,
}

/// Bytes that were written to the WAL and to data files.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct WrittenBytes {
    /// Keys and values of the rows of the durable batches.
    pub row_bytes: u64,
    /// Groups of the WAL.
    pub log_bytes: u64,
    /// Files that flushes wrote.
    pub flush_bytes: u64,
    /// Files that compactions wrote.
    pub compaction_bytes: u64,
    /// The written bytes for each byte of the rows, with one decimal; `None` without rows.
    pub amplification: Option<f64>,
}

/// Bytes of the WAL and of data files.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct StoredBytes {
    /// Data files that the ranges read; a file that several ranges share counts once.
    pub live_bytes: u64,
    /// All other data files.
    pub replaced_bytes: u64,
    /// Files of the WAL, also empty ones.
    pub log_bytes: u64,
    /// The sum of the three for each live byte, with one decimal; `None` without live files.
    pub amplification: Option<f64>,
}

/// A file of the store that cannot be read. Requests that need its rows fail.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DamagedFile {
    /// The range that reads it.
    pub range: u64,
    /// Its path in the data directory.
    pub file: String,
    /// What is wrong with it.
    pub problem: String,
    /// When the damage was found, RFC 3339.
    pub since: Option<String>,
    /// Whether the range refuses writes because of it.
    pub blocks_writes: bool,
}

/// The search for damaged files: the server reads all files of the store, slowly, once a day.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScrubStatus {
    /// Bytes that were read.
    pub bytes: u64,
    /// Complete passes.
    pub passes: u64,
    /// When the last complete pass ended, RFC 3339; `None` before the first.
    pub last_pass_at: Option<String>,
    /// Damaged files that the last complete pass found.
    pub damaged: u64,
}

/// A distribution. Percentiles are powers of two; `None` without values.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "mean and percentiles")]
pub struct Percentiles {
    pub mean: f64,
    pub p50: Option<u64>,
    pub p99: Option<u64>,
}

/// The cache of blocks of the database files.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "named as docs/admin-api.md describes them")]
pub struct BlockCache {
    pub hits: u64,
    pub misses: u64,
    pub bytes: u64,
}

/// The cache of entities.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "named as docs/admin-api.md describes them")]
pub struct EntityCache {
    pub hits: u64,
    pub misses: u64,
    pub rows: u64,
    pub bytes: u64,
    pub bytes_max: u64,
}

/// The process.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "named as docs/admin-api.md describes them")]
pub struct ProcessStats {
    pub resident_bytes: u64,
    pub cpu_seconds: f64,
    pub open_files: u64,
}
