//! Finds a table by its name.

use super::{Table, name_key};
use crate::{Error, Service};
use partita_model::{AccountName, TableName};
use std::sync::Arc;

impl Service {
    /// The table with this name, ignoring case.
    ///
    /// # Errors
    /// [`Error::TableNotFound`], [`Error::Busy`], [`Error::Corrupt`].
    pub async fn table(
        &self,
        account: &AccountName,
        name: &TableName,
    ) -> Result<Arc<Table>, Error> {
        let key = name_key(account, name);
        let row = self.storage().catalog_row(&key).await?;
        let row = row.ok_or(Error::TableNotFound)?;
        if let Some(table) = self.memo.find(&key, &row) {
            return Ok(table);
        }
        let table = Arc::new(Table::from_row(account, &row)?);
        self.memo.keep(key, row, &table);
        Ok(table)
    }
}
