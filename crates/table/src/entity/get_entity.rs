//! Get Entity.

use super::{Expiry, RowData};
use crate::{Error, Service, Table};

impl Service {
    /// The entity with these keys.
    ///
    /// # Errors
    /// [`Error::EntityNotFound`], [`Error::Busy`], [`Error::Corrupt`].
    pub async fn entity(
        &self,
        table: &Table,
        partition_key: &str,
        row_key: &str,
    ) -> Result<RowData, Error> {
        let key = table.space.entity(partition_key, row_key);
        let value = self.get(&key).await?;
        let alive = Expiry::new(table, self.stamps().now()).alive(value)?;
        let value = alive.ok_or(Error::EntityNotFound)?;
        Ok(RowData { key, value })
    }
}
