//! Lists all tables of all accounts, for background tasks and the admin port.

use super::Table;
use crate::{Error, Service};
use partita_model::{AccountName, KeyKind, KeyReader};
use partita_service::RowWalk;

impl Service {
    /// Calls `visit` for each table until it returns `false`.
    ///
    /// # Errors
    /// [`Error::Busy`], [`Error::Corrupt`].
    pub async fn each_table(
        &self,
        mut visit: impl FnMut(&AccountName, Table) -> bool + Send,
    ) -> Result<(), Error> {
        let (start, end) = (KeyKind::TABLE.start(), KeyKind::TABLE.end());
        let mut walk = RowWalk::new(self.storage(), start, end);
        while let Some(rows) = walk.next().await? {
            for (key, row) in rows {
                let account = KeyReader::of_kind(&key, KeyKind::TABLE)?
                    .text()?
                    .into_owned();
                let Ok(account) = AccountName::new(&account) else {
                    continue;
                };
                let table = Table::from_row(&account, &row)?;
                if !visit(&account, table) {
                    return Ok(());
                }
            }
        }
        Ok(())
    }
}
