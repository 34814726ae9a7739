//! Truncate Table, which the Azure service does not have.

use crate::{Error, Service};
use partita_model::{AccountName, TableId, TableName};

impl Service {
    /// Empties a table of any size with one write: the table gets a new id, and the sweep removes the rows of the old
    /// id. Name, access policies and time to live do not change. If a write looked up the table before the truncation
    /// and commits after it, its rows have the old id and are removed, as if the write had committed first.
    ///
    /// Cancel-safe: if dropped during the commit, the change still completes.
    ///
    /// # Errors
    /// [`Error::TableNotFound`], [`Error::Busy`], [`Error::OutcomeUnknown`], [`Error::Corrupt`].
    pub async fn truncate_table(
        &self,
        account: &AccountName,
        name: &TableName,
    ) -> Result<(), Error> {
        self.change_table(account, name, |record, batch| {
            let (key, row) = self.dropped_row(account, TableId(record.id), &record.name);
            batch.put(key, row);
            record.id = partita_rt::random::u64();
        })
        .await?;
        self.dropped.notify();
        Ok(())
    }
}
