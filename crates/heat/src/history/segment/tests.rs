use super::*;
use proptest::prelude::*;
use std::sync::Arc;

fn load() -> impl Strategy<Value = Box<LoadSum>> {
    let counts = prop::array::uniform7(prop_oneof![0_u64..9, 0..=COUNT_MAX]);
    let latency = prop::array::uniform8((0..COARSE_BUCKETS, prop_oneof![Just(0), any::<u32>()]));
    (counts, latency).prop_map(|(counts, counted)| {
        let mut counts = counts.into_iter();
        let counts = Counts::<u64>::default().map(|_| counts.next().unwrap());
        let mut latency = CoarseLatency::new();
        for (bucket, count) in counted {
            latency.add_to_bucket(bucket, count);
        }
        Box::new(LoadSum { counts, latency })
    })
}

/// Distinct partitions, in order.
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

/// Distinct extents, in order.
fn cells() -> impl Strategy<Value = Vec<Cell>> {
    let extent = (
        prop::collection::vec(any::<u8>(), 0..40),
        prop::option::of(1_u8..255),
    );
    let extent = extent.prop_map(|(start, more)| Bounds {
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
            slots.map(|(at, (cells, spots))| Slot::new(from + at, SlotLoad { cells, spots }));
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

/// Packs any document into a segment, as [`encode`] does.
fn pack(version: u32, document: &Document) -> Vec<u8> {
    pack_bytes(&postcard::to_allocvec(&(version, document)).unwrap())
}

fn pack_bytes(document: &[u8]) -> Vec<u8> {
    zstd::bulk::compress(document, ZSTD_LEVEL).unwrap()
}

/// A document of one slot with one busy cell and one partition.
fn one_slot() -> Document {
    let load = || StoredLoad {
        counts: Counts {
            reads: 9,
            ..Counts::default()
        },
        latency: vec![(3, 9)],
    };
    Document {
        span: 6,
        from: name().from,
        to: name().to,
        keys: vec!["".into(), "a".into()],
        slots: vec![StoredSlot {
            start: name().from,
            cells: vec![StoredCell {
                start: 0,
                end: Some(1),
                load: Some(Box::new(load())),
            }],
            partitions: vec![(0, load())],
        }],
    }
}

#[test]
fn bytes_are_those_of_the_format_document() {
    let extent = |start: &'static str, end: Option<&'static str>| {
        Arc::new(Bounds {
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
        load: Some(Box::new(LoadSum { counts, latency })),
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
        load: Box::new(LoadSum {
            counts,
            latency: of_partition,
        }),
    };
    let load = SlotLoad {
        cells: vec![busy, idle],
        spots: vec![spot],
    };
    let slots = [Slot::new(177_000_006, load)];
    let expected = [
        &[3][..],
        // As in the name: slots of 6 × 10 s, from 177,000,000 to 177,000,360 × 10 s.
        &[6, 0xC0, 0x9C, 0xB3, 0x54, 0xA8, 0x9F, 0xB3, 0x54],
        // Keys.
        &[3, 0, 7],
        b"table-b",
        &[7],
        b"table-k",
        // One slot, at 177,000,006, of two cells.
        &[1, 0xC6, 0x9C, 0xB3, 0x54, 2],
        &[0, 1, 2, 1],
        &[0x96, 0x01, 50, 0xAC, 0x02, 0, 0, 0, 0, 1, 3, 0xC8, 0x01],
        &[2, 0, 0],
        // One partition.
        &[1, 1, 120, 0, 0, 0, 0, 0, 0, 1, 3, 120],
    ]
    .concat();
    let bytes = encode(name(), slots.iter());
    assert_eq!(zstd::bulk::decompress(&bytes, 1 << 10).unwrap(), expected);
    assert_eq!(name().to_string(), "0177000000-0177000360-6");
    let back = decode(name(), &bytes, &mut Keys::default()).unwrap();
    assert_eq!(back, slots);
}

#[test]
fn only_names_as_written_are_parsed() {
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

/// A change that makes a document invalid.
type Break = fn(&mut Document);

#[test]
fn documents_that_break_a_bound_are_refused() {
    let read = |document: &Document| {
        let segment = pack(VERSION, document);
        decode(name(), &segment, &mut Keys::default())
    };
    assert_eq!(read(&one_slot()).unwrap().len(), 1);
    let breaks: [(&str, Break); 13] = [
        ("another tier", |it| it.span = 1),
        ("another begin", |it| it.from += 1),
        ("another end", |it| it.to += 1),
        ("a slot before the start of the segment", |it| {
            it.slots[0].start -= 1
        }),
        ("a slot after the end of the segment", |it| {
            it.slots[0].start = it.to
        }),
        ("two slots with the same time", |it| {
            it.slots.extend(one_slot().slots);
        }),
        ("a missing key", |it| it.slots[0].cells[0].start = 2),
        ("a missing end", |it| it.slots[0].cells[0].end = Some(2)),
        ("an end before the start", |it| {
            it.slots[0].cells[0].start = 1;
        }),
        ("a missing partition", |it| it.slots[0].partitions[0].0 = 2),
        ("a count that is too large", |it| {
            it.slots[0].partitions[0].1.counts.bytes_out = COUNT_MAX + 1;
        }),
        ("a missing bucket", |it| {
            it.slots[0].partitions[0].1.latency[0].0 = 40;
        }),
        ("too many cells", |it| {
            let idle = |_| StoredCell {
                start: 0,
                end: None,
                load: None,
            };
            it.slots[0].cells.extend((0..CELLS_MAX).map(idle));
        }),
    ];
    for (what, change) in breaks {
        let mut document = one_slot();
        change(&mut document);
        assert_eq!(read(&document), Err(SegmentFault::Damaged), "{what}");
    }
    let mut longer = postcard::to_allocvec(&(VERSION, one_slot())).unwrap();
    longer.push(0);
    let longer = decode(name(), &pack_bytes(&longer), &mut Keys::default());
    assert_eq!(longer, Err(SegmentFault::Damaged));
}

#[test]
fn an_unknown_version_is_reported() {
    let read = |segment: &[u8]| decode(name(), segment, &mut Keys::default());
    let newer = pack(4, &one_slot());
    assert_eq!(read(&newer), Err(SegmentFault::Version(4)));
    for version in [1, 2] {
        let old = [OLD_MAGIC, &[version, 0, 0, 0, 6, 0, 0, 0]].concat();
        let version = u32::from(version);
        assert_eq!(read(&old), Err(SegmentFault::Version(version)));
    }
}

#[test]
fn a_document_above_its_size_limit_is_refused() {
    let zeros = pack_bytes(&vec![0; DOCUMENT_BYTES_MAX + 1]);
    assert!(zeros.len() < 64 << 10);
    let read = decode(name(), &zeros, &mut Keys::default());
    assert_eq!(read, Err(SegmentFault::Damaged));
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
    fn every_damaged_bit_is_detected_or_harmless((name, slots) in segment(), at: prop::sample::Index, bit in 0..8) {
        let bytes = encode(name, slots.iter());
        let mut damaged = bytes.clone();
        damaged[at.index(bytes.len())] ^= 1_u8 << bit;
        // zstd ignores one bit of its header; a change of that bit does not change the content.
        if let Ok(read) = decode(name, &damaged, &mut Keys::default()) {
            prop_assert_eq!(read, slots);
        }
        let torn = &bytes[..at.index(bytes.len())];
        prop_assert_eq!(decode(name, torn, &mut Keys::default()), Err(SegmentFault::Damaged));
    }

    #[test]
    fn random_bytes_are_decoded_or_refused((name, slots) in segment(), at: prop::sample::Index, byte: u8, any: Vec<u8>) {
        let _ = decode(name, &any, &mut Keys::default());
        let _ = decode(name, &pack_bytes(&any), &mut Keys::default());
        // Nearly valid bytes with a valid checksum reach code that random bytes do not reach.
        let mut document = postcard::to_allocvec(&(VERSION, document(name, slots.iter()))).unwrap();
        let at = at.index(document.len());
        document[at] = byte;
        let _ = decode(name, &pack_bytes(&document), &mut Keys::default());
    }
}
