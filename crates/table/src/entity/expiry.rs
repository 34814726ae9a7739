//! Entities whose time to live is over: for every operation they are not there.

use crate::{Error, Table};
use bytes::Bytes;
use partita_model::{DateTime, Stored};

/// What has expired in a table, as of a time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Expiry {
    /// The latest Timestamp that has.
    until: Option<DateTime>,
}

impl Expiry {
    pub(crate) fn new(table: &Table, now: DateTime) -> Self {
        let until = table.ttl.and_then(|ttl| ttl.expired_until(now));
        Self { until }
    }

    /// Whether a stored entity has expired.
    pub(crate) fn has(self, value: &[u8]) -> Result<bool, Error> {
        match self.until {
            Some(until) => Ok(Stored::open(value)?.timestamp() <= until),
            None => Ok(false),
        }
    }

    /// The row, unless it has expired.
    pub(crate) fn alive(self, value: Option<Bytes>) -> Result<Option<Bytes>, Error> {
        match value {
            Some(value) if self.has(&value)? => Ok(None),
            other => Ok(other),
        }
    }
}
