//! What can be set, and what is fixed for everybody.

use std::collections::HashMap;
use std::time::Duration;

use slatedb::config::{
    CompactionWorkerOptions, CompactorOptions, CompressionCodec, GarbageCollectorDirectoryOptions,
    GarbageCollectorOptions, GarbageCollectorScheduleOptions,
};

use crate::pipeline::BATCH_BYTES_MAX;

/// Settings of the durable engine.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Bytes of blocks and metadata kept in memory, for all databases of the process together.
    pub cache_bytes: u64,
    /// Bytes of batches in flight; more wait.
    pub in_flight_bytes_max: u32,
    /// Bytes of one batch; a larger one is refused. One that is larger than what may be in flight goes alone.
    pub batch_bytes_max: usize,
    /// Bytes of one commit group, unless a single batch is larger.
    pub group_bytes_max: usize,
    /// How long files that nobody needs any more are kept, for scans that began when they were needed. A scan that takes longer
    /// may fail.
    pub garbage_age: Duration,
    /// Bytes up to which a range rewrites the files it shares in one job, a second or two. Above it level 0 goes first, so that it does not
    /// fill up meanwhile.
    pub rewritten_at_once_bytes: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            cache_bytes: 256 << 20,
            in_flight_bytes_max: 64 << 20,
            batch_bytes_max: BATCH_BYTES_MAX,
            group_bytes_max: 4 << 20,
            garbage_age: Duration::from_secs(300),
            rewritten_at_once_bytes: 128 << 20,
        }
    }
}

/// Rows that wait in memory to be flushed are written to a file of this size.
const LEVEL0_BYTES: usize = 32 << 20;

/// Rows in memory that are not flushed yet. Our own bound on the log comes first; this one is SlateDB's.
const UNFLUSHED_BYTES_MAX: usize = 192 << 20;

const MANIFEST_POLL: Duration = Duration::from_secs(5);

/// Files of level 0 before a flush waits for a compaction. A burst of writes makes two a second while a compaction takes a
/// few; the filters keep a read from looking into most of them.
const LEVEL0_COUNT_MAX: usize = 20;

/// For how long an update of the manifest is tried before the database gives up and closes itself. A full disk may stay full
/// for days, and reads go on meanwhile, so: practically for ever.
const MANIFEST_TIMEOUT: Duration = Duration::from_secs(30 * 24 * 3600);

/// Jobs of a database's compactor at a time: one may be over gigabytes and take minutes, and level 0 must not fill up meanwhile.
const COMPACTIONS_MAX: usize = 2;

/// SlateDB's settings for a local directory. The reasons for the numbers are in `docs/format/store.md`.
pub(super) fn slatedb_settings(garbage_age: Duration) -> slatedb::Settings {
    slatedb::Settings {
        // Groups are made durable by the commit loop; a ticker would only add latency.
        flush_interval: None,
        // What a database sees must be younger than what is collected, or a read looks for files that are gone.
        manifest_poll_interval: MANIFEST_POLL.min(garbage_age / 4),
        manifest_update_timeout: MANIFEST_TIMEOUT,
        l0_sst_size_bytes: LEVEL0_BYTES,
        max_unflushed_bytes: UNFLUSHED_BYTES_MAX,
        l0_max_ssts: LEVEL0_COUNT_MAX,
        l0_max_ssts_per_key: LEVEL0_COUNT_MAX,
        l0_flush_parallelism: 1,
        compression_codec: Some(CompressionCodec::Lz4),
        // The compactor is given apart, with [`compaction`].
        compactor_options: None,
        garbage_collector_options: Some(garbage_collection(garbage_age)),
        // Background work retries without end, so that a full disk or a hiccup does not close the database. What a caller
        // waits for has deadlines of its own.
        object_store_max_retries: None,
        ..slatedb::Settings::default()
    }
}

/// How a database merges its files.
pub(super) fn compaction(garbage_age: Duration) -> CompactorOptions {
    CompactorOptions {
        poll_interval: Duration::from_secs(1),
        commit_compacted_interval: Duration::from_secs(1),
        manifest_update_timeout: MANIFEST_TIMEOUT,
        max_concurrent_compactions: COMPACTIONS_MAX,
        checkpoint_lifetime: garbage_age,
        scheduler_options: HashMap::new(),
        worker: Some(CompactionWorkerOptions {
            max_concurrent_compactions: COMPACTIONS_MAX,
            compactions_poll_interval: Duration::from_secs(1),
            max_sst_size: 64 << 20,
            max_fetch_tasks: 1,
            bytes_to_fetch: 1 << 20,
            max_subcompactions: 1,
            compression_codec: Some(CompressionCodec::Lz4),
            ..CompactionWorkerOptions::default()
        }),
        ..CompactorOptions::default()
    }
}

/// What a database does with files that nobody needs any more.
pub(super) fn garbage_collection(age: Duration) -> GarbageCollectorOptions {
    GarbageCollectorOptions {
        manifest_options: Some(collect(age)),
        // The supervisor gives up segments of our own log.
        wal_options: None,
        wal_fence_options: None,
        compacted_options: Some(collect(age)),
        compactions_options: Some(collect(age)),
        // A derived database lets go of its sources once it has rewritten what it saw of them.
        detach_options: Some(GarbageCollectorScheduleOptions {
            interval: Some(GARBAGE_INTERVAL),
        }),
        // Conditional overwrites do not exist on a directory; with boundary files nothing would ever be deleted.
        boundary_files_enabled: false,
        ..GarbageCollectorOptions::default()
    }
}

/// How often each database looks for them.
const GARBAGE_INTERVAL: Duration = Duration::from_secs(60);

fn collect(age: Duration) -> GarbageCollectorDirectoryOptions {
    GarbageCollectorDirectoryOptions {
        interval: Some(GARBAGE_INTERVAL),
        min_age: age,
        dry_run: false,
    }
}
