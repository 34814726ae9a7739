//! The WAL of one process of a cluster, in an object store that several processes use at the same time.
//!
//! Each process has a log of its own, for the ranges that it serves. A range moves between processes, and with it what
//! its next owner must read: the log of a process that handed the range over is not needed; the log of a process that
//! died with unflushed records is sealed and read by the next owner. The callers decide which process serves a range, and
//! know which logs a range needs.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use futures::FutureExt;
use futures::future::BoxFuture;
use futures::stream::{self, StreamExt, TryStreamExt};
use object_store::ObjectStore;
use parking_lot::Mutex;
use partita_rt::Clock;

use super::logs::RemoteLogs;
use super::read_logs::ReadLogs;
use super::remote_wal::{Found, Shared};
use super::segments::Segments;
use super::{Life, Options, collector, records_by_range, sealer};
use crate::{OpenWalError, RangeId, Record, Resume, SharedLogs, Wal, WalStorage};

/// How many logs one call reads at the same time. Each is read with many requests at once.
const LOGS_AT_ONCE: usize = 4;

/// The WAL of one process of a cluster.
///
/// It is opened once, which begins a log and inherits nothing. After a failure it does not open again: other processes
/// take over the ranges, and the process is started again. A process without ranges can begin another log.
pub struct SharedStorage {
    logs: RemoteLogs,
    options: Options,
    clock: Arc<dyn Clock>,
    own: Mutex<Option<Life>>,
    others: ReadLogs,
    shared: Arc<Shared>,
}

impl SharedStorage {
    /// The WAL below `log/` of `store`. The clock decides when old seals are deleted.
    #[must_use]
    pub fn new(store: Arc<dyn ObjectStore>, clock: Arc<dyn Clock>, options: Options) -> Self {
        Self {
            logs: RemoteLogs::new(store, options),
            options,
            clock,
            own: Mutex::default(),
            others: ReadLogs::default(),
            shared: Arc::default(),
        }
    }

    async fn read(&self, range: RangeId, logs: &[Life]) -> Result<VecDeque<Record>, OpenWalError> {
        let own = self.log();
        let note = own.map_or_else(String::new, |own| {
            format!("life {own}, which takes over its ranges")
        });
        let mut logs = logs.to_vec();
        logs.sort_unstable();
        logs.dedup();
        logs.retain(|life| Some(*life) != own);
        let reading = stream::iter(logs)
            .map(|life| self.others.records(&self.logs, (life, range), &note))
            .buffered(LOGS_AT_ONCE);
        let records: Vec<Vec<(Life, Record)>> = reading.try_collect().await?;
        records_by_range::in_order(records.into_iter().flatten().collect())
    }

    async fn collect_others(&self, logs: &[Life]) -> Result<(), OpenWalError> {
        for life in self.seal_others(logs).await? {
            collector::collect(&self.logs.requests, life).await?;
        }
        Ok(())
    }

    /// Seals the logs of others that were not collected, and returns these.
    async fn seal_others(&self, logs: &[Life]) -> Result<Vec<Life>, OpenWalError> {
        let own = self.log();
        let mut sealed = Vec::new();
        for life in logs.iter().copied().filter(|life| Some(*life) != own) {
            let listing = sealer::list(&self.logs.requests, life).await?;
            let is_done = listing.is_collected && listing.groups().next().is_none();
            if listing.has_objects() && !is_done {
                let note = "a server that collects the log";
                sealer::seal_listed(&self.logs.requests, life, note, listing).await?;
                sealed.push(life);
            }
        }
        Ok(sealed)
    }

    /// Begins the log. Logs that were collected long ago are deleted by its maintenance. Only lower ones: the greatest
    /// number in the store must stay, so that no number is used twice.
    async fn begin(&self) -> Result<Arc<dyn Wal>, OpenWalError> {
        let own = self.logs.begin_next().await?;
        *self.own.lock() = Some(own);
        let now = self.clock.now();
        let earlier = self.logs.list().await?.into_iter();
        let expired =
            earlier.filter(|(life, listing)| *life < own && collector::is_expired(listing, now));
        let mut found = Found::default();
        found.old.expired = expired.map(|(life, _)| life).collect();
        let segments = Segments::new(self.options, own, 0);
        let shared = Arc::clone(&self.shared);
        Ok(self.logs.wal(own, segments, found, shared))
    }

    /// Why the log of this process, `own`, takes no more groups.
    async fn end_of(&self, own: Life) -> OpenWalError {
        let log = format!("the log of life {own}");
        match sealer::note_of_seal(&self.logs.requests, own).await {
            Ok(Some(note)) => OpenWalError::Fenced { log, note },
            Ok(None) => OpenWalError::Ended { log },
            Err(error) => error,
        }
    }
}

impl WalStorage for SharedStorage {
    /// Costs two lists of all logs and a PUT. A second call fails: with [`OpenWalError::Fenced`] if another process has
    /// taken over the log, or with [`OpenWalError::Ended`].
    fn open(&self, _resume: Resume) -> BoxFuture<'_, Result<Arc<dyn Wal>, OpenWalError>> {
        async {
            match self.log() {
                Some(own) => Err(self.end_of(own).await),
                None => self.begin().await,
            }
        }
        .boxed()
    }

    fn begin_another(&self) -> BoxFuture<'_, Result<Arc<dyn Wal>, OpenWalError>> {
        self.begin().boxed()
    }

    fn written_bytes(&self) -> u64 {
        self.shared.written_bytes.load(Ordering::Relaxed)
    }

    fn shared_logs(&self) -> Option<&dyn SharedLogs> {
        Some(self)
    }
}

impl SharedLogs for SharedStorage {
    fn log(&self) -> Option<Life> {
        *self.own.lock()
    }

    fn uncollected(&self) -> BoxFuture<'_, Result<Vec<Life>, OpenWalError>> {
        self.logs.uncollected().boxed()
    }

    fn records_of<'s>(
        &'s self,
        range: RangeId,
        logs: &'s [Life],
    ) -> BoxFuture<'s, Result<VecDeque<Record>, OpenWalError>> {
        self.read(range, logs).boxed()
    }

    fn forget_unused(&self) {
        self.others.forget_unused();
    }

    fn seal<'s>(&'s self, logs: &'s [Life]) -> BoxFuture<'s, Result<(), OpenWalError>> {
        async { self.seal_others(logs).await.map(drop) }.boxed()
    }

    fn collect<'s>(&'s self, logs: &'s [Life]) -> BoxFuture<'s, Result<(), OpenWalError>> {
        self.collect_others(logs).boxed()
    }
}
