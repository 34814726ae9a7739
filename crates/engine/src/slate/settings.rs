//! Settings of the engine, and SlateDB's settings that follow from them.

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
    /// Bytes of blocks and metadata in memory, for all databases together.
    pub cache_bytes: u64,
    /// Bytes of batches in flight; more wait.
    pub in_flight_bytes_max: u32,
    /// Bytes of one batch; a larger one is refused. A batch that is larger than `in_flight_bytes_max` goes alone.
    pub batch_bytes_max: usize,
    /// Bytes of one commit group, unless a single batch is larger.
    pub group_bytes_max: usize,
    /// How long garbage files are kept for scans that began before they were garbage. A scan that takes longer may fail.
    pub garbage_age: Duration,
    /// Bytes up to which a range is detached in one compaction, of a second or two. In a larger one level 0 goes first, so that it does
    /// not fill up meanwhile.
    pub detach_at_once_bytes: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            cache_bytes: 256 << 20,
            in_flight_bytes_max: 64 << 20,
            batch_bytes_max: BATCH_BYTES_MAX,
            group_bytes_max: 4 << 20,
            garbage_age: Duration::from_secs(300),
            detach_at_once_bytes: 128 << 20,
        }
    }
}

/// Rows in memory are flushed to a file of this size.
const LEVEL0_BYTES: usize = 32 << 20;

/// Rows in memory that are not flushed yet. The bound on the WAL comes first; this one is SlateDB's.
const UNFLUSHED_BYTES_MAX: usize = 192 << 20;

const MANIFEST_POLL: Duration = Duration::from_secs(5);

/// Files of level 0 before a flush waits for a compaction. A burst of writes makes two a second while a compaction takes some
/// seconds; filters keep reads out of most of them.
const LEVEL0_COUNT_MAX: usize = 20;

/// How long a manifest update is retried before the database closes itself. A disk may stay full for days while reads go on, so it is
/// practically for ever.
const MANIFEST_TIMEOUT: Duration = Duration::from_secs(30 * 24 * 3600);

/// Compaction jobs of a database at a time: one over gigabytes takes minutes, and level 0 must not fill up meanwhile.
const COMPACTIONS_MAX: usize = 2;

/// SlateDB's settings for a local directory. The reasons for the numbers are in `docs/format/store.md`.
pub(super) fn slatedb_settings(garbage_age: Duration) -> slatedb::Settings {
    slatedb::Settings {
        // The commit loop makes groups durable; a timer would only add latency.
        flush_interval: None,
        // A database must see a manifest that is younger than the collected files, or a read looks for files that are gone.
        manifest_poll_interval: MANIFEST_POLL.min(garbage_age / 4),
        manifest_update_timeout: MANIFEST_TIMEOUT,
        l0_sst_size_bytes: LEVEL0_BYTES,
        max_unflushed_bytes: UNFLUSHED_BYTES_MAX,
        l0_max_ssts: LEVEL0_COUNT_MAX,
        l0_max_ssts_per_key: LEVEL0_COUNT_MAX,
        l0_flush_parallelism: 1,
        compression_codec: Some(CompressionCodec::Lz4),
        // The compactor is configured separately, with [`compaction`].
        compactor_options: None,
        garbage_collector_options: Some(garbage_collection(garbage_age)),
        // Background work retries without end, so that a full disk or a short outage does not close the database. Operations that
        // callers wait for have deadlines of their own.
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

/// How a database collects garbage.
pub(super) fn garbage_collection(age: Duration) -> GarbageCollectorOptions {
    GarbageCollectorOptions {
        manifest_options: Some(collect(age)),
        // Our own WAL removes its segments.
        wal_options: None,
        wal_fence_options: None,
        compacted_options: Some(collect(age)),
        compactions_options: Some(collect(age)),
        // A clone detaches from its sources once it reads none of their files.
        detach_options: Some(GarbageCollectorScheduleOptions {
            interval: Some(GARBAGE_INTERVAL),
        }),
        // A directory has no conditional overwrites; with boundary files nothing would ever be deleted.
        boundary_files_enabled: false,
        ..GarbageCollectorOptions::default()
    }
}

/// How often each database collects garbage.
const GARBAGE_INTERVAL: Duration = Duration::from_secs(60);

fn collect(age: Duration) -> GarbageCollectorDirectoryOptions {
    GarbageCollectorDirectoryOptions {
        interval: Some(GARBAGE_INTERVAL),
        min_age: age,
        dry_run: false,
    }
}
