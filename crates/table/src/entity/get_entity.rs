//! Get Entity.

use super::{Expiry, RowData};
use crate::{Error, Service, Table};
use partita_service::{Cost, Direction};

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
        self.charge(table, &key, Cost::ONE, Direction::Out)?;
        // Not from another server: that one answers the request.
        let value = self.route(&key)?.range.get(&key).await?;
        if let (Some(targets), Some(value)) = (self.storage().targets.as_deref(), &value) {
            let read = Cost {
                entities: 0,
                bytes: (key.len() + value.len()) as u64,
            };
            let charged = self.charged(table, &key);
            targets.charge(self.clock().monotonic(), &charged, read);
        }
        let alive = Expiry::new(table, self.wall_time()).alive(value)?;
        let value = alive.ok_or(Error::EntityNotFound)?;
        Ok(RowData { key, value })
    }
}
