//! A WAL in an object store that belongs to one server, without a coordinator: each open takes over what is there.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use futures::FutureExt;
use futures::future::BoxFuture;
use object_store::ObjectStore;
use parking_lot::Mutex;
use partita_rt::Clock;

use super::logs::RemoteLogs;
use super::records_by_range::RecordsByRange;
use super::remote_wal::{Found, Shared};
use super::segments::Segments;
use super::{Life, Options, collector, sealer};
use crate::{OpenWalError, Resume, Wal, WalStorage};

/// The WAL of one server in an object store. Each open begins a new life, seals the logs of all earlier lives, and
/// inherits their records. So of two servers that use the store at the same time, at least one is fenced. The earlier
/// lives may be those of a cluster ([`super::SharedStorage`]).
///
/// A fenced server stays fenced: it does not open the WAL again, which would fence the server that has taken over. A
/// server whose requests failed for another reason does.
pub struct RemoteStorage {
    logs: RemoteLogs,
    options: Options,
    clock: Arc<dyn Clock>,
    /// The newest life of this process. Only another process seals its log: the next open of this process begins a life
    /// before it seals.
    own: Mutex<Option<Life>>,
    shared: Arc<Shared>,
}

impl RemoteStorage {
    /// The WAL below `log/` of `store`. The clock decides when old seals are deleted.
    #[must_use]
    pub fn new(store: Arc<dyn ObjectStore>, clock: Arc<dyn Clock>, options: Options) -> Self {
        Self {
            logs: RemoteLogs::new(store, options),
            options,
            clock,
            own: Mutex::default(),
            shared: Arc::default(),
        }
    }

    /// Fails if another process has sealed the newest log of this one.
    async fn check_fence(&self) -> Result<(), OpenWalError> {
        let own = *self.own.lock();
        let has_ended = self.shared.has_ended.load(Ordering::Acquire);
        let Some(own) = own.filter(|_| !has_ended) else {
            return Ok(());
        };
        let note = sealer::note_of_seal(&self.logs.requests, own).await?;
        note.map_or(Ok(()), |note| {
            Err(OpenWalError::Fenced {
                log: format!("the log of life {own}"),
                note,
            })
        })
    }

    async fn open_wal(&self) -> Result<Arc<dyn Wal>, OpenWalError> {
        self.check_fence().await?;
        // The life is announced before the others are listed again: of two servers that open at the same time, the one
        // that lists later finds the other.
        let own = self.logs.begin_next().await?;
        *self.own.lock() = Some(own);
        self.shared.has_ended.store(false, Ordering::Release);
        let mut others = self.logs.list().await?;
        others.remove(&own);
        let mut found = Found {
            is_new: others.is_empty(),
            ..Found::default()
        };
        let mut segments = Segments::new(self.options, own, 0);
        let mut records = RecordsByRange::default();
        let now = self.clock.now();
        for (life, listing) in others {
            if collector::is_expired(&listing, now) {
                found.old.expired.push(life);
            }
            if !listing.is_collected {
                self.inherit((own, life), &mut segments, &mut records)
                    .await?;
                found.old.inherited.push_back(life);
            }
        }
        found.records = records.into_newest_runs()?;
        let shared = Arc::clone(&self.shared);
        Ok(self.logs.wal(own, segments, found, shared))
    }

    /// Seals and reads the log of another life. The seal says which life takes over.
    async fn inherit(
        &self,
        (own, life): (Life, Life),
        segments: &mut Segments,
        records: &mut RecordsByRange,
    ) -> Result<(), OpenWalError> {
        let note = format!("life {own}, the next life of the server");
        let sealed = self.logs.seal(life, &note).await?;
        let groups = self.logs.reader(life).read_groups(&sealed).await?;
        segments.continue_in(life, sealed.floor);
        for group in groups {
            let headers = group.records.iter().map(|record| record.header);
            let ids = headers.map(|header| (header.range, header.wal_id));
            segments.add(group.bytes, ids);
            records.add(life, group.records);
        }
        Ok(())
    }
}

impl WalStorage for RemoteStorage {
    /// Costs three lists of all logs and, for each log that was not collected, a list, a seal, a list and a GET for
    /// each group. The recovered records are durable after each kind of stop.
    fn open(&self, _resume: Resume) -> BoxFuture<'_, Result<Arc<dyn Wal>, OpenWalError>> {
        self.open_wal().boxed()
    }

    fn written_bytes(&self) -> u64 {
        self.shared.written_bytes.load(Ordering::Relaxed)
    }
}
