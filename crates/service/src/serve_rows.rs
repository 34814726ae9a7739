//! The rows of this process, for other servers: the other side of [`FarRows`](crate::FarRows).

use crate::far_rows::{Expected, FarPage, FarWrite};
use crate::{Error, Storage};
use bytes::Bytes;
use partita_engine::{Batch, KeyRange, Rows, ScanHint};
use std::ops::{Bound, Range};

/// What another server asks for. Only ranges of this process are read and changed.
impl Storage {
    /// A row, for [`FarRows::get`](crate::FarRows::get).
    ///
    /// # Errors
    /// [`Error::Busy`], [`Error::Corrupt`].
    pub async fn serve_get(&self, key: &Bytes) -> Result<Option<Bytes>, Error> {
        // Copied, because the cache keeps it, and it may be a slice of the whole request.
        let key = Bytes::copy_from_slice(key);
        Ok(self.route(&key)?.range.get(&key).await?)
    }

    /// Some rows, for [`FarRows::scan`](crate::FarRows::scan).
    ///
    /// # Errors
    /// [`Error::Busy`], [`Error::Corrupt`].
    pub async fn serve_scan(
        &self,
        keys: Range<Bytes>,
        rows_max: usize,
        bytes_max: usize,
    ) -> Result<FarPage, Error> {
        let Range { start, end } = keys;
        let route = self.route(&start)?;
        let range_end = route.end().filter(|range_end| **range_end < end).cloned();
        let keys = KeyRange {
            start: Bound::Included(start),
            end: Bound::Excluded(range_end.clone().unwrap_or(end)),
        };
        let mut scan = route.range.scan(keys, ScanHint::walk()).await?;
        let rows = scan.next(rows_max, bytes_max).await?;
        let more = match rows.is_empty() {
            true => Rows::default(),
            false => scan.next(1, 1).await?,
        };
        let next = more.into_iter().next().map(|(key, _)| key).or(range_end);
        Ok(FarPage { rows, next })
    }

    /// Changes some rows, for [`FarRows::write`](crate::FarRows::write). Does not wait for a range in transit, because the other server may
    /// hold a lock.
    ///
    /// # Errors
    /// [`Error::Busy`], [`Error::OutcomeUnknown`], [`Error::TooLarge`], [`Error::Corrupt`].
    pub async fn serve_write(&self, changes: Vec<FarWrite>) -> Result<bool, Error> {
        let keys: Vec<Bytes> = changes.iter().map(|change| change.key.clone()).collect();
        if keys.is_empty() {
            return Ok(true);
        }
        let locked = self.lock_at_once(&keys).await?;
        if changes
            .iter()
            .any(|change| change.expected != Expected::Any)
        {
            let current = locked.read_many(&keys).await?;
            let mut pairs = changes.iter().zip(&current);
            if !pairs.all(|(change, row)| change.expected.is_met_by(row.as_ref())) {
                return Ok(false);
            }
        }
        let mut batch = Batch::with_capacity(changes.len());
        for FarWrite { key, row, .. } in changes {
            match row {
                Some(row) => batch.put(key, row),
                None => batch.delete(key),
            }
        }
        locked.commit(batch).await?;
        Ok(true)
    }
}
