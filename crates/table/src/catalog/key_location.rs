//! Decodes a key for operators, into the names of account, table and partition.

use crate::{Error, Service, Table};
use bytes::Bytes;
use partita_model::{AccountName, KeyKind, KeyReader, TableId, TableName};
use partita_service::ScopeNames;
use std::collections::HashMap;

/// The maximum number of table names to read; further tables are shown by their ids.
const TABLES_MAX: usize = 10_000;

/// The names that a key contains.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyLocation {
    /// The account.
    pub account: String,
    /// The table's name; `None` for a deleted table, and for tables above the limit of 10,000.
    pub table: Option<String>,
    /// The table's id.
    pub table_id: TableId,
    /// The PartitionKey.
    pub partition_key: String,
}

/// The names of tables by account and id, at the time they were read.
#[derive(Debug, Default)]
pub struct TableNames(HashMap<(String, TableId), String>);

impl TableNames {
    /// Decodes an entity's key or a bound between partitions; `None` for other keys.
    #[must_use]
    pub fn location(&self, key: &[u8]) -> Option<KeyLocation> {
        let mut fields = KeyReader::of_kind(key, KeyKind::ENTITY).ok()?;
        let account = fields.text().ok()?.into_owned();
        let table_id = fields.table_id().ok()?;
        let partition_key = fields.text().ok()?.into_owned();
        let table = self.0.get(&(account.clone(), table_id)).cloned();
        Some(KeyLocation {
            account,
            table,
            table_id,
            partition_key,
        })
    }

    /// The tables with this name, compared without case, of all accounts or of `account`.
    #[must_use]
    pub fn find(&self, account: Option<&str>, name: &str) -> Vec<(&str, TableId)> {
        let found = self.0.iter().filter(|((of, _), table)| {
            account.is_none_or(|account| account == of) && table.eq_ignore_ascii_case(name)
        });
        found
            .map(|((account, id), _)| (account.as_str(), *id))
            .collect()
    }
}

impl Table {
    /// The names of the account, the table and the partition of a key of this table, for the report of exceeded
    /// targets. The PartitionKey is empty if the key has none.
    pub(crate) fn scope_names(&self, key: &[u8]) -> ScopeNames {
        let mut fields = KeyReader::of_kind(key, KeyKind::ENTITY).ok();
        let mut text = |is_account: bool| {
            let fields = fields.as_mut()?;
            if !is_account {
                fields.table_id().ok()?;
            }
            Some(fields.text().ok()?.into_owned())
        };
        ScopeNames {
            account: text(true).unwrap_or_default(),
            container: self.name.clone(),
            partition: text(false).unwrap_or_default(),
        }
    }
}

impl Service {
    /// The names of the tables of all accounts, at most 10,000.
    ///
    /// # Errors
    /// [`Error::Busy`], [`Error::Corrupt`].
    pub async fn table_names(&self) -> Result<TableNames, Error> {
        let mut names = TableNames::default();
        self.each_table(|account, table| {
            names
                .0
                .insert((account.as_str().to_owned(), table.id), table.name);
            names.0.len() < TABLES_MAX
        })
        .await?;
        Ok(names)
    }

    /// The key at which a partition of a table starts.
    ///
    /// # Errors
    /// [`Error::TableNotFound`], [`Error::Busy`], [`Error::Corrupt`].
    pub async fn partition_start(
        &self,
        account: &AccountName,
        table: &TableName,
        partition_key: &str,
    ) -> Result<Bytes, Error> {
        let table = self.table(account, table).await?;
        Ok(table.space.partition(partition_key))
    }
}
