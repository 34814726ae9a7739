//! A WAL in an object store that belongs to one server, without a coordinator: each open takes over what is there.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use futures::FutureExt;
use futures::future::BoxFuture;
use object_store::ObjectStore;
use parking_lot::Mutex;
use partita_rt::Clock;

use super::listing::Listing;
use super::logs::RemoteLogs;
use super::object::Group;
use super::remote_wal::{Found, Shared};
use super::segments::Segments;
use super::{Life, Options, collector, fault, sealer};
use crate::{OpenWalError, RangeId, Record, Resume, Wal, WalStorage};

/// The WAL of one server in an object store. Each open begins a new life, seals the logs of all earlier lives, and
/// inherits their records. So of two servers that use the store at the same time, at least one is fenced.
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

    /// Begins a life after all others. It is announced before the others are listed again: of two servers that open at
    /// the same time, the one that lists later finds the other.
    async fn begin(&self) -> Result<Life, OpenWalError> {
        loop {
            let logs = self.logs.list().await?;
            let last = logs.last_key_value().map_or(0, |(life, _)| life.0);
            let Some(next) = last.checked_add(1).map(Life) else {
                let error = std::io::Error::other("the numbers of logs are used up");
                return Err(error.into());
            };
            if self.logs.announce(next).await? {
                return Ok(next);
            }
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
        let own = self.begin().await?;
        *self.own.lock() = Some(own);
        self.shared.has_ended.store(false, Ordering::Release);
        let mut others = self.logs.list().await?;
        others.remove(&own);
        let mut found = Found {
            is_new: others.is_empty(),
            ..Found::default()
        };
        let mut segments = Segments::new(self.options, own, 0);
        let now = self.clock.now();
        for (life, listing) in others {
            if collector::is_expired(&listing, now) {
                found.old.expired.push(life);
            }
            self.inherit((own, life), &listing, &mut segments, &mut found)
                .await?;
        }
        let shared = Arc::clone(&self.shared);
        Ok(self.logs.wal(own, segments, found, shared))
    }

    /// Seals and reads the log of another life. The seal says which life takes over.
    async fn inherit(
        &self,
        (own, life): (Life, Life),
        listing: &Listing,
        segments: &mut Segments,
        found: &mut Found,
    ) -> Result<(), OpenWalError> {
        if listing.is_collected {
            return Ok(());
        }
        let note = format!("life {own}, the next life of the server");
        let sealed = self.logs.seal(life, &note).await?;
        let groups = self.logs.reader(life).read_groups(&sealed).await?;
        if sealed.floor > 0 {
            // Segments are released from the front: so all records of earlier logs were released before those of this
            // one. They would seem to have gaps, because the objects that are missing here followed them.
            found.records.clear();
        }
        segments.continue_in(life, sealed.floor);
        for group in groups {
            let records = group.records.iter();
            let ids = records.map(|record| (record.header.range, record.header.wal_id));
            segments.add(group.bytes, ids);
            add_records(&mut found.records, life, group)?;
        }
        found.old.inherited.push_back(life);
        Ok(())
    }
}

/// Adds the records of a group to those of their ranges, and checks that none is missing.
fn add_records(
    found: &mut BTreeMap<RangeId, VecDeque<Record>>,
    life: Life,
    group: Group,
) -> Result<(), OpenWalError> {
    for record in group.records {
        let of_range = found.entry(record.header.range).or_default();
        let expected = of_range.back().map(|last| last.header.wal_id.0 + 1);
        if expected.is_some_and(|expected| expected != record.header.wal_id.0) {
            return Err(fault::missing(
                &life.path(group.header.number),
                "records of a range are missing before it",
            ));
        }
        of_range.push_back(record);
    }
    Ok(())
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
