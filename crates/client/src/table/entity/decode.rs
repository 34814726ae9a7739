//! From the rows of an answer to entities: the hot path of every tool.
//!
//! Rows of a page mostly have the same properties in the same order, so that the name at the same place of the row before is
//! nearly always the right one: names are shared, and cost a comparison.

use super::{ETag, Entity};
use partita_wire::Failure;
use partita_wire::table::{PageReader, RowReader};
use std::sync::Arc;

/// The entities of a page.
pub(crate) fn entities(body: &[u8]) -> Result<Vec<Entity>, Failure> {
    let mut rows = PageReader::new(body)?;
    let mut decoder = EntityDecoder::default();
    let mut entities = Vec::new();
    while let Some(row) = rows.next_row()? {
        entities.push(decoder.entity(row)?);
    }
    Ok(entities)
}

/// Makes entities of the rows of an answer.
#[derive(Debug, Default)]
pub(crate) struct EntityDecoder {
    /// Names seen, by their place in a row where they were seen last.
    names: Vec<Arc<str>>,
}

impl EntityDecoder {
    /// The entity of a row. Keys that the answer does not show are empty.
    pub(crate) fn entity(&mut self, row: RowReader<'_, '_>) -> Result<Entity, Failure> {
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
