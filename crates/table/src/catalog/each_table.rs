//! Lists all tables of all accounts, for background tasks and the admin port.

use super::Table;
use crate::{Error, Service};
use partita_engine::{KeyRange, ScanHint};
use partita_model::{AccountName, KeyKind, KeyReader};
use partita_service::{CHUNK_BYTES, CHUNK_ROWS};

impl Service {
    /// Calls `visit` for each table until it returns `false`.
    ///
    /// # Errors
    /// [`Error::Busy`], [`Error::Corrupt`].
    pub async fn each_table(
        &self,
        mut visit: impl FnMut(&AccountName, Table) -> bool + Send,
    ) -> Result<(), Error> {
        let start = KeyKind::TABLE.start();
        let end = KeyKind::TABLE.end();
        // All tables are in one range, because a split never divides the catalog.
        let range = self.route(&start)?.range;
        let keys = KeyRange::half_open(start, end);
        let mut scan = range.scan(keys, ScanHint::walk()).await?;
        loop {
            let rows = scan.next(CHUNK_ROWS, CHUNK_BYTES).await?;
            if rows.is_empty() {
                return Ok(());
            }
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
    }
}
