//! Finding a table by its name.

use super::name_key;
use super::record::TableRecord;
use crate::{Error, Service};
use bytes::Bytes;
use parking_lot::RwLock;
use partita_model::{
    AccountName, DateTime, SignedIdentifier, TableId, TableName, TableSpace, TimeToLive,
};
use partita_rt::hash::RandomState;
use partita_service::decode_record;
use std::collections::HashMap;
use std::sync::Arc;

/// A table, as of when it was looked up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    /// Its name in the case it was created with.
    pub name: String,
    /// Its identity.
    pub id: TableId,
    /// When it was created.
    pub created: DateTime,
    /// Where its rows lie.
    pub space: TableSpace,
    /// Its stored access policies.
    pub policies: Vec<SignedIdentifier>,
    /// How long its entities live after their last write; without, for ever.
    pub ttl: Option<TimeToLive>,
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

/// Decoded table records by their row: every request looks its table up, and the row is nearly always the same one.
///
/// Not a cache of what is stored: the row is read each time (from the range's cache), and only what it means is kept.
#[derive(Debug, Default)]
pub(crate) struct CatalogMemo {
    tables: RwLock<HashMap<Bytes, (Bytes, Arc<Table>), RandomState>>,
}

impl CatalogMemo {
    /// Accounts with more tables decode some of them again.
    const TABLES_MAX: usize = 10_000;

    fn find(&self, key: &Bytes, row: &Bytes) -> Option<Arc<Table>> {
        let tables = self.tables.read();
        let (known, table) = tables.get(key)?;
        // Nearly always the very same bytes, which compares in no time.
        let same = (known.as_ptr() == row.as_ptr() && known.len() == row.len()) || known == row;
        same.then(|| Arc::clone(table))
    }

    fn keep(&self, key: Bytes, row: Bytes, table: &Arc<Table>) {
        let mut tables = self.tables.write();
        if tables.len() >= Self::TABLES_MAX {
            tables.clear();
        }
        tables.insert(key, (row, Arc::clone(table)));
    }
}

impl Service {
    /// The table of that name, whatever its case.
    ///
    /// # Errors
    /// [`Error::TableNotFound`], [`Error::Busy`], [`Error::Corrupt`].
    pub async fn table(
        &self,
        account: &AccountName,
        name: &TableName,
    ) -> Result<Arc<Table>, Error> {
        let key = name_key(account, name);
        let row = self.get(&key).await?.ok_or(Error::TableNotFound)?;
        if let Some(table) = self.memo().find(&key, &row) {
            return Ok(table);
        }
        let table = Arc::new(Table::from_row(account, &row)?);
        self.memo().keep(key, row, &table);
        Ok(table)
    }
}
