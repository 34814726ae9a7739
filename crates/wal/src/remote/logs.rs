//! The logs of an object store, for a server that begins its own or takes over that of another.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::SystemTime;

use object_store::{ObjectStore, PutPayload};

use super::group::{PendingGroup, Position};
use super::life;
use super::listing::{self, Listing};
use super::reader::LogReader;
use super::remote_wal::{Found, RemoteWal, Shared};
use super::requests::{Created, Requests};
use super::sealer::{self, SealedLog};
use super::segments::Segments;
use super::{Life, Options, collector, fault};
use crate::{OpenWalError, Wal};

/// The logs below `log/` of an object store.
#[derive(Clone)]
pub struct RemoteLogs {
    pub(super) requests: Requests,
}

impl RemoteLogs {
    /// The logs in `store`.
    #[must_use]
    pub fn new(store: Arc<dyn ObjectStore>, options: Options) -> Self {
        Self {
            requests: Requests { store, options },
        }
    }

    /// Begins the log of a new life, which inherits nothing.
    ///
    /// # Errors
    /// The life exists, perhaps because another server has sealed it already, or the store failed.
    pub async fn begin(&self, life: Life) -> Result<Arc<dyn Wal>, OpenWalError> {
        if !self.announce(life).await? {
            let path = life.path(0);
            return Err(fault::damaged(
                &path,
                "the log of a new life exists already",
            ));
        }
        let segments = Segments::new(self.requests.options, life, 0);
        Ok(self.wal(life, segments, Found::default(), Arc::default()))
    }

    pub(super) fn wal(
        &self,
        life: Life,
        segments: Segments,
        found: Found,
        shared: Arc<Shared>,
    ) -> Arc<dyn Wal> {
        let requests = self.requests.clone();
        Arc::new(RemoteWal::new(requests, segments, life, found, shared))
    }

    /// Creates the first object of a log, a group without records, so that other servers find the log. Returns `false`
    /// if the log exists.
    pub(super) async fn announce(&self, life: Life) -> Result<bool, OpenWalError> {
        let mut group = PendingGroup::new(life);
        let object = PutPayload::from_iter(group.encode(Position::default()));
        let path = life.path(0);
        let created = self.requests.create(&path, object, group.nonce).await;
        let created = created.map_err(|error| error.into_open_error(&path))?;
        Ok(created == Created::Own)
    }

    /// Announces a life after all others.
    pub(super) async fn begin_next(&self) -> Result<Life, OpenWalError> {
        loop {
            let logs = self.list().await?;
            let last = logs.last_key_value().map_or(0, |(life, _)| life.0);
            let Some(next) = last.checked_add(1).map(Life) else {
                let error = std::io::Error::other("the numbers of logs are used up");
                return Err(error.into());
            };
            if self.announce(next).await? {
                return Ok(next);
            }
        }
    }

    /// All logs, also those that were collected.
    pub(super) async fn list(&self) -> Result<BTreeMap<Life, Listing>, OpenWalError> {
        let objects = self.requests.list(&life::all_logs()).await;
        Ok(listing::by_life(&objects.map_err(fault::store_failed)?))
    }

    /// The logs that may have records that are not in the files of the databases, sealed or not, in ascending order:
    /// all that were not collected.
    ///
    /// # Errors
    /// The store failed.
    pub async fn uncollected(&self) -> Result<Vec<Life>, OpenWalError> {
        let logs = self.list().await?.into_iter();
        let logs = logs.filter(|(_, listing)| !listing.is_collected);
        Ok(logs.map(|(life, _)| life).collect())
    }

    /// Seals the log of `life`: its writer acknowledges no further group. `note` says who sealed and why; it is cut to
    /// 59 bytes. Any number of servers may seal a log at the same time. Cancel safe.
    ///
    /// # Errors
    /// A group is missing or damaged, or the store failed.
    pub async fn seal(&self, life: Life, note: &str) -> Result<SealedLog, OpenWalError> {
        sealer::seal(&self.requests, life, note).await
    }

    /// Reads the log of `life`.
    #[must_use]
    pub fn reader(&self, life: Life) -> LogReader {
        LogReader::new(self.requests.clone(), life)
    }

    /// Deletes the groups of a sealed log, and keeps its seals for seven days. The caller has made sure that all its
    /// records are in the files of the databases.
    ///
    /// # Errors
    /// The store failed. A second call continues.
    pub async fn collect(&self, sealed: &SealedLog) -> Result<(), OpenWalError> {
        collector::collect(&self.requests, sealed.life).await
    }

    /// Deletes the seals of logs that were collected more than seven days before `now`.
    ///
    /// # Errors
    /// The store failed.
    pub async fn expire_seals(&self, now: SystemTime) -> Result<(), OpenWalError> {
        for (life, listing) in self.list().await? {
            if collector::is_expired(&listing, now) {
                collector::expire(&self.requests, life).await?;
            }
        }
        Ok(())
    }
}
