//! Rows of ranges that other servers serve.
//!
//! A server of a cluster serves some ranges. An operation on an entity or a message is executed by the server that has
//! its range. That server must look up the table or queue, and background work reads and removes rows of all ranges. So
//! a [`Storage`] asks for such rows through [`FarRows`]; the other server answers with the `serve_…` functions.

use crate::{Error, Storage};
use async_trait::async_trait;
use bytes::Bytes;
use partita_engine::{Batch, KeyRange, Rows, ScanHint};
use std::fmt;
use std::ops::{Bound, Range};
use std::time::Duration;

/// Access to the rows of ranges that other servers serve. A call is made once: the implementation may retry a read, but
/// not a write that may have been executed.
///
/// All functions are cancel safe; a cancelled write may still be executed.
///
/// Their errors are [`Error::Busy`] with [`BusyReason::RangeInTransit`](crate::BusyReason::RangeInTransit) if no server
/// serves the range or its server does not answer a read; other kinds of [`Error::Busy`], [`Error::Corrupt`] and
/// [`Error::TooLarge`] as the other server returned them; [`Error::OutcomeUnknown`] for a write that may have been
/// executed.
#[async_trait]
pub trait FarRows: fmt::Debug + Send + Sync + 'static {
    /// A row as of now: its server answers with [`Storage::serve_get`] under the lease of its range.
    async fn get(&self, key: &Bytes) -> Result<Option<Bytes>, Error>;

    /// A row of the catalog with a lease ([`Storage::serve_lease`]).
    async fn lease(&self, key: &Bytes) -> Result<LeasedRow, Error>;

    /// The first rows of `keys`, which are not empty, from the range that has the start ([`Storage::serve_scan`]).
    async fn scan(
        &self,
        keys: Range<Bytes>,
        rows_max: usize,
        bytes_max: usize,
    ) -> Result<FarPage, Error>;

    /// Makes all changes in one commit if each key has the expected row ([`Storage::serve_write`]). Returns whether it
    /// did. The keys are in order and in one range, else it fails with [`Error::Busy`].
    async fn write(&self, changes: Vec<FarWrite>) -> Result<bool, Error>;

    /// The first key after the range that has `key`, by the map of this server, which may be out of date; `None` if it
    /// is the last range or not known.
    fn range_end(&self, key: &Bytes) -> Option<Bytes>;
}

/// A row of the catalog, and how long its reader may use it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeasedRow {
    /// The row; `None` if it is absent.
    pub row: Option<Bytes>,
    /// How long the reader may use the row for other requests, counted from before it asked. Zero for not at all.
    pub time: Duration,
}

/// Some rows of a far scan.
#[derive(Debug, Clone, Default)]
pub struct FarPage {
    /// The rows in key order.
    pub rows: Rows,
    /// Where the scan continues, after the last row; `None` if all keys were read. A page may have no rows and yet
    /// continue, if its range has no more rows.
    pub next: Option<Bytes>,
}

/// A change of one row of another server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FarWrite {
    /// The key.
    pub key: Bytes,
    /// The condition.
    pub expected: Expected,
    /// The new row; `None` removes the row.
    pub row: Option<Bytes>,
}

/// The row that a change expects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Expected {
    /// Any, or none.
    Any,
    /// No row.
    Absent,
    /// This row.
    Row(Bytes),
}

impl Expected {
    fn is_met_by(&self, row: Option<&Bytes>) -> bool {
        match self {
            Self::Any => true,
            Self::Absent => row.is_none(),
            Self::Row(expected) => row == Some(expected),
        }
    }
}

/// What another server asks for. Only ranges of this process are read and changed.
impl Storage {
    /// A row, for [`FarRows::get`].
    ///
    /// # Errors
    /// [`Error::Busy`], [`Error::Corrupt`].
    pub async fn serve_get(&self, key: &Bytes) -> Result<Option<Bytes>, Error> {
        Ok(self.route(key)?.range.get(key).await?)
    }

    /// Some rows, for [`FarRows::scan`].
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

    /// Changes some rows, for [`FarRows::write`]. Does not wait for a range in transit, because the other server may
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
        if changes.iter().any(|change| change.expected != Expected::Any) {
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
