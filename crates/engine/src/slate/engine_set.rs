//! The databases of a process: opening, deriving, removing, ending.

use std::sync::Arc;

use async_trait::async_trait;
use futures::future::BoxFuture;
use partita_rt::threads::{Pool, PoolSettings};
use partita_rt::{DataDir, Tasks};
use partita_wal::Resume;

use super::commit::CommitThread;
use super::core::{Core, Slot};
use super::engine::SlateEngine;
use super::home::Home;
use super::open;
use super::wal_adapter::WalAdapter;
use super::{
    ASKED_DEADLINE, FLUSH_DEADLINE, Runtimes, Settings, cloning, close_database, pin, supervisor,
};
use crate::pipeline::Room;
use crate::{
    ChangeError, Engine, EngineSet, FileUse, Health, KeyPart, OpenError, PinId, Pinned, PinnedRows,
    RangeId, Removal, Stats,
};

/// Threads for flushing, compaction and garbage collection. Compressing and merging takes a core for milliseconds at a time, which
/// would hold up every request behind it. Giving way cannot starve a flush for long: writes wait for it once the log is full of
/// unflushed rows.
const BACKGROUND: PoolSettings = PoolSettings {
    name: "partita-store",
    // A flush need not wait for a compaction on the same thread.
    threads: 2,
    // For file operations; a handful are in use at once.
    blocking_threads_max: 16,
};

/// The durable databases of a data directory. To be closed before they are dropped, while their runtime runs.
pub struct SlateEngineSet {
    pub(super) core: Arc<Core>,
    runtimes: Runtimes,
    commits: CommitThread,
    background: Pool,
    room: Arc<Room>,
    tasks: Tasks,
}

impl SlateEngineSet {
    /// Reads the log in `data`; databases are opened one by one.
    ///
    /// # Errors
    /// See [`OpenError`].
    pub fn new(
        data: Arc<DataDir>,
        settings: Settings,
    ) -> BoxFuture<'static, Result<Self, OpenError>> {
        Self::in_home(Home::in_directory(data), settings)
    }

    /// Reads the log of `home`; databases are opened one by one.
    ///
    /// # Errors
    /// See [`OpenError`].
    pub fn in_home(home: Home, settings: Settings) -> BoxFuture<'static, Result<Self, OpenError>> {
        Box::pin(Self::start(home, settings))
    }

    async fn start(home: Home, settings: Settings) -> Result<Self, OpenError> {
        let room = Room::new(settings.in_flight_bytes_max, settings.batch_bytes_max);
        let core = Core::new(home, settings);
        let wal = WalAdapter::open(&core.home, Resume::AfterStop).await?;
        *core.wal.write() = Some(wal);
        let commits = CommitThread::start(Arc::clone(&core))?;
        let background = Pool::start(BACKGROUND)?;
        let runtimes = Runtimes {
            commit: commits.runtime().clone(),
            store: background.handle().clone(),
        };
        let tasks = Tasks::new();
        let supervising = supervisor::run(Arc::clone(&core), runtimes.clone(), tasks.shutdown());
        tasks.spawn("engine supervisor", supervising);
        Ok(Self {
            core,
            runtimes,
            commits,
            background,
            room: Arc::new(room),
            tasks,
        })
    }
}

impl SlateEngineSet {
    /// Does something to databases when it is its turn: not for ever, and not beyond the end, which waits until nobody does. Dropped
    /// in its middle it can be asked for again.
    async fn in_turn<T>(
        &self,
        asked: impl Future<Output = Result<T, ChangeError>> + Send,
    ) -> Result<T, ChangeError> {
        let shutdown = self.tasks.shutdown();
        let in_turn = async {
            let _changing = self.core.change().await;
            asked.await
        };
        tokio::select! {
            biased;
            done = in_time(in_turn) => done,
            () = shutdown.requested() => Err(ChangeError::Unavailable),
        }
    }

    async fn open_in_turn(&self, range: RangeId) -> Result<Arc<dyn Engine>, OpenError> {
        let core = &self.core;
        let _changing = core.change().await;
        let wal = core.wal().ok_or(OpenError::Unavailable)?;
        let _opening = Opening::begin(core, range).ok_or(OpenError::AlreadyOpen(range))?;
        let opened = open::open(core, &self.runtimes, &wal, range, Resume::AfterStop).await?;
        let slot = Slot::new(opened);
        core.slots.write().insert(range, Arc::clone(&slot));
        Ok(Arc::new(SlateEngine::new(
            Arc::clone(core),
            slot,
            Arc::clone(&self.room),
            self.commits.intake(),
        )))
    }
}

/// Waits for what is asked of the store's files, but not for ever: SlateDB tries again without end, on a full disk too, and whoever
/// waits keeps others from changing anything. All that is waited for like this can be asked for again.
pub(super) async fn in_time<T>(
    asked: impl Future<Output = Result<T, ChangeError>> + Send,
) -> Result<T, ChangeError> {
    let answer = tokio::time::timeout(ASKED_DEADLINE, asked).await;
    answer.unwrap_or(Err(ChangeError::Late))
}

/// A range that is being opened, which nobody else opens meanwhile.
struct Opening<'c> {
    core: &'c Core,
    range: RangeId,
}

impl<'c> Opening<'c> {
    /// `None` when it is open, or being opened.
    fn begin(core: &'c Core, range: RangeId) -> Option<Self> {
        let begun = core.slot(range).is_none() && core.opening.lock().insert(range);
        begun.then_some(Self { core, range })
    }
}

impl Drop for Opening<'_> {
    fn drop(&mut self) {
        self.core.opening.lock().remove(&self.range);
    }
}

#[async_trait]
impl EngineSet for SlateEngineSet {
    /// Has no deadline: at a start on a full disk it takes until there is room. It ends with the databases.
    async fn open(&self, range: RangeId) -> Result<Arc<dyn Engine>, OpenError> {
        let shutdown = self.tasks.shutdown();
        tokio::select! {
            biased;
            opened = self.open_in_turn(range) => opened,
            () = shutdown.requested() => Err(OpenError::Unavailable),
        }
    }

    async fn drop_unknown(&self) {
        // Only the turn is not waited for without end: who has it keeps it, or a range opened meanwhile would be taken for another one.
        let turn = in_time(async { Ok(self.core.change_all().await) });
        let Ok(_changing) = turn.await else {
            return tracing::warn!("old records are not given up for now");
        };
        if let Some(wal) = self.core.wal() {
            wal.retain(self.core.slots().iter().map(|slot| slot.range));
        }
    }

    async fn clone_parts(&self, target: RangeId, pieces: &[KeyPart]) -> Result<(), ChangeError> {
        let deriving = Box::pin(cloning::clone_parts(&self.core, target, pieces));
        self.in_turn(deriving).await
    }

    async fn remove(&self, range: RangeId) -> Result<Removal, ChangeError> {
        self.in_turn(cloning::remove(&self.core, range)).await
    }

    async fn removable(&self, ranges: &[RangeId]) -> Result<Vec<RangeId>, ChangeError> {
        in_time(cloning::removable(&self.core, ranges)).await
    }

    async fn list(&self) -> Result<Vec<RangeId>, ChangeError> {
        cloning::list(&self.core).await
    }

    async fn pin(&self, ranges: &[RangeId]) -> Result<Pinned, ChangeError> {
        in_time(pin::pin(&self.core, self.commits.intake(), ranges)).await
    }

    async fn pins(&self, range: RangeId) -> Result<Vec<PinId>, ChangeError> {
        in_time(pin::pins(&self.core, range)).await
    }

    async fn unpin(&self, range: RangeId, pin: &PinId) -> Result<(), ChangeError> {
        self.in_turn(pin::unpin(&self.core, range, pin)).await
    }

    async fn open_pin(
        &self,
        range: RangeId,
        pin: &PinId,
    ) -> Result<Arc<dyn PinnedRows>, ChangeError> {
        in_time(pin::open(&self.core, range, pin)).await
    }

    async fn files(
        &self,
        range: RangeId,
        pin: Option<&PinId>,
    ) -> Result<Vec<FileUse>, ChangeError> {
        in_time(pin::files(&self.core, range, pin)).await
    }

    fn stats(&self) -> Stats {
        let mut stats = self.core.counts.read(self.core.health.get());
        self.core.cache.count_into(&mut stats);
        if let Some(wal) = self.core.wal() {
            stats.log_bytes = wal.live_bytes();
        }
        for opened in self.core.slots().iter().filter_map(|slot| slot.opened()) {
            opened.figures.add_to(&mut stats.figures);
        }
        stats
    }

    fn health(&self) -> Health {
        self.core.health.get()
    }

    async fn close(&self) {
        self.room.close();
        self.commits.drain().await;
        self.core.health.set(Health::Closed);
        // Before the databases are taken away, so that nobody opens them again.
        for name in self.tasks.drain(FLUSH_DEADLINE).await {
            tracing::warn!(name, "a task of the engine did not end");
        }
        {
            let _changing = self.core.change_all().await;
            for slot in self.core.slots() {
                slot.close();
                if let Some(opened) = slot.take() {
                    close_database(&opened).await;
                }
            }
            self.core.slots.write().clear();
            self.core.wal.write().take();
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
