//! Settings of the engine, and SlateDB's settings that follow from them.

use std::time::Duration;

use slatedb::config::{
    CompactionWorkerOptions, CompactorOptions, GarbageCollectorDirectoryOptions,
    GarbageCollectorOptions, GarbageCollectorScheduleOptions, SizeTieredCompactionSchedulerOptions,
};

use crate::pipeline::BATCH_BYTES_MAX;

/// Settings of the durable engine.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Bytes of blocks and metadata in memory, for all databases together.
    pub cache_bytes: u64,
    /// Bytes of batches in flight; further batches wait.
    pub in_flight_bytes_max: u32,
    /// The largest batch in bytes; larger batches are refused. A batch larger than `in_flight_bytes_max` waits until no
    /// other batch is in flight.
    pub batch_bytes_max: usize,
    /// The largest commit group in bytes, unless a single batch is larger.
    pub group_bytes_max: usize,
    /// The age at which replaced manifests are deleted. Data files are deleted at [`Settings::data_age`], removed databases
    /// at three minutes if that is earlier.
    pub garbage_age: Duration,
    /// How often each database looks for replaced files to delete. Each look lists its files, which may cost money. Requests
    /// for garbage collection do not wait for it.
    pub garbage_interval: Duration,
    /// The largest range in bytes that is detached by one compaction, which takes a second or two. A larger range
    /// compacts level 0 first, so that level 0 does not fill up during the compaction.
    pub detach_at_once_bytes: u64,
    /// How often a database looks for files to merge. Each look reads the store, which may cost money.
    pub compaction_poll: Duration,
    /// When the space of deleted and overwritten rows is returned.
    pub space: SpaceSettings,
    /// What reads the files.
    pub reads: Reads,
}

impl Settings {
    /// The age at which replaced data files are deleted. Partita's reader keeps the files that it reads, so they need not
    /// be old. Scans of SlateDB's reader may fail when they take longer than this.
    pub(super) fn data_age(&self) -> Duration {
        match self.reads {
            Reads::Own => self.garbage_age.min(DATA_AGE),
            Reads::SlateDb | Reads::Compared => self.garbage_age,
        }
    }

    /// How old what is known of the writes of other processes may be.
    pub(super) fn foreign_age(&self) -> Duration {
        FOREIGN_AGE.min(self.garbage_age / 4)
    }
}

/// The age at which replaced data files are deleted that no scan reads: time for a task that has just read the manifest.
/// A new file is not deleted before a manifest names it, however old it is, because garbage collection ends at the newest
/// file of the manifest and at the oldest compaction.
const DATA_AGE: Duration = Duration::from_secs(30);

/// What reads the files of the store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reads {
    /// Partita's reader.
    #[default]
    Own,
    /// SlateDB, which is slower: for comparison, and as a way back if Partita's reader has a fault.
    SlateDb,
    /// Both: Partita's reader answers, and a read fails if SlateDB returns other rows. For tests and diagnosis; reads of
    /// pins are not compared.
    Compared,
}

impl Reads {
    /// Whether Partita's reader answers.
    pub(super) fn use_own_reader(self) -> bool {
        matches!(self, Self::Own | Self::Compared)
    }
}

/// When the space of deleted and overwritten rows is returned; [`crate::Engine::reclaim`] checks it.
#[derive(Clone, Debug)]
pub struct SpaceSettings {
    /// A database with a stretch of at least this many deleted rows is compacted. A scan skips as many rows in about 25
    /// ms.
    pub stretch_rows_min: u64,
    /// Databases with fewer bytes than this are not compacted to return unused space.
    pub unused_bytes_min: u64,
    /// A database is at rest when it was not written for this long.
    pub rest: Duration,
}

impl Default for SpaceSettings {
    fn default() -> Self {
        Self {
            stretch_rows_min: 10_000,
            unused_bytes_min: 4 << 20,
            rest: Duration::from_secs(30),
        }
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            cache_bytes: 256 << 20,
            in_flight_bytes_max: 64 << 20,
            batch_bytes_max: BATCH_BYTES_MAX,
            group_bytes_max: 4 << 20,
            garbage_age: Duration::from_secs(300),
            garbage_interval: Duration::from_secs(30),
            detach_at_once_bytes: 128 << 20,
            compaction_poll: Duration::from_secs(1),
            space: SpaceSettings::default(),
            reads: Reads::default(),
        }
    }
}

/// SlateDB flushes the rows in memory to a file of level 0 when they reach this size.
const LEVEL0_BYTES: usize = 32 << 20;

/// Bits of a data file's filter for each of its keys: it is wrong for one absent key in 800.
///
/// A batch of inserts asks the filters of up to 40 files of level 0 and of 16 runs for each of its keys, and each wrong
/// "maybe" costs it a block, some ten microseconds. With ten bits, one key in 120, that was a tenth of the processor under
/// load. Filters stay in memory: 167 MiB for 100 million rows.
pub(super) const FILTER_BITS: u32 = 14;

/// SlateDB's limit on unflushed rows in memory. The limit on the WAL is normally reached earlier.
const UNFLUSHED_BYTES_MAX: usize = 192 << 20;

/// How often a database looks for a newer manifest; more often if the garbage age is short.
const MANIFEST_POLL: Duration = Duration::from_secs(5);

/// How old what is known of the writes of other processes to an open database may be; less if the garbage age is short. Few
/// of the looks above need a request ([`super::polls`]).
const FOREIGN_AGE: Duration = Duration::from_secs(60);

/// The number of level 0 files at which a flush waits for a compaction. At full load four files a second are added, while
/// a compaction takes up to five seconds, with one or two until it begins and until its result is used. Filters let reads
/// skip most of these files.
pub(super) const LEVEL0_COUNT_MAX: usize = 40;

/// The number of level 0 files at which a range with a damaged file refuses writes. Its level 0 may never be compacted,
/// and the files below the maximum are needed to flush the rows in memory.
pub(super) const LEVEL0_COUNT_BLOCKED: usize = LEVEL0_COUNT_MAX - 4;

/// How long a manifest update is retried before the database closes itself. A disk may stay full for days while reads
/// are still served, so this is practically unlimited.
const MANIFEST_TIMEOUT: Duration = Duration::from_secs(30 * 24 * 3600);

/// The number of parallel compaction jobs of a database: a job over gigabytes takes minutes, and level 0 must not fill
/// up in that time.
const COMPACTIONS_MAX: usize = 2;

/// The number of level 0 files, or of sorted runs of similar size, that a compaction merges at least. With three times
/// SlateDB's default each row is merged less often, and reads find up to three times as many runs.
pub(super) const COMPACTION_SOURCES_MIN: usize = 12;

/// The number of runs that a compaction merges at most. With so many runs of similar size, SlateDB compacts level 0 no
/// more, and soon writes wait. So there must be far fewer when their merge begins, because it takes up to a minute.
const COMPACTION_SOURCES_MAX: usize = 32;

/// The number of runs from which on some are merged although rows are written.
pub(super) const RUNS_MAX_WHILE_WRITING: usize = 16;

/// The number of files of level 0 that a compaction merges at most, so that it ends before level 0 is full.
pub(super) const LEVEL0_SOURCES_MAX: usize = 20;

/// The most files of level 0 that the rows of a log become when they are replayed: 160 MiB of them, and as many again as
/// one of a flush that was under way.
const REPLAYED_FILES_MAX: usize = 8;

/// The number of level 0 files at which a flush of a database waits for a compaction. A database that is flushed before it
/// is served, with so many files of level 0 already, does not wait: a failover would take ten seconds longer.
pub(super) fn level0_max(stored: usize, is_flushed_at_open: bool) -> usize {
    match is_flushed_at_open {
        true => LEVEL0_COUNT_MAX.max(stored + REPLAYED_FILES_MAX),
        false => LEVEL0_COUNT_MAX,
    }
}

/// SlateDB's settings for a local directory. The reasons for the numbers are in `docs/format/store.md`.
pub(super) fn slatedb_settings(garbage_age: Duration, level0_max: usize) -> slatedb::Settings {
    slatedb::Settings {
        // The commit loop makes groups durable; a timer would only add latency.
        flush_interval: None,
        // A database must load new manifests before the files that they no longer list are deleted; otherwise reads
        // fail with missing files.
        manifest_poll_interval: MANIFEST_POLL.min(garbage_age / 4),
        manifest_update_timeout: MANIFEST_TIMEOUT,
        l0_sst_size_bytes: LEVEL0_BYTES,
        max_unflushed_bytes: UNFLUSHED_BYTES_MAX,
        l0_max_ssts: level0_max,
        l0_max_ssts_per_key: level0_max,
        l0_flush_parallelism: 1,
        // No data file is compressed. SlateDB 0.18 has one codec for level 0 and for the compactor within a database, which
        // ignores its own. Compressing level 0 takes more than it saves: under load a compaction reads each of its files a
        // few seconds after it was written.
        compression_codec: None,
        // The compactor is configured separately, with [`compaction`].
        compactor_options: None,
        // The garbage collector is configured separately too, in [`super::young_files`].
        garbage_collector_options: None,
        // Background work retries forever, so that a full disk or a short outage does not close the database.
        // Operations with a waiting caller have deadlines. `CheckedStore` ends the retries of permanent errors.
        object_store_max_retries: None,
        ..slatedb::Settings::default()
    }
}

/// How a database merges its files.
pub(super) fn compaction(settings: &Settings) -> CompactorOptions {
    CompactorOptions {
        poll_interval: settings.compaction_poll,
        commit_compacted_interval: Duration::from_secs(1),
        manifest_update_timeout: MANIFEST_TIMEOUT,
        max_concurrent_compactions: COMPACTIONS_MAX,
        checkpoint_lifetime: settings.data_age(),
        scheduler_options: SizeTieredCompactionSchedulerOptions {
            min_compaction_sources: COMPACTION_SOURCES_MIN,
            max_compaction_sources: COMPACTION_SOURCES_MAX,
            ..SizeTieredCompactionSchedulerOptions::default()
        }
        .into(),
        worker: Some(CompactionWorkerOptions {
            max_concurrent_compactions: COMPACTIONS_MAX,
            compactions_poll_interval: settings.compaction_poll,
            max_sst_size: 64 << 20,
            max_fetch_tasks: 1,
            bytes_to_fetch: 1 << 20,
            max_subcompactions: 1,
            ..CompactionWorkerOptions::default()
        }),
        ..CompactorOptions::default()
    }
}

/// How a database collects garbage.
pub(super) fn garbage_collection(settings: &Settings) -> GarbageCollectorOptions {
    let collect = |min_age| GarbageCollectorDirectoryOptions {
        interval: Some(settings.garbage_interval),
        min_age,
        dry_run: false,
    };
    GarbageCollectorOptions {
        manifest_options: Some(collect(settings.garbage_age)),
        // SlateDB collects no garbage of the WAL: Partita's WAL removes its own segments.
        wal_options: None,
        wal_fence_options: None,
        compacted_options: Some(collect(settings.data_age())),
        compactions_options: Some(collect(settings.garbage_age)),
        // Lets a clone detach from its sources once it reads none of their files.
        detach_options: Some(GarbageCollectorScheduleOptions {
            interval: Some(settings.garbage_interval),
        }),
        // A directory does not support conditional overwrites, so if SlateDB used boundary files, garbage collection
        // would never delete a file. [`super::polls`] relies on it.
        boundary_files_enabled: false,
        ..GarbageCollectorOptions::default()
    }
}
