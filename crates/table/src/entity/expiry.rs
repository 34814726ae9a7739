//! Expired entities, which every operation treats as missing.

use crate::{Error, Table};
use bytes::Bytes;
use partita_model::{DateTime, Stored};

/// Decides which entities of a table have expired at a given time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Expiry {
    /// Entities with this Timestamp or an earlier one have expired.
    until: Option<DateTime>,
}

impl Expiry {
    pub(crate) fn new(table: &Table, now: DateTime) -> Self {
        let until = table.ttl.and_then(|ttl| ttl.expired_until(now));
        Self { until }
    }

    /// Whether this stored entity has expired.
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
