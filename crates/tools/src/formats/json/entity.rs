//! Converts a row of JSON to an entity.

use partita_client::Entity;
use partita_wire::table::RowReader;
use partita_wire::{ErrorCode, Failure};
use std::sync::Arc;

/// Converts a row to an entity. Fails if the row lacks a key.
pub(super) fn entity(row: RowReader<'_, '_>) -> Result<Entity, Failure> {
    let missing = || Failure::new(ErrorCode::PropertiesNeedValue);
    let partition_key = row.partition_key()?.ok_or_else(missing)?.into_owned();
    let row_key = row.row_key()?.ok_or_else(missing)?.into_owned();
    let timestamp = row.timestamp()?;
    let mut properties = Vec::with_capacity(row.members());
    row.properties(|_, name, value| properties.push((Arc::from(name), value.to_value())))?;
    let keys = (partition_key, row_key);
    Ok(Entity::from_parts(keys, timestamp, properties))
}
