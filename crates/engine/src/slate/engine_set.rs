//! The durable engine set: opening, cloning, removing and closing databases.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use async_trait::async_trait;
use futures::TryFutureExt;
use futures::future::BoxFuture;
use partita_rt::threads::{Pool, PoolSettings};
use partita_rt::{DataDir, Tasks};
use partita_wal::{Resume, SharedLogs};

use super::commit::{CommitThread, RangeIntake};
use super::core::Core;
use super::data_files::count_stored;
use super::database::AbortOnDrop;
use super::home::Home;
use super::stored_bytes::stored_bytes;
use super::wal_adapter::WalAdapter;
use super::{
    FLUSH_DEADLINE, Reads, Runtimes, Settings, admin, cloning, closing, metrics, pin, removal,
    scrub, store_error, stored, supervisor, trash, within_store_deadline,
};
use crate::error::NotShared;
use crate::pipeline::Room;
use crate::{
    ChangeError, DamagedFile, Engine, EngineSet, FileUse, Health, HeldRanges, KeyPart, LogNumber,
    Meter, OpenError, PinId, Pinned, PinnedRows, RangeId, Removal, ScrubPass, Stats, StoredRanges,
    WrittenBytes,
};

/// Threads for flushing, compaction and garbage collection. Compressing and merging takes a core for milliseconds at a
/// time, and would delay requests on the request threads. The lower priority of these threads cannot starve a flush for
/// long: writes wait for the flush when the WAL is full of unflushed rows.
const BACKGROUND: PoolSettings = PoolSettings {
    name: "partita-store",
    // Two threads, so that a flush does not wait for a compaction.
    threads: 2,
    // For file operations; a handful are in use at once.
    blocking_threads_max: 16,
};

/// The durable databases of a [`Home`]. Close it before dropping it, while its runtime runs.
pub struct SlateEngineSet {
    pub(super) core: Arc<Core>,
    pub(super) runtimes: Runtimes,
    pub(super) commits: CommitThread,
    background: Pool,
    pub(super) room: Arc<Room>,
    pub(super) tasks: Tasks,
}

impl SlateEngineSet {
    /// Opens the WAL of a data directory. [`EngineSet::open`] then opens each database.
    ///
    /// # Errors
    /// See [`OpenError`].
    pub fn new(
        data: Arc<DataDir>,
        settings: Settings,
    ) -> BoxFuture<'static, Result<Self, OpenError>> {
        Self::in_home(Home::in_directory(data), settings)
    }

    /// Opens the WAL of `home`; [`EngineSet::open`] opens each database.
    ///
    /// # Errors
    /// See [`OpenError`].
    pub fn in_home(home: Home, settings: Settings) -> BoxFuture<'static, Result<Self, OpenError>> {
        Box::pin(Self::start(home, settings))
    }

    async fn start(home: Home, settings: Settings) -> Result<Self, OpenError> {
        let room = Room::new(settings.in_flight_bytes_max, settings.batch_bytes_max);
        let core = Core::new(home, settings);
        let wal = WalAdapter::open(&core.context.home, Resume::AfterStop).await?;
        *core.wal.write() = Some(wal);
        let commits = CommitThread::start(Arc::clone(&core))?;
        let background = Pool::start(BACKGROUND)?;
        let runtimes = Runtimes {
            commit: commits.thread.runtime().clone(),
            store: background.handle().clone(),
        };
        let tasks = Tasks::new();
        let supervising = supervisor::run(Arc::clone(&core), runtimes.clone(), tasks.shutdown());
        tasks.spawn("engine supervisor", supervising);
        let (files, store) = (&core.context.data_files, &core.context.home.store);
        if core.context.home.shared().is_none() {
            let counting = count_stored(Arc::clone(files), Arc::clone(store), tasks.shutdown());
            tasks.spawn("count of data files", counting);
        }
        Ok(Self {
            core,
            runtimes,
            commits,
            background,
            room: Arc::new(room),
            tasks,
        })
    }

    /// The WALs of all processes.
    ///
    /// # Errors
    /// The store belongs to this process alone.
    fn shared(&self) -> Result<&dyn SharedLogs, ChangeError> {
        let shared = self.core.context.home.shared();
        shared.ok_or_else(|| store_error(NotShared))
    }

    /// Changes a database under the change lock, with a deadline. Fails after the close, which waits for all changes.
    /// An interrupted change can be called again.
    async fn with_change_lock<T>(
        &self,
        change: impl Future<Output = Result<T, ChangeError>> + Send,
    ) -> Result<T, ChangeError> {
        let shutdown = self.tasks.shutdown();
        let locked = async {
            let _change = self.core.lock_change().await;
            change.await
        };
        tokio::select! {
            biased;
            done = within_store_deadline(locked) => done,
            () = shutdown.requested() => Err(ChangeError::Unavailable),
        }
    }
}

#[async_trait]
impl EngineSet for SlateEngineSet {
    /// Has no deadline: on a full disk it waits until there is space. Ends when the engine set closes.
    async fn open(&self, range: RangeId) -> Result<Arc<dyn Engine>, OpenError> {
        self.until_close(self.open_range(range)).await
    }

    fn log(&self) -> Option<LogNumber> {
        self.core.context.home.shared()?.log()
    }

    async fn renew_log(&self) -> Result<(), ChangeError> {
        self.shared()?;
        let renewing = async {
            let _changes = self.core.lock_all_changes().await;
            if let Some(open) = self.core.open_ranges().first() {
                return Err(ChangeError::State(open.range));
            }
            let old = self.core.wal().ok_or(ChangeError::Unavailable)?;
            let storage = &self.core.context.home.wal;
            let wal = storage.begin_another().await.map_err(store_error)?;
            old.wal.poison();
            *self.core.wal.write() = Some(WalAdapter::new(wal));
            Ok(())
        };
        within_store_deadline(renewing).await
    }

    async fn uncollected_logs(&self) -> Result<Vec<LogNumber>, ChangeError> {
        let shared = self.shared()?;
        within_store_deadline(shared.uncollected().map_err(store_error)).await
    }

    /// Has no deadline, like an open. Ends when the engine set closes. After a cancel the database may work in the
    /// background until its next owner opens it.
    async fn take_over(
        &self,
        range: RangeId,
        logs: &[LogNumber],
        is_assigned: BoxFuture<'_, bool>,
    ) -> Result<Arc<dyn Engine>, OpenError> {
        let opening = self.take_over_range(range, logs, is_assigned);
        self.until_close(opening).await
    }

    /// Not cancel safe: after a cancel the range is closed as after an error.
    async fn hand_over(&self, range: RangeId) -> Result<(), ChangeError> {
        self.shared()?;
        let open = self.core.open_range(range);
        let open = open.ok_or(ChangeError::State(range))?;
        if !open.close() {
            return Err(ChangeError::State(range));
        }
        let intake = RangeIntake::new(Arc::clone(&self.commits.queue), Arc::clone(&open));
        closing::hand_over_range(&self.core, &self.tasks, &open, &intake).await?;
        self.core.context.known.lock().remove(&range);
        Ok(())
    }

    async fn seal_logs(&self, logs: &[LogNumber]) -> Result<(), ChangeError> {
        let shared = self.shared()?;
        within_store_deadline(shared.seal(logs).map_err(store_error)).await
    }

    async fn collect_logs(&self, logs: &[LogNumber]) -> Result<(), ChangeError> {
        let shared = self.shared()?;
        within_store_deadline(shared.collect(logs).map_err(store_error)).await
    }

    async fn drop_unknown(&self) {
        if self.core.context.home.shared().is_some() {
            return;
        }
        // Only the wait for the lock has a deadline. The lock blocks opens: a range that is opened at the same time
        // must not count as unknown.
        let lock = within_store_deadline(async { Ok(self.core.lock_all_changes().await) });
        let Ok(_changes) = lock.await else {
            return tracing::warn!("timed out before releasing WAL records of unknown ranges");
        };
        if let Some(wal) = self.core.wal() {
            wal.retain(self.core.open_ranges().iter().map(|open| open.range));
        }
    }

    async fn clone_parts(&self, target: RangeId, parts: &[KeyPart]) -> Result<(), ChangeError> {
        let cloning = Box::pin(cloning::clone_parts(&self.core, target, parts));
        self.with_change_lock(cloning).await
    }

    async fn remove(&self, range: RangeId) -> Result<Removal, ChangeError> {
        let removing = removal::remove(&self.core, range);
        self.with_change_lock(removing).await
    }

    async fn removable(&self, ranges: &[RangeId]) -> Result<Vec<RangeId>, ChangeError> {
        within_store_deadline(removal::removable(&self.core, ranges)).await
    }

    async fn sweep_trash(&self) -> Result<(), ChangeError> {
        self.with_change_lock(trash::sweep(&self.core)).await
    }

    async fn stored(&self) -> Result<StoredRanges, ChangeError> {
        within_store_deadline(stored::read(&self.core)).await
    }

    async fn list(&self) -> Result<Vec<RangeId>, ChangeError> {
        admin::list(&self.core.context.home.store).await
    }

    async fn pin(&self, ranges: &[RangeId]) -> Result<Pinned, ChangeError> {
        within_store_deadline(pin::pin(&self.core, &self.commits.queue, ranges)).await
    }

    async fn hold(
        &self,
        ranges: &[RangeId],
        limit: Duration,
    ) -> Result<Box<dyn HeldRanges>, ChangeError> {
        let holding = pin::hold(&self.core, &self.commits.queue, ranges, limit);
        within_store_deadline(holding).await
    }

    async fn pins(&self, range: RangeId) -> Result<Vec<PinId>, ChangeError> {
        within_store_deadline(pin::pins(&self.core, range)).await
    }

    async fn unpin(&self, range: RangeId, pin: &PinId) -> Result<(), ChangeError> {
        self.with_change_lock(pin::unpin(&self.core, range, pin))
            .await
    }

    async fn open_pin(
        &self,
        range: RangeId,
        pin: &PinId,
    ) -> Result<Arc<dyn PinnedRows>, ChangeError> {
        within_store_deadline(pin::open(&self.core, range, pin)).await
    }

    async fn files(
        &self,
        range: RangeId,
        pin: Option<&PinId>,
    ) -> Result<Vec<FileUse>, ChangeError> {
        within_store_deadline(pin::files(&self.core, range, pin)).await
    }

    fn newest_row_time(&self) -> SystemTime {
        self.core.context.clock.time()
    }

    fn pass_time(&self, time: SystemTime) {
        let since_1970 = time.duration_since(SystemTime::UNIX_EPOCH);
        let millis = since_1970.unwrap_or_default().as_millis();
        let clock = &self.core.context.clock;
        clock.pass(i64::try_from(millis).unwrap_or(i64::MAX));
    }

    fn wall_clock_lag(&self) -> Duration {
        self.core.context.clock.lead()
    }

    fn stats(&self) -> Stats {
        let mut stats = self.core.counts.read(self.core.health.get());
        self.core.context.cache.count_into(&mut stats);
        self.core.context.read_cache.count_into(&mut stats);
        let disk_cache = self.core.context.home.disk_cache.as_ref();
        stats.disk_cache = disk_cache.map(|cache| cache.stats());
        if let Some(wal) = self.core.wal() {
            stats.log_bytes = wal.wal.live_bytes();
        }
        stats.written = Some(WrittenBytes {
            log: self.core.context.home.wal.written_bytes(),
            flushes: self.core.context.data_files.flushed_bytes(),
            compactions: self.core.context.data_files.compacted_bytes(),
        });
        stats.stored = stored_bytes(&self.core);
        for database in self.core.databases() {
            metrics::add_to(&database.metrics, &mut stats.metrics);
        }
        stats
            .metrics
            .extend(self.core.context.space_counts.metrics());
        if self.core.context.settings.reads == Reads::Compared {
            stats
                .metrics
                .extend(self.core.context.comparisons.metrics());
        }
        stats
    }

    fn health(&self) -> Health {
        self.core.health.get()
    }

    async fn fenced(&self) -> Arc<str> {
        let mut fenced = self.core.fenced.subscribe();
        let by = fenced.wait_for(Option::is_some).await;
        let by = by.ok().and_then(|by| by.clone());
        by.expect("the sender lives as long as the engine set")
    }

    fn damaged_files(&self) -> Vec<DamagedFile> {
        let refuses = |range| {
            self.core
                .open_range(range)
                .is_some_and(|it| it.is_blocked())
        };
        self.core.context.damage.list(refuses)
    }

    /// Runs on the background threads: computing a checksum over 1 MiB would delay requests.
    async fn scrub(&self, meter: Arc<dyn Meter>) -> ScrubPass {
        let scrubbing = scrub::run(Arc::clone(&self.core), meter);
        let mut running = AbortOnDrop(self.runtimes.store.spawn(scrubbing));
        (&mut running.0).await.unwrap_or_default()
    }

    async fn close(&self) {
        self.room.close();
        self.commits.drain().await;
        self.core.health.set(Health::Closed);
        // The supervisor ends first, so that it does not reopen the databases.
        for name in self.tasks.drain(FLUSH_DEADLINE).await {
            tracing::warn!(name, "a task of the engine did not end in time");
        }
        {
            let _changes = self.core.lock_all_changes().await;
            for open in self.core.open_ranges() {
                open.close();
                if let Some(database) = open.take_database() {
                    database.close().await;
                }
            }
            self.core.open_ranges.write().clear();
            let wal = self.core.wal.write().take();
            if let Some(wal) = wal
                && let Err(error) = wal.wal.record_end().await
            {
                tracing::warn!(%error, "failed to record how far the WAL was written");
            }
        }
        self.commits.stop().await;
        self.background.stop();
    }
}

impl Drop for SlateEngineSet {
    fn drop(&mut self) {
        self.room.close();
        self.tasks.shut_down();
    }
}
