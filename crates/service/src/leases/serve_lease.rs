//! Rows with leases, for other servers.

use super::LEASE;
use super::grants::Grant;
use crate::{Error, LeasedRow, Storage};
use bytes::Bytes;
use std::time::Duration;

impl Storage {
    /// A row of the catalog with a lease, for [`FarRows::lease`](crate::FarRows::lease). A storage without far rows grants
    /// no lease.
    ///
    /// # Errors
    /// [`Error::Busy`], [`Error::Corrupt`].
    pub async fn serve_lease(&self, key: &Bytes) -> Result<LeasedRow, Error> {
        // Copied, because it is kept, and may be a slice of the whole request.
        let key = &Bytes::copy_from_slice(key);
        // Before the row is read, so that a change that begins in between waits for this lease.
        let is_granted = self.grant(key).await?;
        let row = self.serve_get(key).await?;
        let time = match is_granted && row.is_some() {
            true => LEASE,
            false => Duration::ZERO,
        };
        Ok(LeasedRow { row, time })
    }

    async fn grant(&self, key: &Bytes) -> Result<bool, Error> {
        if !self.has_far_rows() {
            return Ok(false);
        }
        let mut grant = self.grants.grant(key, self.clock.boot());
        if grant == Grant::Unsettled {
            let keys = std::slice::from_ref(key);
            let locked = self.lock(keys).await?;
            self.grants.settle(keys);
            drop(locked);
            grant = self.grants.grant(key, self.clock.boot());
        }
        Ok(grant == Grant::Granted)
    }
}
