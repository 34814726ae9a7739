use std::fs;

use bytes::Bytes;
use futures::FutureExt;
use proptest::prelude::*;

use super::format::{HEAD_SLOT_BYTES, SECTOR_BYTES, SegmentHeader};
use super::head::head_path;
use super::*;
use crate::conformance::{self, Subject, rows, script, size};
use crate::framing::{self, GroupHeader};
use crate::{AppendError, AppendFault, RangeId, RecordHeader, RoomError, Row, Rows, WalId};

mod damage;
mod head;
mod verify_open;

const RANGE: RangeId = RangeId(7);
const OPTIONS: Options = Options {
    segment_bytes: conformance::SEGMENT_BYTES,
    spare_count: 1,
    recycled_count_max: 2,
    flush_after_segments: conformance::FLUSH_AFTER_SEGMENTS,
    live_segments_max: conformance::LIVE_SEGMENTS_MAX,
    idle_calls_max: 4,
};

/// A WAL on a disk that can fail.
struct Directory {
    directory: tempfile::TempDir,
    disk: FaultyDisk,
    storage: LocalStorage,
}

impl Directory {
    fn new(disk: FaultyDisk) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().to_owned();
        let storage = LocalStorage::with_disk(path, Arc::new(disk.clone()), OPTIONS);
        Self {
            directory,
            disk,
            storage,
        }
    }

    fn path(&self) -> &Path {
        self.directory.path()
    }

    /// The segments, in order.
    fn segments(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.path()).unwrap();
        let paths = entries.map(|entry| entry.unwrap().path());
        let mut paths: Vec<PathBuf> = paths
            .filter(|path| path.extension().is_some_and(|it| it == "log"))
            .collect();
        paths.sort();
        paths
    }

    fn file_count(&self) -> usize {
        self.segments().len()
    }

    fn open(&self, resume: Resume) -> Result<LocalWal, OpenWalError> {
        let disk = Arc::new(self.disk.clone());
        LocalWal::open(self.path(), disk, OPTIONS, resume, Arc::default())
    }

    /// Checks that the WAL counts the bytes of its segments as they are in the directory.
    fn check_segment_bytes(&self, wal: &LocalWal) {
        let sizes = self.segments().into_iter();
        let sizes = sizes.map(|segment| fs::metadata(segment).unwrap().len());
        assert_eq!(wal.segment_bytes(), sizes.sum::<u64>());
    }

    fn reopen(&self) -> LocalWal {
        self.open(Resume::AfterStop).unwrap()
    }
}

fn new_log() -> (Directory, LocalWal) {
    let directory = Directory::new(FaultyDisk::default());
    let wal = directory.reopen();
    (directory, wal)
}

/// A closed WAL with records of `value_bytes` each, of which the first two were released.
fn log_with_two_released(records: u64, value_bytes: usize) -> Directory {
    let (directory, wal) = new_log();
    for id in 1..=records {
        append(&wal, id, value_bytes).unwrap();
    }
    wal.release(RANGE, WalId(2));
    maintain(&wal);
    directory
}

impl Subject for Directory {
    fn storage(&self) -> &dyn WalStorage {
        &self.storage
    }

    fn fail_next_append(&self, fault: AppendFault) {
        self.disk.fail_next_sync(fault);
    }

    fn set_full(&self, full: bool) {
        self.disk.set_full(full);
    }
}

#[tokio::test]
async fn conforms() {
    conformance::run(|| Box::new(Directory::new(FaultyDisk::lazy()))).await;
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn keeps_acknowledged_records(steps in script::steps()) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        // Without real syncs, because the test never cuts the power.
        let subject = Directory::new(FaultyDisk::lazy());
        runtime.block_on(script::play(&subject, &steps));
    }
}

fn row(key: &str, value: &str) -> Row {
    conformance::row(key, value.to_owned())
}

/// Makes room for a record. A local WAL returns without waiting.
fn make_room(wal: &LocalWal, value_bytes: usize) -> Result<(), RoomError> {
    let size = size(&[row("key 100", &"v".repeat(value_bytes))]);
    let made = wal.make_room(&mut [size].into_iter());
    made.now_or_never().unwrap()
}

/// Appends a group of one record with one row and a value of `value_bytes`.
fn append(wal: &LocalWal, id: u64, value_bytes: usize) -> Result<(), AppendError> {
    make_room(wal, value_bytes).unwrap();
    let rows = [row(&format!("key {id}"), &"v".repeat(value_bytes))];
    append_rows(wal, RANGE, id, &rows)
}

fn append_rows(wal: &LocalWal, range: RangeId, id: u64, rows: &[Row]) -> Result<(), AppendError> {
    conformance::add(wal, range, id, rows)?;
    wal.append_group().now_or_never().unwrap()
}

fn maintain(wal: &LocalWal) {
    wal.maintain_blocking().unwrap();
}

/// The numbers of the recovered records.
fn ids(wal: &LocalWal) -> Vec<u64> {
    conformance::recovered_ids(wal, RANGE)
}

#[test]
fn segments_are_reused() {
    let directory = Directory::new(FaultyDisk::default());
    let mut last = 0;
    for _life in 0..4 {
        let wal = directory.reopen();
        for _ in 0..40 {
            last += 1;
            append(&wal, last, 900).unwrap();
            if last.is_multiple_of(25) {
                wal.release(RANGE, WalId(last - 10));
                maintain(&wal);
                assert!(wal.live_bytes() <= 3 * OPTIONS.segment_bytes);
            }
            directory.check_segment_bytes(&wal);
        }
    }
    let files = directory.file_count();
    assert!(files <= 12, "{files} files");
}

/// A WAL without writes removes its flushed and its ready segments, and a few writes later do not create new ones.
#[test]
fn a_wal_at_rest_keeps_one_segment() {
    let (directory, wal) = new_log();
    for id in 1..=9 {
        append(&wal, id, 3_000).unwrap();
    }
    maintain(&wal);
    let rest = || {
        for _ in 0..=OPTIONS.idle_calls_max {
            maintain(&wal);
        }
    };
    rest();
    assert!(
        directory.file_count() > 5,
        "segments whose records are not flushed stay"
    );
    wal.release(RANGE, WalId(9));
    maintain(&wal);
    assert_eq!(directory.file_count(), 1);
    directory.check_segment_bytes(&wal);
    let first = directory.segments();
    append(&wal, 10, 20).unwrap();
    maintain(&wal);
    rest();
    assert_eq!(
        directory.segments(),
        first,
        "a small write creates no segment"
    );
    for id in 11..=13 {
        append(&wal, id, 3_000).unwrap();
        maintain(&wal);
    }
    assert!(directory.file_count() > 2, "spare segments are back");
    drop(wal);
    assert_eq!(ids(&directory.reopen()).last(), Some(&13));
}

#[test]
fn spare_segments_are_created_before_they_are_needed() {
    let (directory, wal) = new_log();
    append(&wal, 1, 100).unwrap();
    assert!(!wal.wants_maintenance());
    maintain(&wal);
    assert_eq!(directory.file_count(), 1, "a small WAL has one file");
    for id in 2..=4 {
        append(&wal, id, 700).unwrap();
    }
    assert!(wal.wants_maintenance());
    assert!(!wal.wants_maintenance(), "the call resets the flag");
    maintain(&wal);
    assert_eq!(directory.file_count(), 1 + OPTIONS.spare_count);
}

/// A group takes whole sectors.
#[tokio::test]
async fn written_bytes_are_those_of_the_groups() {
    let directory = Directory::new(FaultyDisk::lazy());
    let wal = conformance::open(&directory).await;
    let mut sectors = 0;
    for (id, (value_bytes, group_sectors)) in (1..).zip([(10, 1), (900, 2), (40_000, 79)]) {
        let rows = [row("key", &"v".repeat(value_bytes))];
        conformance::append(&*wal, RANGE, id, &rows).await.unwrap();
        sectors += group_sectors;
        let written = directory.storage.written_bytes();
        assert_eq!(written, sectors * SECTOR_BYTES, "{value_bytes}");
    }
}

#[test]
fn a_group_costs_one_sync() {
    let (directory, wal) = new_log();
    let before = directory.disk.sync_count();
    let heads = directory.disk.head_write_count();
    for id in 1..=5 {
        append(&wal, id, 100).unwrap();
    }
    assert_eq!(directory.disk.sync_count() - before, 5);
    assert_eq!(directory.disk.head_write_count(), heads);
}

/// The ready segments have lower numbers than the long segment that is written first, and recovery reads in the order
/// of numbers.
#[test]
fn a_record_longer_than_a_segment_gets_a_longer_segment() {
    let (directory, wal) = new_log();
    let lengths = [3_000, 40_000, 700, 40_000, 40_000, 3_000, 3_000, 3_000];
    for (id, bytes) in (1..).zip(lengths) {
        append(&wal, id, bytes).unwrap();
        maintain(&wal);
        directory.check_segment_bytes(&wal);
    }
    assert!(wal.live_bytes() > 3 * 40_000);
    assert!(wal.is_backlogged(), "the limit counts bytes, not files");
    drop(wal);
    let wal = directory.reopen();
    let records = wal.take_recovered(RANGE);
    assert_eq!(records.len(), 8);
    let rows: Vec<Row> = records[3].rows().map(Result::unwrap).collect();
    assert_eq!(rows, [row("key 4", &"v".repeat(40_000))]);
    wal.release(RANGE, WalId(8));
    maintain(&wal);
    assert_eq!(wal.live_bytes(), OPTIONS.segment_bytes);
    directory.check_segment_bytes(&wal);
    append(&wal, 9, 10).unwrap();
    drop(wal);
    assert!(
        directory.file_count() <= 4,
        "long segments are not kept for reuse"
    );
    assert_eq!(ids(&directory.reopen()).last(), Some(&9));
}

#[test]
fn a_torn_long_record_loses_no_other_record() {
    let (directory, wal) = new_log();
    append(&wal, 1, 700).unwrap();
    maintain(&wal);
    append(&wal, 2, 40_000).unwrap();
    drop(wal);
    let paths = directory.segments();
    let long = paths.last().unwrap();
    let mut bytes = fs::read(long).unwrap();
    assert!(bytes.len() > 40_000);
    bytes[30_000..].fill(0);
    fs::write(long, bytes).unwrap();
    let wal = directory.reopen();
    assert_eq!(ids(&wal), [1]);
    append(&wal, 2, 50_000).unwrap();
    append(&wal, 3, 10).unwrap();
    drop(wal);
    assert_eq!(ids(&directory.reopen()), [1, 2, 3]);
}

#[test]
fn ready_segments_stay_if_the_disk_is_too_full_for_a_long_record() {
    let (directory, wal) = new_log();
    append(&wal, 1, 3_000).unwrap();
    maintain(&wal);
    directory.disk.set_full(true);
    let refused = make_room(&wal, 40_000);
    assert!(matches!(refused, Err(RoomError::Full)), "{refused:?}");
    for id in 2..=4 {
        append(&wal, id, 3_000).unwrap();
    }
    directory.disk.set_full(false);
    append(&wal, 5, 40_000).unwrap();
    drop(wal);
    assert_eq!(ids(&directory.reopen()), [1, 2, 3, 4, 5]);
}

proptest! {
    #[test]
    fn records_are_decoded_as_encoded(rows in rows(), salt in any::<u64>()) {
        let record = RecordHeader { range: RANGE, wal_id: WalId(4), seq: 9 };
        let header = GroupHeader { group: 3, record };
        let before = SECTOR_BYTES as usize;
        let mut buffer = vec![7; before];
        let size = size(&rows);
        format::encode_record(&mut buffer, salt, &header, size, &mut rows.iter().map(Row::as_ref)).unwrap();
        let bytes = Bytes::from(buffer).slice(before..);
        prop_assert!(bytes.len() as u64 <= format::framed_bytes_max(size));
        let (framed, body) = framing::decode_record(salt, &bytes).unwrap();
        prop_assert_eq!(framed.header, header);
        prop_assert_eq!(format::framed_bytes(&framed), bytes.len());
        let read: Vec<Row> = Rows::new(body, framed.row_count).map(Result::unwrap).collect();
        prop_assert_eq!(read, rows);
        prop_assert!(framing::decode_record(salt ^ 1, &bytes).is_none(), "another segment's salt");
    }

    #[test]
    fn random_bytes_are_not_decoded(bytes in proptest::collection::vec(any::<u8>(), 0..2_000)) {
        let bytes = Bytes::from(bytes);
        prop_assert!(framing::decode_record(1, &bytes).is_none());
        prop_assert!(SegmentHeader::decode(&bytes).is_err());
    }
}

/// A crash left only some records of a group: complete records before the first gap are recovered, records after the
/// gap never, also not after later groups were written.
#[test]
fn records_after_a_gap_in_a_torn_group_are_never_recovered() {
    const RANGES: [RangeId; 3] = [RangeId(1), RangeId(2), RangeId(3)];
    for kept in [
        [true, false, true],
        [false, true, true],
        [false, false, true],
    ] {
        for earlier in [0, 1] {
            let directory = Directory::new(FaultyDisk::lazy());
            let wal = directory.reopen();
            for id in 1..=earlier {
                append(&wal, id, 10).unwrap();
            }
            for range in RANGES {
                let rows = [row("torn", &"t".repeat(100))];
                conformance::add(&wal, range, 1, &rows).unwrap();
            }
            wal.append_group().now_or_never().unwrap().unwrap();
            drop(wal);
            let start = (1 + earlier as usize) * 512;
            let path = segment_path(directory.path(), 1);
            let mut bytes = fs::read(&path).unwrap();
            for (at, _) in kept.iter().enumerate().filter(|(_, kept)| !**kept) {
                bytes[start + at * 512 + 60] ^= 1;
            }
            fs::write(&path, bytes).unwrap();

            let wal = directory.reopen();
            let whole = kept.iter().take_while(|kept| **kept).count();
            let found = |wal: &LocalWal| RANGES.map(|range| wal.take_recovered(range));
            let first = found(&wal).map(|records| records.len());
            assert_eq!(first.iter().sum::<usize>(), whole, "{kept:?}");
            let next = first[1] as u64 + 1;
            append_rows(&wal, RANGES[1], next, &[row("new", "2")]).unwrap();
            drop(wal);
            let wal = directory.reopen();
            assert_eq!(ids(&wal).len(), earlier as usize);
            let second = found(&wal);
            let count: usize = second.iter().map(|records| records.len()).sum();
            assert_eq!(count, whole + 1, "{kept:?}");
            let new: Vec<Row> = second[1]
                .back()
                .unwrap()
                .rows()
                .map(Result::unwrap)
                .collect();
            assert_eq!(new, [row("new", "2")]);
        }
    }
}
