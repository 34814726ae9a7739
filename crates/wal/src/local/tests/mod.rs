use std::fs;

use bytes::Bytes;
use proptest::prelude::*;
use slatedb::ValueDeletable;

use super::format::{RecordHeader, SECTOR_BYTES, SegmentHeader};
use super::*;

mod damage;

const RANGE: RangeId = RangeId(7);
const OPTIONS: LogOptions = LogOptions {
    segment_bytes: 8 << 10,
    spare_count: 1,
    recycled_count_max: 2,
};

fn row(key: &str, value: &str, seq: u64) -> RowEntry {
    RowEntry {
        key: Bytes::copy_from_slice(key.as_bytes()),
        value: ValueDeletable::Value(Bytes::copy_from_slice(value.as_bytes())),
        seq,
        create_ts: Some(1_700_000_000_000),
        expire_ts: None,
    }
}

impl Log {
    /// A group of one record.
    fn append(
        &self,
        range: RangeId,
        wal_id: WalId,
        seq: u64,
        rows: &[RowEntry],
    ) -> Result<(), AppendError> {
        self.gather(range, wal_id, seq, rows)?;
        self.append_gathered()
    }
}

fn open(directory: &Path) -> Result<(Log, Vec<Record>), OpenLogError> {
    Log::open(directory, Arc::new(OsDisk), OPTIONS, Resume::Behind)
}

/// Appends a record of one row with a value of so many bytes.
fn append(log: &Log, id: u64, value_bytes: usize) -> Result<(), AppendError> {
    let rows = [row(&format!("key {id}"), &"v".repeat(value_bytes), id)];
    log.make_room(record_bytes_max(1, 16 + value_bytes))
        .unwrap();
    log.append(RANGE, WalId(id), id, &rows)
}

fn ids(records: &[Record]) -> Vec<u64> {
    records.iter().map(|record| record.wal_id().0).collect()
}

#[test]
fn what_was_appended_is_read_back() {
    let directory = tempfile::tempdir().unwrap();
    let deleted = RowEntry {
        key: "gone".into(),
        value: ValueDeletable::Tombstone,
        seq: 2,
        create_ts: None,
        expire_ts: Some(-5),
    };
    let second = [row("a", "", 2), deleted, row("", "x", 2)];
    let (log, found) = open(directory.path()).unwrap();
    assert!(found.is_empty());
    log.append(RANGE, WalId(1), 1, &[row("a", "1", 1)]).unwrap();
    log.append(RANGE, WalId(2), 2, &second).unwrap();
    drop(log);

    let (log, found) = open(directory.path()).unwrap();
    assert_eq!(ids(&found), [1, 2]);
    assert_eq!(found[0].rows().unwrap(), [row("a", "1", 1)]);
    assert_eq!(found[1].rows().unwrap(), second);
    assert_eq!(found[1].range(), RANGE);
    log.append(RANGE, WalId(3), 3, &[row("b", "3", 3)]).unwrap();
    drop(log);
    assert_eq!(ids(&open(directory.path()).unwrap().1), [1, 2, 3]);
}

#[test]
fn the_log_goes_on_over_many_segments_and_uses_them_again() {
    let directory = tempfile::tempdir().unwrap();
    let mut written = Vec::new();
    for life in 0..4 {
        let (log, found) = open(directory.path()).unwrap();
        let found = ids(&found);
        assert!(
            written.ends_with(&found),
            "nothing but a prefix is ever given up"
        );
        for _ in 0..40 {
            let id = written.len() as u64 + 1;
            append(&log, id, 900).unwrap();
            written.push(id);
            if id.is_multiple_of(25) {
                log.release(RANGE, WalId(id - 10));
                assert!(
                    log.live_count() <= 3,
                    "life {life}: {} segments",
                    log.live_count()
                );
            }
        }
        assert!(log.is_due(RANGE, WalId(0), 1));
        assert!(!log.is_due(RANGE, WalId(u64::MAX), 1));
    }
    let files = fs::read_dir(directory.path()).unwrap().count();
    assert!(files <= 12, "{files} files");
}

#[test]
fn a_segment_that_another_range_needs_is_kept() {
    let directory = tempfile::tempdir().unwrap();
    let (log, _) = open(directory.path()).unwrap();
    log.append(RangeId(1), WalId(1), 1, &[row("other", "1", 1)])
        .unwrap();
    for id in 1..=20 {
        append(&log, id, 900).unwrap();
    }
    let before = log.live_count();
    log.release(RANGE, WalId(20));
    assert_eq!(
        log.live_count(),
        before,
        "the first segment holds a record of range 1"
    );
    log.release(RangeId(1), WalId(1));
    assert_eq!(log.live_count(), 1);
}

#[test]
fn after_a_failed_sync_nothing_is_appended_until_it_is_opened_afresh() {
    for fault in [SyncFault::AfterTheFact, SyncFault::Lost, SyncFault::Torn] {
        let directory = tempfile::tempdir().unwrap();
        let disk = FaultyDisk::default();
        let open =
            |resume| Log::open(directory.path(), Arc::new(disk.clone()), OPTIONS, resume).unwrap();
        let (log, _) = open(Resume::Behind);
        append(&log, 1, 600).unwrap();
        disk.fail_next_sync(fault);
        assert!(matches!(append(&log, 2, 600), Err(AppendError::Io(_))));
        assert!(matches!(append(&log, 3, 600), Err(AppendError::Poisoned)));
        drop(log);

        let (log, found) = open(Resume::Afresh);
        let found = ids(&found);
        let unknown = fault == SyncFault::AfterTheFact;
        assert_eq!(
            found,
            if unknown { vec![1, 2] } else { vec![1] },
            "{fault:?}"
        );
        let next = found.len() as u64 + 1;
        append(&log, next, 600).unwrap();
        drop(log);
        let (_, found) = open(Resume::Behind);
        assert_eq!(ids(&found), (1..=next).collect::<Vec<u64>>(), "{fault:?}");
    }
}

#[test]
fn spares_are_made_once_they_will_be_needed() {
    let directory = tempfile::tempdir().unwrap();
    let count = || fs::read_dir(directory.path()).unwrap().count();
    let (log, _) = open(directory.path()).unwrap();
    append(&log, 1, 100).unwrap();
    log.prepare().unwrap();
    assert_eq!(count(), 1, "a small log has one file");
    for id in 2..=4 {
        append(&log, id, 700).unwrap();
    }
    log.prepare().unwrap();
    assert_eq!(count(), 1 + OPTIONS.spare_count);
}

#[test]
fn a_full_disk_is_noticed_before_anything_is_written() {
    let directory = tempfile::tempdir().unwrap();
    let disk = FaultyDisk::default();
    let (log, _) = Log::open(
        directory.path(),
        Arc::new(disk.clone()),
        OPTIONS,
        Resume::Behind,
    )
    .unwrap();
    disk.set_full(true);
    let bytes = record_bytes_max(1, 900);
    let mut id = 0;
    let refused = loop {
        match log.make_room(bytes) {
            Ok(()) => {
                id += 1;
                log.append(RANGE, WalId(id), id, &[row("k", &"v".repeat(800), id)])
                    .unwrap();
            }
            Err(error) => break error,
        }
    };
    assert_eq!(refused.kind(), io::ErrorKind::StorageFull);
    assert!(id > 5);
    disk.set_full(false);
    log.make_room(bytes).unwrap();
    log.append(RANGE, WalId(id + 1), id + 1, &[row("k", "v", id + 1)])
        .unwrap();
    drop(log);
    assert_eq!(open(directory.path()).unwrap().1.len() as u64, id + 1);
}

#[test]
fn a_group_costs_one_sync() {
    let directory = tempfile::tempdir().unwrap();
    let disk = FaultyDisk::default();
    let (log, _) = Log::open(
        directory.path(),
        Arc::new(disk.clone()),
        OPTIONS,
        Resume::Behind,
    )
    .unwrap();
    let before = disk.sync_count();
    for id in 1..=5 {
        append(&log, id, 100).unwrap();
    }
    assert_eq!(disk.sync_count() - before, 5);
}

#[test]
fn what_does_not_fit_is_refused_untouched() {
    let directory = tempfile::tempdir().unwrap();
    let (log, _) = open(directory.path()).unwrap();
    assert_eq!(
        log.make_room(1 << 32).unwrap_err().kind(),
        io::ErrorKind::InvalidInput
    );
    let merge = RowEntry {
        value: ValueDeletable::Merge("x".into()),
        ..row("k", "", 1)
    };
    assert!(matches!(
        log.append(RANGE, WalId(1), 1, &[merge]),
        Err(AppendError::Unfit)
    ));
    let large = row("k", &"v".repeat(9_000), 1);
    assert!(matches!(
        log.append(RANGE, WalId(1), 1, &[large]),
        Err(AppendError::Unfit)
    ));
    append(&log, 1, 10).unwrap();
    drop(log);
    assert_eq!(ids(&open(directory.path()).unwrap().1), [1]);
}

/// Files of the log.
fn file_count(directory: &Path) -> usize {
    fs::read_dir(directory).unwrap().count()
}

/// The ready segments have lower numbers than the long one that comes before them, and a start reads in the order of numbers.
#[test]
fn a_record_longer_than_a_segment_gets_one_of_its_own() {
    let directory = tempfile::tempdir().unwrap();
    let (log, _) = open(directory.path()).unwrap();
    let lengths = [3_000, 40_000, 700, 40_000, 40_000, 3_000, 3_000, 3_000];
    for (id, bytes) in (1..).zip(lengths) {
        append(&log, id, bytes).unwrap();
        log.prepare().unwrap();
    }
    assert!(log.live_bytes() > 3 * 40_000);
    assert!(log.is_as_long_as(15) && !log.is_as_long_as(25));
    drop(log);
    let (log, found) = open(directory.path()).unwrap();
    assert_eq!(ids(&found), [1, 2, 3, 4, 5, 6, 7, 8]);
    assert_eq!(
        found[3].rows().unwrap(),
        [row("key 4", &"v".repeat(40_000), 4)]
    );
    log.release(RANGE, WalId(8));
    assert_eq!(log.live_bytes(), OPTIONS.segment_bytes);
    append(&log, 9, 10).unwrap();
    drop(log);
    assert!(file_count(directory.path()) <= 4, "long ones are not kept");
    assert_eq!(ids(&open(directory.path()).unwrap().1).last(), Some(&9));
}

#[test]
fn a_torn_long_record_costs_itself_only() {
    let directory = tempfile::tempdir().unwrap();
    let (log, _) = open(directory.path()).unwrap();
    append(&log, 1, 700).unwrap();
    log.prepare().unwrap();
    append(&log, 2, 40_000).unwrap();
    drop(log);
    let mut paths: Vec<PathBuf> = fs::read_dir(directory.path())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    paths.sort();
    let long = paths.last().unwrap();
    let mut bytes = fs::read(long).unwrap();
    assert!(bytes.len() > 40_000);
    bytes[30_000..].fill(0);
    fs::write(long, bytes).unwrap();
    let (log, found) = open(directory.path()).unwrap();
    assert_eq!(ids(&found), [1]);
    append(&log, 2, 50_000).unwrap();
    append(&log, 3, 10).unwrap();
    drop(log);
    assert_eq!(ids(&open(directory.path()).unwrap().1), [1, 2, 3]);
}

#[test]
fn a_disk_too_full_for_a_long_record_keeps_what_is_ready() {
    let directory = tempfile::tempdir().unwrap();
    let disk = FaultyDisk::default();
    let opened = Log::open(
        directory.path(),
        Arc::new(disk.clone()),
        OPTIONS,
        Resume::Behind,
    );
    let (log, _) = opened.unwrap();
    append(&log, 1, 3_000).unwrap();
    log.prepare().unwrap();
    disk.set_full(true);
    let refused = log.make_room(40_000).unwrap_err();
    assert_eq!(refused.kind(), io::ErrorKind::StorageFull);
    for id in 2..=4 {
        append(&log, id, 3_000).unwrap();
    }
    disk.set_full(false);
    append(&log, 5, 40_000).unwrap();
    drop(log);
    assert_eq!(ids(&open(directory.path()).unwrap().1), [1, 2, 3, 4, 5]);
}

fn rows() -> impl Strategy<Value = Vec<RowEntry>> {
    let bytes = |count_max| proptest::collection::vec(any::<u8>(), 0..count_max);
    let value = proptest::option::of(bytes(300));
    let row = (bytes(40), value, any::<Option<i64>>(), any::<Option<i64>>());
    proptest::collection::vec(row, 1..20).prop_map(|rows| {
        rows.into_iter()
            .map(|(key, value, create_ts, expire_ts)| RowEntry {
                key: key.into(),
                value: value.map_or(ValueDeletable::Tombstone, |value| {
                    ValueDeletable::Value(value.into())
                }),
                seq: 9,
                create_ts,
                expire_ts,
            })
            .collect()
    })
}

proptest! {
    #[test]
    fn records_come_back_as_they_went(rows in rows(), salt in any::<u64>()) {
        let header = RecordHeader { group: 3, range: RANGE, wal_id: WalId(4), seq: 9 };
        let before = SECTOR_BYTES as usize;
        let mut buffer = vec![7; before];
        format::encode_record(&mut buffer, salt, &header, &rows).unwrap();
        let payload = rows.iter().map(|row| row.key.len() + row.value.len()).sum();
        let bytes = Bytes::from(buffer).slice(before..);
        prop_assert!(bytes.len() as u64 <= record_bytes_max(rows.len(), payload));
        let (framed, body) = format::decode_record(salt, &bytes).unwrap();
        prop_assert_eq!(framed.header, header);
        prop_assert_eq!(format::framed_bytes(&framed), bytes.len());
        prop_assert_eq!(format::decode_rows(body, framed.row_count, 9).unwrap(), rows);
        prop_assert!(format::decode_record(salt ^ 1, &bytes).is_none(), "another segment's salt");
    }

    #[test]
    fn strange_bytes_are_no_records(bytes in proptest::collection::vec(any::<u8>(), 0..2_000), count in any::<u32>()) {
        let bytes = Bytes::from(bytes);
        prop_assert!(format::decode_record(1, &bytes).is_none());
        prop_assert!(SegmentHeader::decode(&bytes).is_err());
        // Rows of a body that passed its checksum, yet is not what this version writes: an answer, not a panic.
        let _ = format::decode_rows(bytes, count, 1);
    }
}

/// A group of several ranges of which a crash left the parts named: what is whole before the first gap may be kept, what is
/// behind it is never read, also not after later groups have been written.
#[test]
fn parts_of_a_torn_group_never_come_back() {
    for kept in [
        [true, false, true],
        [false, true, true],
        [false, false, true],
    ] {
        for earlier in [0, 1] {
            let directory = tempfile::tempdir().unwrap();
            let (log, _) = open(directory.path()).unwrap();
            for id in 1..=earlier {
                append(&log, id, 10).unwrap();
            }
            let start = (1 + earlier as usize) * 512;
            for (at, range) in [RangeId(1), RangeId(2), RangeId(3)].into_iter().enumerate() {
                let rows = [row("torn", &"t".repeat(100), 9 + at as u64)];
                log.gather(range, WalId(1), 9 + at as u64, &rows).unwrap();
            }
            log.append_gathered().unwrap();
            drop(log);
            let path = segment_path(directory.path(), 1);
            let mut bytes = fs::read(&path).unwrap();
            for (at, _) in kept.iter().enumerate().filter(|(_, kept)| !**kept) {
                bytes[start + at * 512 + 60] ^= 1;
            }
            fs::write(&path, bytes).unwrap();

            let (log, found) = open(directory.path()).unwrap();
            let whole = kept.iter().take_while(|kept| **kept).count();
            assert_eq!(found.len(), earlier as usize + whole);
            log.append(RangeId(2), WalId(1), 20, &[row("new", "2", 20)])
                .unwrap();
            drop(log);
            let (_, found) = open(directory.path()).unwrap();
            assert_eq!(found.len(), earlier as usize + whole + 1, "{kept:?}");
            assert_eq!(found.last().unwrap().rows().unwrap(), [row("new", "2", 20)]);
        }
    }
}

/// A log whose first range writes once and whose second fills six segments.
fn log_of_two(directory: &Path) -> Log {
    let (log, _) = open(directory).unwrap();
    log.append(IDLE, WalId(1), 1, &[row("idle", "1", 1)])
        .unwrap();
    for id in 1..=12 {
        append(&log, id, 3_000).unwrap();
        log.is_due(RANGE, WalId(id - 1), 1);
    }
    log
}

const IDLE: RangeId = RangeId(1);

#[test]
fn ranges_that_stopped_writing_are_found() {
    let directory = tempfile::tempdir().unwrap();
    let log = log_of_two(directory.path());
    assert_eq!(log.stragglers(2), [IDLE]);
    assert_eq!(log.stragglers(100), []);
    log.release(IDLE, WalId(1));
    assert_eq!(log.stragglers(2), []);
}

/// The second record lies in a new segment, and the range holds too few of them to be flushed when it writes.
#[test]
fn a_range_that_writes_seldom_is_found_too() {
    let directory = tempfile::tempdir().unwrap();
    let log = log_of_two(directory.path());
    log.append(IDLE, WalId(2), 2, &[row("idle", "2", 2)])
        .unwrap();
    assert!(!log.is_due(IDLE, WalId(0), 2));
    assert_eq!(log.stragglers(2), [IDLE]);
    assert!(log.is_due(IDLE, WalId(0), 1));
    assert_eq!(
        log.stragglers(2),
        [],
        "its database writes it to files already"
    );
}
