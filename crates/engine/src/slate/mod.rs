//! The durable engine: rows in SlateDB over the data directory.
//!
//! ```text
//!  callers ──submit──▶ queue ──▶ commit loop ──one batch──▶ SlateDB writer ──▶ log: one write, one sync
//!                                (own thread)                      └──▶ memtable ──▶ level 0 ──▶ sorted runs
//! ```
//!
//! What it promises beyond [`Engine`]:
//! - All batches that wait go into one group: one SlateDB batch, one record of the log, one sync. A caller alone pays one
//!   sync; many callers share it.
//! - The commit loop and SlateDB's writer task have a thread of their own: no request waits for another one's sync on the
//!   threads that serve requests, and no group hops between threads.
//! - Reads ask SlateDB for durable rows only, and give up after [`READ_DEADLINE`].
//! - Memory is bounded: batches in flight, rows not yet flushed, and one cache for all blocks and metadata ([`Settings`]).
//! - When a write of the log or the database fails, everything in flight is answered `Unknown`, and the supervisor closes the
//!   database and opens it anew, from what the disk really holds. Until then reads and writes are refused.
//!
//! It leaves to the callers: locks on what they change, and the meaning of keys.

mod background;
mod cache;
mod commit;
mod figures;
mod journal;
mod open;
mod scan;
mod settings;
mod supervisor;

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use parking_lot::RwLock;
use partita_rt::{DataDir, Tasks};
use slatedb::config::{CloseOptions, DurabilityLevel, ReadOptions};
use slatedb::{Db, ErrorKind};
use tokio::runtime::Handle;
use tokio::sync::Notify;

use crate::health::HealthCell;
use crate::log::{Disk, LogOptions, OsDisk, Resume};
use crate::pipeline::Room;
use crate::stats::CommitCounts;
use crate::{
    Engine, Health, KeyRange, OpenError, Permit, ReadError, Refusal, Scan, ScanHint, Stats,
    WriteError,
};
use background::Background;
use cache::BlockCache;
use commit::CommitThread;
use figures::Figures;
use journal::Journal;
pub use settings::Settings;

/// How long a read waits for the store before it is given up.
pub const READ_DEADLINE: Duration = Duration::from_secs(10);

/// How long a flush or the end waits for the store to take what is in memory. Nothing is lost when it takes longer: the log
/// has it.
const FLUSH_DEADLINE: Duration = Duration::from_secs(10);

/// The durable engine. To be closed before it is dropped, while its runtime runs.
pub struct SlateEngine {
    core: Arc<Core>,
    commits: CommitThread,
    background: Background,
    room: Room,
    tasks: Tasks,
    reads: ReadOptions,
}

/// What the engine, its commit loop and its supervisor share.
struct Core {
    data: Arc<DataDir>,
    settings: Settings,
    cache: Arc<BlockCache>,
    disk: Arc<dyn Disk>,
    log_options: LogOptions,
    health: HealthCell,
    counts: CommitCounts,
    /// The database as it is now; nothing while it is being opened anew, and after the end.
    current: RwLock<Option<Arc<Opened>>>,
    /// Wakes the supervisor: the database failed.
    failed: Notify,
}

/// Where the work of a database runs.
struct Runtimes {
    /// The commit thread: SlateDB's writer task.
    commit: Handle,
    /// The background threads: everything else that SlateDB does of itself.
    store: Handle,
}

/// An open database with its log.
struct Opened {
    db: Db,
    journal: Journal,
    figures: Figures,
}

impl SlateEngine {
    /// Opens the rows in `data`, replaying what the log holds beyond the store's files.
    ///
    /// # Errors
    /// See [`OpenError`].
    pub async fn open(data: Arc<DataDir>, settings: Settings) -> Result<Self, OpenError> {
        Self::open_on(Arc::new(OsDisk), open::LOG_OPTIONS, data, settings).await
    }

    /// Opens the rows with a log laid out like this, on this disk.
    async fn open_on(
        disk: Arc<dyn Disk>,
        log_options: LogOptions,
        data: Arc<DataDir>,
        settings: Settings,
    ) -> Result<Self, OpenError> {
        let room = Room::new(settings.in_flight_bytes_max, settings.batch_bytes_max);
        let core = Arc::new(Core {
            data,
            cache: Arc::new(BlockCache::new(settings.cache_bytes)),
            settings,
            disk,
            log_options,
            health: HealthCell::default(),
            counts: CommitCounts::default(),
            current: RwLock::new(None),
            failed: Notify::new(),
        });
        let commits = CommitThread::start(Arc::clone(&core))?;
        let background = Background::start()?;
        let runtimes = Runtimes {
            commit: commits.runtime().clone(),
            store: background.handle().clone(),
        };
        let opened = open::open(&core, &runtimes, Resume::Behind).await?;
        *core.current.write() = Some(Arc::new(opened));
        let tasks = Tasks::new();
        tasks.spawn(
            "engine supervisor",
            supervisor::run(Arc::clone(&core), runtimes, tasks.shutdown()),
        );
        let reads = ReadOptions::default().with_durability_filter(DurabilityLevel::Remote);
        Ok(Self {
            core,
            commits,
            background,
            room,
            tasks,
            reads,
        })
    }
}

impl Core {
    fn opened(&self) -> Option<Arc<Opened>> {
        self.current.read().clone()
    }

    /// The database to read from.
    fn readable(&self) -> Result<Arc<Opened>, ReadError> {
        self.opened().ok_or_else(|| match self.health.get() {
            Health::Closed => ReadError::Closed,
            _ => ReadError::Unavailable("the data is being opened".into()),
        })
    }

    /// Notes that the database cannot be used any more, and wakes the supervisor.
    fn fail(&self) {
        self.health.set(Health::Recovering);
        self.failed.notify_one();
    }
}

/// Waits for a read, but not for ever: the store retries without end, whoever waits for it does not. The timer is set only
/// when the read does not answer at once.
async fn within_deadline<T>(
    read: impl Future<Output = Result<T, slatedb::Error>> + Send,
) -> Result<T, ReadError> {
    match tokio::time::timeout(READ_DEADLINE, read).await {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(error)) => Err(read_error(error)),
        Err(_elapsed) => Err(ReadError::Unavailable(
            "the store did not answer in time".into(),
        )),
    }
}

fn read_error(error: slatedb::Error) -> ReadError {
    match error.kind() {
        ErrorKind::Data => ReadError::Corrupt(Arc::new(error)),
        ErrorKind::Closed(_) | ErrorKind::Unavailable => {
            ReadError::Unavailable(error.to_string().into())
        }
        // The rest cannot be caused by a read: it is our mistake or SlateDB's, and nothing a caller could mend.
        _ => ReadError::Corrupt(Arc::new(error)),
    }
}

#[async_trait]
impl Engine for SlateEngine {
    async fn reserve(&self, bytes: usize) -> Result<Permit, WriteError> {
        if let Some(refusal) = self.core.health.get().refusal() {
            return Err(refusal.into());
        }
        self.room.reserve(bytes, self.commits.intake()).await
    }

    async fn get(&self, key: &[u8]) -> Result<Option<Bytes>, ReadError> {
        let opened = self.core.readable()?;
        within_deadline(opened.db.get_with_options(key, &self.reads)).await
    }

    async fn scan(&self, range: KeyRange, hint: ScanHint) -> Result<Box<dyn Scan>, ReadError> {
        let opened = self.core.readable()?;
        scan::start(&opened.db, range, hint).await
    }

    fn stats(&self) -> Stats {
        let mut stats = self.core.counts.read(self.core.health.get());
        self.core.cache.count_into(&mut stats);
        if let Some(opened) = self.core.opened() {
            stats.log_bytes = opened.journal.live_bytes();
            stats.figures = opened.figures.read();
        }
        stats
    }

    fn health(&self) -> Health {
        self.core.health.get()
    }

    async fn flush(&self) -> Result<(), WriteError> {
        let Some(opened) = self.core.opened() else {
            return Err(self
                .core
                .health
                .get()
                .refusal()
                .unwrap_or(Refusal::Recovering)
                .into());
        };
        match tokio::time::timeout(FLUSH_DEADLINE, opened.flush()).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) => {
                tracing::warn!(%error, "a flush failed");
                Err(Refusal::Recovering.into())
            }
            Err(_elapsed) => Err(Refusal::Busy.into()),
        }
    }

    async fn close(&self) {
        self.room.close();
        self.commits.drain().await;
        self.core.health.set(Health::Closed);
        // Before the database is taken away, so that nobody opens it again.
        for name in self.tasks.drain(FLUSH_DEADLINE).await {
            tracing::warn!(name, "a task of the engine did not end");
        }
        let opened = self.core.current.write().take();
        if let Some(opened) = opened {
            close_database(&opened).await;
        }
        self.commits.stop().await;
        self.background.stop();
    }
}

impl Drop for SlateEngine {
    fn drop(&mut self) {
        self.room.close();
        self.tasks.shut_down();
    }
}

/// Closes the database. What is only in the log stays there: replaying it is quicker than keeping an operator waiting.
async fn close_database(opened: &Opened) {
    let options = CloseOptions::default().with_flush_type(None);
    match tokio::time::timeout(FLUSH_DEADLINE, opened.db.close_with_options(options)).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => tracing::warn!(%error, "the database did not close cleanly"),
        Err(_elapsed) => tracing::warn!("the database did not close in time"),
    }
}

#[cfg(test)]
mod tests;
