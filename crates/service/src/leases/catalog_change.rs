//! [`CatalogChange`]: rows of the catalog that are locked, and that no other server has a lease of.

use super::Grants;
use crate::{Error, Storage};
use bytes::Bytes;
use partita_engine::{Batch, ReadError, WriteError};
use partita_range::Locked;
use std::time::Duration;

/// Locked rows of the catalog without leases. Dropping it releases the rows without a change.
#[derive(Debug)]
#[must_use]
pub struct CatalogChange<'s> {
    locked: Locked,
    stopped: Stopped<'s>,
}

/// Rows of which no lease is granted, until it is dropped.
#[derive(Debug)]
struct Stopped<'s> {
    grants: &'s Grants,
    keys: Vec<Bytes>,
    /// Whether no commit of the rows runs.
    is_settled: bool,
}

impl Drop for Stopped<'_> {
    fn drop(&mut self) {
        self.grants.end_change(&self.keys, self.is_settled);
    }
}

impl CatalogChange<'_> {
    /// The current row of a key.
    ///
    /// # Errors
    /// [`ReadError`].
    pub async fn read(&self, key: &Bytes) -> Result<Option<Bytes>, ReadError> {
        self.locked.read(key).await
    }

    /// Commits the change, see [`Locked::commit`].
    ///
    /// # Errors
    /// [`WriteError`].
    pub async fn commit(self, batch: Batch) -> Result<(), WriteError> {
        let Self {
            locked,
            mut stopped,
        } = self;
        stopped.is_settled = false;
        let result = locked.commit(batch).await;
        stopped.is_settled = !matches!(result, Err(WriteError::Unknown));
        result
    }
}

impl Storage {
    /// Locks rows of the catalog to change or delete them, after all leases of them have ended (see the module
    /// `leases`). Waits about a second if another server has a lease. Not needed to create rows.
    ///
    /// Cancel safe: nothing is changed, and leases are granted again.
    ///
    /// # Errors
    /// [`Error::Busy`].
    pub async fn change_catalog(&self, keys: &[Bytes]) -> Result<CatalogChange<'_>, Error> {
        let stopped = Stopped {
            grants: &self.grants,
            keys: match self.has_far_rows() {
                true => keys.to_vec(),
                // No other server has a lease.
                false => Vec::new(),
            },
            is_settled: true,
        };
        self.grants.begin_change(&stopped.keys);
        loop {
            while let Some(left) = self.leases_left(keys) {
                tokio::time::sleep(left).await;
            }
            let locked = self.lock(keys).await?;
            // The catalog may have been at another server during the waits; while it is locked, it stays here.
            if self.leases_left(keys).is_none() {
                self.grants.settle(&stopped.keys);
                return Ok(CatalogChange { locked, stopped });
            }
        }
    }

    /// The time until the rows have no leases; `None` if they have none.
    fn leases_left(&self, keys: &[Bytes]) -> Option<Duration> {
        let left = self.grants.ended(keys).saturating_sub(self.clock.boot());
        (!left.is_zero()).then_some(left)
    }
}
