//! Fuzzes stored entities, as if read from a damaged disk. Checks that they are read or refused without a panic.

#![no_main]

use std::borrow::Cow;

use libfuzzer_sys::fuzz_target;
use partita_model::{Entity, Properties, Stored};
use partita_wire::table::{EntityFormat, EntityWriter, MetadataLevel};

fuzz_target!(|data: &[u8]| {
    let Ok(stored) = Stored::open(data) else {
        return;
    };
    let readable = stored.iter().all(|property| property.is_ok());
    let _ = stored.get("Name");
    let entity = Entity {
        partition_key: Cow::Borrowed("p"),
        row_key: Cow::Borrowed("r"),
        stored,
    };
    let writer = EntityWriter::new(&EntityFormat {
        level: MetadataLevel::Full,
        base: "http://127.0.0.1:10002/devstoreaccount1",
        account: "devstoreaccount1",
        table: "mytable",
        select: None,
    });
    let mut json = Vec::new();
    assert!(writer.single(&entity, &mut json).is_ok() || !readable);
    if let Ok(current) = Stored::open(data) {
        let _ = Properties::merged(current, &Properties::empty());
    }
});
