//! Fuzzes CSV files. Checks that entities are the same after writing and reading them again.

#![no_main]

use bytes::Bytes;
use libfuzzer_sys::fuzz_target;
use partita_client::Entity;
use partita_tools::formats::{EntityReader, EntityWriter, Format, FormatError, Schema};

fuzz_target!(|data: &[u8]| {
    let Ok(entities) = read(data) else { return };
    let mut schema = Schema::default();
    if entities.iter().any(|entity| schema.add(entity).is_err()) {
        return;
    }
    let mut writer =
        EntityWriter::new(Format::Csv, &schema, Vec::new()).expect("writing to memory cannot fail");
    for entity in &entities {
        writer.write(entity).expect("the schema has its columns");
    }
    let written = writer.finish().expect("writing to memory cannot fail");
    let again = read(&written).expect("the reader accepts a file of the writer");
    assert_eq!(again.len(), entities.len());
    for (again, entity) in again.iter().zip(&entities) {
        assert_eq!(text(again), text(entity));
    }
});

fn read(data: &[u8]) -> Result<Vec<Entity>, FormatError> {
    EntityReader::of_bytes(Bytes::copy_from_slice(data), Format::Csv)?.collect()
}

/// Debug text, because NaN differs from itself; properties are sorted by name, because a file may have its columns in
/// any order.
fn text(entity: &Entity) -> String {
    let mut properties: Vec<_> = entity.iter().collect();
    properties.sort_by_key(|(name, _)| *name);
    let keys = (entity.partition_key(), entity.row_key());
    format!("{keys:?} {:?} {properties:?}", entity.timestamp())
}
