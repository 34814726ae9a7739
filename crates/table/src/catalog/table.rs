//! [`Table`], the result of looking up a table by its name.

use super::record::TableRecord;
use crate::Error;
use partita_model::{AccountName, DateTime, SignedIdentifier, TableId, TableSpace, TimeToLive};
use partita_service::decode_record;

/// A table as it was when it was looked up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    /// The name in its original case.
    pub name: String,
    /// The table's id.
    pub id: TableId,
    /// The creation time.
    pub created: DateTime,
    /// The time to live of its entities after their last write; `None` means unlimited.
    pub ttl: Option<TimeToLive>,
    /// Its stored access policies.
    pub policies: Vec<SignedIdentifier>,
    /// The key space of its rows.
    pub space: TableSpace,
}

impl Table {
    pub(super) fn from_row(account: &AccountName, row: &[u8]) -> Result<Self, Error> {
        let TableRecord {
            id,
            name,
            created,
            policies,
            ttl_seconds,
        } = decode_record(row)?;
        let id = TableId(id);
        let ttl = ttl_seconds
            .map(TimeToLive::from_seconds)
            .transpose()
            .map_err(|error| Error::Corrupt(format!("catalog row: {error}").into()))?;
        Ok(Self {
            name,
            id,
            created: DateTime::from_ticks(created).unwrap_or(DateTime::MIN),
            space: TableSpace::new(account.as_str(), id),
            policies: policies.iter().map(SignedIdentifier::from).collect(),
            ttl,
        })
    }
}
