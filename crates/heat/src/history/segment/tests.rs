use super::*;
use proptest::prelude::*;
use std::sync::Arc;

fn load() -> impl Strategy<Value = Box<Load>> {
    let counts = prop::array::uniform7(prop_oneof![0_u64..9, 0..=COUNT_MAX]);
    let latency = prop::array::uniform8((0..COARSE_BUCKETS, prop_oneof![Just(0), any::<u32>()]));
    (counts, latency).prop_map(|(counts, counted)| {
        let [
            reads,
            writes,
            rows_scanned,
            rows_written,
            bytes_in,
            bytes_out,
            throttled,
        ] = counts;
        let counts = Counts {
            reads,
            writes,
            rows_scanned,
            rows_written,
            bytes_in,
            bytes_out,
            throttled,
        };
        let mut latency = CoarseLatency::new();
        for (bucket, count) in counted {
            latency.add_to_bucket(bucket, count);
        }
        Box::new(Load { counts, latency })
    })
}

/// Partitions that do not repeat themselves, in order.
fn spots() -> impl Strategy<Value = Vec<Spot>> {
    let key = prop::collection::vec(any::<u8>(), 0..40);
    let spots = prop::collection::btree_map(key, load(), 0..6);
    spots.prop_map(|spots| {
        let spots = spots.into_iter();
        let spot = |(partition, load)| Spot {
            partition: Arc::new(Bytes::from(partition)),
            load,
        };
        spots.map(spot).collect()
    })
}

/// Extents that do not repeat themselves, in any order.
fn cells() -> impl Strategy<Value = Vec<Cell>> {
    let extent = (
        prop::collection::vec(any::<u8>(), 0..40),
        prop::option::of(1_u8..255),
    );
    let extent = extent.prop_map(|(start, more)| Extent {
        end: more.map(|more| Bytes::from([&start[..], &[more]].concat())),
        start: start.into(),
    });
    let cells = prop::collection::btree_map(extent, prop::option::of(load()), 0..12);
    cells.prop_map(|cells| {
        let cells = cells.into_iter();
        let cell = |(extent, load)| Cell {
            extent: Arc::new(extent),
            load,
        };
        cells.map(cell).collect()
    })
}

fn segment() -> impl Strategy<Value = (SegmentName, Vec<Slot>)> {
    let tier = prop::sample::select(Tier::ALL.to_vec());
    let slots = prop::collection::btree_map(0_u32..360, (cells(), spots()), 0..8);
    (tier, 0_u32..400_000_000, slots).prop_map(|(tier, from, slots)| {
        let to = from + 360;
        let slots = slots.into_iter();
        let slots =
            slots.map(|(at, (cells, spots))| Slot::new(from + at, Happened { cells, spots }));
        (SegmentName { from, to, tier }, slots.collect())
    })
}

fn name() -> SegmentName {
    SegmentName {
        from: 177_000_000,
        to: 177_000_360,
        tier: Tier::Medium,
    }
}

/// An object with a body of our choice and a right checksum.
fn object(version: u32, body: &[u8]) -> Vec<u8> {
    let mut bytes = encode(name(), std::iter::empty());
    bytes.truncate(HEADER_BYTES);
    bytes[8..12].copy_from_slice(&version.to_le_bytes());
    bytes.extend_from_slice(body);
    bytes.extend(crc32fast::hash(&bytes).to_le_bytes());
    bytes
}

#[test]
fn bytes_are_those_of_the_format_document() {
    let extent = |start: &'static str, end: Option<&'static str>| {
        Arc::new(Extent {
            start: start.into(),
            end: end.map(Bytes::from),
        })
    };
    let mut latency = CoarseLatency::new();
    latency.add_to_bucket(3, 200);
    let counts = Counts {
        reads: 150,
        writes: 50,
        rows_scanned: 300,
        ..Counts::default()
    };
    let busy = Cell {
        extent: extent("", Some("table-k")),
        load: Some(Box::new(Load { counts, latency })),
    };
    let idle = Cell {
        extent: extent("table-k", None),
        load: None,
    };
    let counts = Counts {
        reads: 120,
        ..Counts::default()
    };
    let mut of_partition = CoarseLatency::new();
    of_partition.add_to_bucket(3, 120);
    let spot = Spot {
        partition: Arc::new("table-b".into()),
        load: Box::new(Load {
            counts,
            latency: of_partition,
        }),
    };
    let happened = Happened {
        cells: vec![busy, idle],
        spots: vec![spot],
    };
    let slots = [Slot::new(177_000_006, happened)];
    let expected = [
        &b"PARTHEAT"[..],
        &[2, 0, 0, 0, 6, 0, 0, 0],
        &[0x40, 0xCE, 0x8C, 0x0A, 0xA8, 0xCF, 0x8C, 0x0A],
        &[3, 0, 0, 0, 7],
        b"table-b",
        &[6, 1],
        b"k",
        &[1, 6, 2],
        &[
            0, 3, 2, 0x96, 0x01, 50, 0xAC, 0x02, 0, 0, 0, 0, 3, 0xC8, 0x01,
        ],
        &[2, 0, 0],
        &[1, 1, 2, 120, 0, 0, 0, 0, 0, 0, 3, 120],
    ]
    .concat();
    let bytes = encode(name(), slots.iter());
    assert_eq!(bytes[..bytes.len() - 4], expected);
    assert_eq!(name().to_string(), "0177000000-0177000360-6");
    let back = decode(name(), &bytes, &mut Keys::default()).unwrap();
    assert_eq!(back, slots);
}

#[test]
fn names_are_read_as_they_are_written_only() {
    assert_eq!(SegmentName::parse("0177000000-0177000360-6"), Some(name()));
    for other in [
        "",
        "177000000-177000360-6",
        "0177000000-0177000360-7",
        "0177000360-0177000000-6",
        "0177000000-0177000360-6-1",
        "0177000000-0177000360-06",
        "+177000000-0177000360-6",
        "0177000000-9999999999-6",
    ] {
        assert_eq!(SegmentName::parse(other), None, "{other}");
    }
}

#[test]
fn what_is_not_ours_is_refused() {
    let read = |bytes: &[u8]| decode(name(), bytes, &mut Keys::default());
    assert_eq!(read(&object(VERSION, &[0, 0])), Ok(Vec::new()));
    assert_eq!(read(&object(3, &[0, 0])), Err(SegmentFault::Version(3)));
    for body in [
        &[][..],
        // Bytes behind the end.
        &[0, 0, 0],
        // A number that is never over, and one above 64 bits.
        &[0xFF; 3],
        &[0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x7F],
        // Keys out of order; a key that shares more than there is.
        &[2, 0, 1, b'b', 0, 1, b'a', 0],
        &[1, 1, 0, 0],
        // Slots that do not rise, or lie behind the segment.
        &[0, 2, 5, 0, 0, 5, 0, 0],
        &[0, 1, 0xE8, 0x02, 0, 0],
        // A cell of keys that there are not, or that ends where it begins.
        &[0, 1, 0, 1, 0, 0, 0, 0],
        &[1, 0, 1, b'a', 1, 0, 1, 0, 1, 0, 0],
        // Two cells of one piece, and a count that is too large.
        &[1, 0, 1, b'a', 1, 0, 2, 0, 0, 0, 0, 0, 0, 0],
        &[
            1, 0, 1, b'a', 1, 0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0x81, 0x80, 0x80, 0x80, 0x80, 0x80,
            0x40, 0,
        ],
        // A bucket that there is not.
        &[
            1, 0, 1, b'a', 1, 0, 1, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 40, 1, 0,
        ],
        // Buckets that do not rise, and one without requests.
        &[
            1, 0, 1, b'a', 1, 0, 1, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 4, 1, 4, 1, 0,
        ],
        &[
            1, 0, 1, b'a', 1, 0, 1, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0,
        ],
        // A partition that there is not, one that is idle, and one that comes twice.
        &[1, 0, 1, b'a', 1, 0, 0, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0],
        &[1, 0, 1, b'a', 1, 0, 0, 1, 0, 0],
        &[
            1, 0, 1, b'a', 1, 0, 0, 2, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0,
        ],
    ] {
        assert_eq!(
            read(&object(VERSION, body)),
            Err(SegmentFault::Damaged),
            "{body:?}"
        );
    }
    let other = SegmentName {
        tier: Tier::Fine,
        ..name()
    };
    let moved = decode(other, &object(VERSION, &[0, 0]), &mut Keys::default());
    assert_eq!(moved, Err(SegmentFault::Damaged));
}

#[test]
fn segments_of_the_version_before_have_no_partitions() {
    let body = [1, 0, 1, b'a', 1, 0, 1, 0, 0, 1, 9, 0, 0, 0, 0, 0, 0];
    let slots = decode(name(), &object(1, &body), &mut Keys::default()).unwrap();
    let [slot] = &slots[..] else {
        panic!("{slots:?}");
    };
    assert_eq!((slot.cells().len(), slot.spots().len()), (1, 0));
    assert_eq!(
        decode(name(), &object(VERSION, &body), &mut Keys::default()),
        Err(SegmentFault::Damaged)
    );
}

proptest! {
    #[test]
    fn segments_round_trip((name, slots) in segment()) {
        let bytes = encode(name, slots.iter());
        let back = decode(name, &bytes, &mut Keys::default());
        prop_assert_eq!(back, Ok(slots));
        prop_assert_eq!(SegmentName::parse(&name.to_string()), Some(name));
    }

    #[test]
    fn damage_is_noticed((name, slots) in segment(), at: prop::sample::Index, bit in 0..8) {
        let bytes = encode(name, slots.iter());
        let mut damaged = bytes.clone();
        damaged[at.index(bytes.len())] ^= 1_u8 << bit;
        prop_assert!(decode(name, &damaged, &mut Keys::default()).is_err());
        let torn = &bytes[..at.index(bytes.len())];
        prop_assert_eq!(decode(name, torn, &mut Keys::default()), Err(SegmentFault::Damaged));
    }

    #[test]
    fn any_body_is_read_or_refused((_, slots) in segment(), at: prop::sample::Index, byte: u8, any: Vec<u8>) {
        let _ = decode(name(), &object(VERSION, &any), &mut Keys::default());
        // Nearly right, with a right checksum: deeper into the reader than any bytes would get.
        let mut body = encode_body(&slots);
        let at = at.index(body.len());
        body[at] = byte;
        let read = decode(name(), &object(VERSION, &body), &mut Keys::default());
        if let Ok(slots) = read {
            prop_assert!(encode_body(&slots).len() <= body.len());
        }
    }
}

/// The body of slots, from a segment that may lie elsewhere.
fn encode_body(slots: &[Slot]) -> Vec<u8> {
    let from = slots.first().map_or(0, |slot| slot.start);
    let name = SegmentName {
        from,
        to: from + 360,
        tier: Tier::Medium,
    };
    let bytes = encode(name, slots.iter());
    bytes[HEADER_BYTES..bytes.len() - 4].to_vec()
}
