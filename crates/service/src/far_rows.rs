//! Rows of ranges that other servers serve.
//!
//! A server of a cluster serves some ranges. An operation on an entity or a message is executed by the server that has
//! its range. That server must look up the table or queue, and background work reads and removes rows of all ranges. So
//! a [`Storage`](crate::Storage) asks for such rows through [`FarRows`]; the other server answers with the functions
//! `serve_get` and so on of its storage.

use crate::Error;
use async_trait::async_trait;
use bytes::Bytes;
use partita_engine::Rows;
use std::fmt;
use std::ops::Range;
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
    /// A row as of now: its server answers with [`serve_get`](crate::Storage::serve_get) under the lease of its range.
    async fn get(&self, key: &Bytes) -> Result<Option<Bytes>, Error>;

    /// A row of the catalog with a lease ([`serve_lease`](crate::Storage::serve_lease)).
    async fn lease(&self, key: &Bytes) -> Result<LeasedRow, Error>;

    /// The first rows of `keys`, which are not empty, from the range that has the start
    /// ([`serve_scan`](crate::Storage::serve_scan)).
    async fn scan(
        &self,
        keys: Range<Bytes>,
        rows_max: usize,
        bytes_max: usize,
    ) -> Result<FarPage, Error>;

    /// Makes all changes in one commit if each key has the expected row
    /// ([`serve_write`](crate::Storage::serve_write)). Returns whether it did. The keys are in order and in one range,
    /// else it fails with [`Error::Busy`].
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
    pub(crate) fn is_met_by(&self, row: Option<&Bytes>) -> bool {
        match self {
            Self::Any => true,
            Self::Absent => row.is_none(),
            Self::Row(expected) => row == Some(expected),
        }
    }
}
