//! Fuzzes the JSON of an entity. Checks that an accepted entity is the same after storing it, writing it at any
//! metadata level, and reading it again; without metadata only its keys.

#![no_main]

use std::borrow::Cow;

use libfuzzer_sys::fuzz_target;
use partita_model::{DateTime, Entity, Stored};
use partita_wire::table::{EntityFormat, EntityWriter, MetadataLevel, read_entity};

fuzz_target!(|data: &[u8]| {
    let Ok(draft) = read_entity(data) else { return };
    let (Some(partition_key), Some(row_key)) = (draft.partition_key, draft.row_key) else {
        return;
    };
    let timestamp = DateTime::parse("2026-01-01T00:00:00.1234567Z").expect("a date");
    let bytes = draft.properties.into_stored(timestamp);
    let stored = Stored::open(&bytes).expect("stored bytes can be opened");
    let entity = Entity {
        partition_key: Cow::Borrowed(partition_key.as_str()),
        row_key: Cow::Borrowed(row_key.as_str()),
        stored,
    };
    for level in [
        MetadataLevel::None,
        MetadataLevel::Minimal,
        MetadataLevel::Full,
    ] {
        let writer = EntityWriter::new(&EntityFormat {
            level,
            base: "http://127.0.0.1:10002/devstoreaccount1",
            account: "devstoreaccount1",
            table: "mytable",
            select: None,
        });
        let mut json = Vec::new();
        writer
            .single(&entity, &mut json)
            .expect("a stored entity can be written as JSON");
        let again = read_entity(&json).expect("JSON that was written can be read");
        assert_eq!(again.partition_key.as_deref(), Some(partition_key.as_str()));
        assert_eq!(again.row_key.as_deref(), Some(row_key.as_str()));
        // JSON without metadata has no types, so only the keys are the same.
        if level > MetadataLevel::None {
            assert_eq!(again.properties.into_stored(timestamp), bytes);
        }
    }
});
