//! Decodes the rows of an answer to entities, on the hot path of every tool.
//!
//! The rows of a page mostly have the same properties in the same order. So the decoder compares each name with the
//! name at the same position in earlier rows, and shares that name instead of allocating a copy.

use super::{ETag, Entity};
use partita_wire::Failure;
use partita_wire::table::{PageReader, RowReader, read_row};
use std::sync::Arc;

/// Decodes the rest of a page.
pub(crate) fn entities(mut rows: PageReader<'_>) -> Result<Vec<Entity>, Failure> {
    let mut decoder = EntityDecoder::default();
    let mut entities = Vec::new();
    while let Some(row) = rows.next_row()? {
        entities.push(decoder.entity(row)?);
    }
    Ok(entities)
}

/// Decodes a single entity.
pub(crate) fn read_entity(body: &[u8]) -> Result<Entity, Failure> {
    read_row(body, |row| EntityDecoder::default().entity(row))
}

/// Decodes the rows of one answer.
#[derive(Debug, Default)]
struct EntityDecoder {
    /// The latest name at each position of a row.
    names: Vec<Arc<str>>,
}

impl EntityDecoder {
    /// The entity of a row. Keys that the answer lacks are empty.
    fn entity(&mut self, row: RowReader<'_, '_>) -> Result<Entity, Failure> {
        let mut entity = Entity {
            partition_key: row.partition_key()?.unwrap_or_default().into_owned(),
            row_key: row.row_key()?.unwrap_or_default().into_owned(),
            timestamp: row.timestamp()?,
            etag: row.etag()?.map(|text| ETag::from(&*text)),
            properties: Vec::with_capacity(row.members().saturating_sub(2)),
        };
        row.properties(|place, name, value| {
            let name = self.shared_name(place, name);
            entity.properties.push((name, value.to_value()));
        })?;
        Ok(entity)
    }

    fn shared_name(&mut self, place: usize, name: &str) -> Arc<str> {
        if let Some(seen) = self.names.get(place).filter(|seen| ***seen == *name) {
            return Arc::clone(seen);
        }
        let seen = self.names.iter().find(|seen| ***seen == *name);
        let seen = seen.map_or_else(|| Arc::from(name), Arc::clone);
        match self.names.get_mut(place) {
            Some(slot) => *slot = Arc::clone(&seen),
            None => self.names.resize(place + 1, Arc::clone(&seen)),
        }
        seen
    }
}
