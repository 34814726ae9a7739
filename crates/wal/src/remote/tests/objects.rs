//! The bytes of objects.

use bytes::Bytes;
use proptest::prelude::*;

use super::super::group::{PendingGroup, Position};
use super::super::object::{self, Fault, Header, Kind, SEAL_BYTES};
use super::*;
use crate::conformance::{row, rows, size};
use crate::{RecordHeader, Row};

fn joined(parts: [Bytes; 3]) -> Bytes {
    parts.concat().into()
}

fn record(range: u64, id: u64) -> RecordHeader {
    RecordHeader {
        range: RangeId(range),
        wal_id: WalId(id),
        seq: id + 100,
    }
}

/// A group with records of two ranges.
fn group(first: &[Row], second: &[Row]) -> Bytes {
    let mut group = PendingGroup::new(LIFE);
    group.room_bytes = u64::MAX;
    for (range, rows) in [(1, first), (2, second)] {
        let mut lent = rows.iter().map(Row::as_ref);
        group.add(record(range, 9), size(rows), &mut lent).unwrap();
    }
    joined(group.encode(Position {
        number: 5,
        floor: 3,
        created_below: 4,
    }))
}

fn seal(note: &str) -> Bytes {
    let header = Header {
        kind: Kind::Seal,
        life: LIFE,
        number: 6,
        nonce: 1,
        floor: 3,
        created_below: 6,
        parts: 0,
    };
    object::encode_seal(&header, note)
}

/// Sets the checksum at the end of `bytes`.
fn repair(bytes: &mut [u8]) {
    let (content, crc) = bytes.split_last_chunk_mut::<4>().unwrap();
    *crc = crc32fast::hash(content).to_le_bytes();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]
    /// With correct checksums of header and object, the changes reach the table of parts and the records.
    #[test]
    fn a_changed_group_with_repaired_checksums_does_not_panic(
        changes in proptest::collection::vec((any::<proptest::sample::Index>(), any::<u8>()), 1..4),
        cut in 0..40_usize,
    ) {
        let rows = [row("key", "value")];
        let mut object = group(&rows, &rows).to_vec();
        object.truncate(object.len() - cut);
        for (at, byte) in changes {
            let at = at.index(object.len());
            object[at] = byte;
        }
        repair(&mut object[..64]);
        repair(&mut object);
        prop_assert!(object::read_untrusted(&object.into()) <= 2);
    }
}

proptest! {
    #[test]
    fn a_group_is_read_back(first in rows(), second in rows()) {
        let object = group(&first, &second);
        let read = object::decode_group(&object).unwrap();
        let Header { life, number, floor, created_below, .. } = read.header;
        prop_assert_eq!((life, number, floor, created_below), (LIFE, 5, 3, 4));
        prop_assert_eq!(read.bytes, object.len() as u64);
        for (found, (range, expected)) in read.records.iter().zip([(1, first), (2, second)]) {
            prop_assert_eq!(found.header, record(range, 9));
            let rows: Vec<Row> = found.rows().map(Result::unwrap).collect();
            prop_assert_eq!(rows, expected);
        }
        prop_assert!(object::decode_seal(&object).is_err());
    }

    #[test]
    fn random_bytes_do_not_panic(bytes in proptest::collection::vec(any::<u8>(), 0..500)) {
        prop_assert_eq!(object::read_untrusted(&bytes.into()), 0);
    }
}

#[test]
fn a_flipped_bit_or_a_missing_byte_is_found() {
    let rows = [row("key", "value")];
    for object in [group(&rows, &rows), seal("note")] {
        let read = |bytes: Vec<u8>| {
            let bytes = Bytes::from(bytes);
            object::decode_group(&bytes).is_ok() || object::decode_seal(&bytes).is_ok()
        };
        assert!(read(object.to_vec()));
        for at in 0..object.len() {
            let mut damaged = object.to_vec();
            damaged[at] ^= 4;
            assert!(!read(damaged), "byte {at}");
            assert!(!read(object[..at].to_vec()), "cut at {at}");
        }
        assert!(!read([&object[..], b"x"].concat()));
    }
}

#[test]
fn a_seal_has_its_length_and_note() {
    let long = "ä".repeat(100);
    for note in ["", "take-over by b:10011", &long] {
        let object = seal(note);
        assert_eq!(object.len() as u64, SEAL_BYTES);
        let (header, read) = object::decode_seal(&object).unwrap();
        assert_eq!((header.kind, header.number), (Kind::Seal, 6));
        assert!(
            note.starts_with(&read) && (read == note || read.len() > 56),
            "{read}"
        );
        assert!(object::decode_group(&object).is_err());
    }
}

#[test]
fn no_group_has_the_length_of_a_seal() {
    let mut empty = PendingGroup::new(LIFE);
    let empty = joined(empty.encode(Position::default()));
    assert!(empty.len() as u64 > 64 && (empty.len() as u64) < SEAL_BYTES);
    assert!(object::decode_group(&empty).unwrap().records.is_empty());
    let mut smallest = PendingGroup::new(LIFE);
    smallest.room_bytes = u64::MAX;
    smallest
        .add(record(1, 1), size(&[]), &mut std::iter::empty())
        .unwrap();
    let smallest = joined(smallest.encode(Position::default()));
    assert!(smallest.len() as u64 > SEAL_BYTES);
}

#[test]
fn another_version_is_refused_by_its_number() {
    let mut object = group(&[row("k", "v")], &[]).to_vec();
    object[8] = 9;
    repair(&mut object[..64]);
    let read = object::decode_group(&object.into());
    assert_eq!(read.map(|_| ()), Err(Fault::Version(9)));
}

/// Objects of version 1, written by another program from `docs/format/remote-log.md`.
#[test]
fn objects_of_the_documented_format_are_read() {
    let object = include_bytes!("../../../../../fuzz/corpus-seed/log_object/group");
    let read = object::decode_group(&Bytes::from_static(object)).unwrap();
    let Header { number, floor, .. } = read.header;
    assert_eq!((read.header.life, number, floor), (LIFE, 5, 3));
    let ids = read.records.iter().map(|record| record.header);
    assert_eq!(ids.collect::<Vec<_>>(), [record(1, 9), record(2, 4)]);
    let rows: Vec<Row> = read.records[0].rows().map(Result::unwrap).collect();
    let gone = Row {
        value: None,
        create_ts: None,
        ..row("gone", "")
    };
    assert_eq!(rows, [row("key", "value"), gone]);

    let object = include_bytes!("../../../../../fuzz/corpus-seed/log_object/seal");
    let (header, note) = object::decode_seal(&Bytes::from_static(object)).unwrap();
    assert_eq!((header.number, header.created_below), (6, 6));
    assert_eq!(note, "take-over by b:10011");
}

#[test]
fn an_object_under_another_name_is_refused() {
    let object = group(&[row("k", "v")], &[]);
    let header = object::decode_group(&object).unwrap().header;
    assert_eq!(header.check_name(LIFE, 5), Ok(()));
    assert!(header.check_name(LIFE, 6).is_err());
    assert!(header.check_name(Life(8), 5).is_err());
}
