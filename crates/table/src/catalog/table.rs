//! [`Table`], the result of looking up a table by its name, and a cache of decoded table records.

use super::record::TableRecord;
use crate::Error;
use bytes::Bytes;
use parking_lot::RwLock;
use partita_model::{AccountName, DateTime, SignedIdentifier, TableId, TableSpace, TimeToLive};
use partita_rt::hash::RandomState;
use partita_service::decode_record;
use std::collections::HashMap;
use std::sync::Arc;

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

/// Decoded table records by their row: every request looks up its table, and the row rarely changes.
///
/// A look-up still reads the row, usually from the range's cache. The memo only avoids decoding the row again.
#[derive(Debug, Default)]
pub(crate) struct CatalogMemo {
    tables: RwLock<HashMap<Bytes, (Bytes, Arc<Table>), RandomState>>,
}

impl CatalogMemo {
    /// The maximum number of cached records. If the accounts together have more tables, some records are decoded
    /// repeatedly.
    const TABLES_MAX: usize = 10_000;

    pub(super) fn find(&self, key: &Bytes, row: &Bytes) -> Option<Arc<Table>> {
        let tables = self.tables.read();
        let (known, table) = tables.get(key)?;
        // Compares the addresses first: the range's cache nearly always returns the same buffer, so the bytes are
        // rarely compared.
        let same = (known.as_ptr() == row.as_ptr() && known.len() == row.len()) || known == row;
        same.then(|| Arc::clone(table))
    }

    pub(super) fn keep(&self, key: Bytes, row: Bytes, table: &Arc<Table>) {
        let mut tables = self.tables.write();
        if tables.len() >= Self::TABLES_MAX {
            tables.clear();
        }
        tables.insert(key, (row, Arc::clone(table)));
    }
}
