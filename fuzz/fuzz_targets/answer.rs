//! Fuzzes the answers that a client reads: pages, single entities, errors, batches, stats. Checks that an entity is the
//! same after writing it as a body and reading it again. Input: the value of `Content-Type`, also read as an owner hint, a
//! line feed, the body.

#![no_main]

use libfuzzer_sys::fuzz_target;
use partita_model::Value;
use partita_wire::table::{PageReader, RowReader, read_batch_answer, read_row, write_entity};
use partita_wire::{ErrorBody, OwnerHint, read_service_stats};
use std::collections::HashSet;

fuzz_target!(|data: &[u8]| {
    let Some(end) = data.iter().position(|byte| *byte == b'\n') else {
        return;
    };
    let (content_type, body) = data.split_at(end);
    let content_type = std::str::from_utf8(content_type).unwrap_or_default();
    if let Some(hint) = OwnerHint::parse(content_type) {
        // Encoding can make the keys of a hint too long for a header.
        let text = hint.header();
        let again = OwnerHint::parse(&text).expect("a written hint is read");
        assert!(again == hint || again.owner.is_none());
    }
    if let Some(parts) = read_batch_answer(content_type, body) {
        assert!(parts.len() <= 100);
        assert!(parts.iter().all(|part| (100..600).contains(&part.status)));
    }
    if let Some(error) = ErrorBody::read(body) {
        let (index, text) = error.split_index();
        assert!(index.is_none_or(|index| index < 1_000) && error.message.ends_with(text));
    }
    let _ = read_service_stats(body);
    if let Ok(mut page) = PageReader::new(body) {
        while let Ok(Some(row)) = page.next_row() {
            check(row);
        }
    }
    let _ = read_row(body, |row| {
        check(row);
        Ok(())
    });
});

fn check(row: RowReader<'_, '_>) {
    let _ = (row.etag(), row.timestamp());
    let (Ok(partition_key), Ok(row_key)) = (row.partition_key(), row.row_key()) else {
        return;
    };
    let Some(properties) = properties(row) else {
        return;
    };
    let names: HashSet<&str> = properties.iter().map(|(name, _)| name.as_str()).collect();
    // Skips entities that name a property twice: the service never sends one.
    if names.len() < properties.len() {
        return;
    }
    let (partition_key, row_key) = (
        partition_key.unwrap_or_default(),
        row_key.unwrap_or_default(),
    );
    let mut body = Vec::new();
    let lent = properties
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_ref()));
    write_entity(&partition_key, &row_key, lent, &mut body);
    read_row(&body, |again| {
        assert_eq!(again.partition_key()?.as_deref(), Some(&*partition_key));
        assert_eq!(again.row_key()?.as_deref(), Some(&*row_key));
        // Debug text, because NaN differs from itself.
        assert_eq!(
            format!("{:?}", self::properties(again)),
            format!("{:?}", Some(&properties))
        );
        Ok(())
    })
    .expect("the client reads a body that it wrote");
}

fn properties(row: RowReader<'_, '_>) -> Option<Vec<(String, Value)>> {
    let mut properties = Vec::new();
    row.properties(|_, name, value| properties.push((name.to_owned(), value.to_value())))
        .ok()?;
    Some(properties)
}
