//! Get Entity.

use super::{Expiry, RowData};
use crate::targets::{Cost, Way};
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
        let one = Cost {
            entities: 1,
            bytes: 0,
        };
        self.pay(table, &key, Way::Out, || one)?;
        let value = self.get(&key).await?;
        if let (Some(targets), Some(value)) = (self.targets(), &value) {
            let read = Cost {
                entities: 0,
                bytes: (key.len() + value.len()) as u64,
            };
            targets.charge(self.clock().monotonic(), table, &key, read);
        }
        let alive = Expiry::new(table, self.stamps().now()).alive(value)?;
        let value = alive.ok_or(Error::EntityNotFound)?;
        Ok(RowData { key, value })
    }
}
