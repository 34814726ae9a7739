//! Truncated or changed segments: recovery distinguishes a torn tail from damage.

use super::*;

/// Opens a copy of the WAL with a changed first segment, checks that it accepts a new record, and returns the numbers
/// of the recovered records.
fn open_changed(
    original: &Directory,
    change: impl FnOnce(&mut Vec<u8>),
) -> Result<Vec<u64>, OpenWalError> {
    let copy = Directory::new(FaultyDisk::lazy());
    let mut change = Some(change);
    let mut paths: Vec<PathBuf> = fs::read_dir(original.path())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    paths.sort();
    for path in paths {
        let mut bytes = fs::read(&path).unwrap();
        if let Some(change) = change.take() {
            change(&mut bytes);
        }
        fs::write(copy.path().join(path.file_name().unwrap()), bytes).unwrap();
    }
    let wal = copy.open(Resume::AfterStop)?;
    let found = ids(&wal);
    // After recovery the WAL must accept new records.
    let next = found.last().map_or(1, |last| last + 1);
    append(&wal, next, 10).unwrap();
    drop(wal);
    assert_eq!(ids(&copy.reopen()).last(), Some(&next));
    Ok(found)
}

/// A segment with three records of 1.5 sectors each, at offsets 512, 1536 and 2560.
fn three_records() -> Directory {
    let (directory, wal) = new_log();
    for id in 1..=3 {
        append(&wal, id, 700).unwrap();
    }
    directory
}

/// Bytes of a record of [`three_records`] without padding: header, row, key and value.
const RECORD_BYTES: usize = 48 + 1 + 2 + 4 + 8 + 5 + 700;

fn assert_damaged(opened: Result<LocalWal, OpenWalError>) {
    assert!(matches!(opened.err(), Some(OpenWalError::Damaged { .. })));
}

#[test]
fn a_tail_torn_at_any_byte_loses_only_the_last_record() {
    let directory = three_records();
    for cut in 2560..2560 + RECORD_BYTES {
        let found = open_changed(&directory, |bytes| bytes[cut..].fill(0)).unwrap();
        assert_eq!(found, [1, 2], "zeros from {cut}");
    }
    let whole = 2560 + RECORD_BYTES;
    let found = open_changed(&directory, |bytes| bytes[whole..].fill(0)).unwrap();
    assert_eq!(found, [1, 2, 3]);
}

/// Zeros over an acknowledged record, with or without its neighbours, are damage while a later record follows.
#[test]
fn zeros_before_the_last_record_are_an_error_that_names_the_file() {
    let directory = three_records();
    for zeros in [512..1536, 1536..2560, 512..2560, 1024..1536, 2048..2560] {
        let opened = open_changed(&directory, |bytes| bytes[zeros.clone()].fill(0));
        let text = opened.unwrap_err().to_string();
        let named = "00000000000000000001.log is damaged: an acknowledged record";
        assert!(text.contains(named), "{zeros:?}: {text}");
    }
    let found = open_changed(&directory, |bytes| bytes[3584..].fill(0)).unwrap();
    assert_eq!(found, [1, 2, 3], "zeros after the last record");
}

/// The length of a segment is on the disk before its first record, so a crash cannot shorten it.
#[test]
fn a_cut_segment_is_an_error() {
    let directory = three_records();
    for cut in [0, 100, 512, 1536, 2560, 2560 + RECORD_BYTES, 8191] {
        let found = open_changed(&directory, |bytes| bytes.truncate(cut));
        assert!(
            matches!(found, Err(OpenWalError::Damaged { .. })),
            "cut at {cut}: {found:?}"
        );
    }
}

#[test]
fn every_changed_byte_is_detected() {
    let directory = three_records();
    for at in 0..2560 + 1024 {
        let found = open_changed(&directory, |bytes| bytes[at] ^= 0x40);
        let in_filling = at >= 512 && (at - 512) % 1024 >= RECORD_BYTES;
        match (at, found) {
            (_, Ok(found)) if in_filling => assert_eq!(found, [1, 2, 3], "changed at {at}"),
            (2560.., Ok(found)) => assert_eq!(found, [1, 2], "changed at {at}"),
            (..2560, Err(OpenWalError::Damaged { .. })) => {}
            (_, found) => panic!("changed at {at}: {found:?}"),
        }
    }
}

#[test]
fn a_missing_record_before_later_records_is_an_error() {
    let (directory, wal) = new_log();
    for id in 1..=30 {
        append(&wal, id, 700).unwrap();
    }
    drop(wal);
    // Without the first record of the second segment, the group numbers have a gap.
    let path = segment_path(directory.path(), 2);
    let mut content = fs::read(&path).unwrap();
    content[512..].fill(0);
    fs::write(&path, content).unwrap();
    assert_damaged(directory.open(Resume::AfterStop));
}

/// All earlier records were released, so only the header of the record contains the group number.
#[test]
fn the_first_group_may_be_torn() {
    let (directory, wal) = new_log();
    append(&wal, 1, 600).unwrap();
    append(&wal, 2, 6_000).unwrap();
    make_room(&wal, 4_000).unwrap();
    wal.release(RANGE, WalId(2));
    maintain(&wal);
    assert_eq!(wal.live_bytes(), OPTIONS.segment_bytes);
    directory.disk.fail_next_sync(AppendFault::Torn);
    assert!(matches!(append(&wal, 3, 3_000), Err(AppendError::Io(_))));
    drop(wal);

    for resume in [Resume::AfterStop, Resume::AfterFailure] {
        assert!(ids(&directory.open(resume).unwrap()).is_empty());
    }
    let wal = directory.reopen();
    append(&wal, 3, 600).unwrap();
    append(&wal, 4, 600).unwrap();
    drop(wal);
    assert_eq!(ids(&directory.reopen()), [3, 4]);
}

/// A damaged first group was acknowledged if the next segment holds later groups.
#[test]
fn a_damaged_first_group_before_a_later_segment_is_an_error() {
    let directory = log_with_two_released(4, 6_000);
    assert_eq!(ids(&directory.reopen()), [3, 4]);

    let path = segment_path(directory.path(), 3);
    let mut content = fs::read(&path).unwrap();
    content[4_000] ^= 0x40;
    fs::write(&path, content).unwrap();
    assert_damaged(directory.open(Resume::AfterStop));
}

#[test]
fn an_unknown_version_is_refused() {
    let directory = three_records();
    let found = open_changed(&directory, |bytes| {
        bytes[8] = 3;
        let crc = crc32fast::hash(&bytes[..508]);
        bytes[508..512].copy_from_slice(&crc.to_le_bytes());
    });
    assert!(
        matches!(found, Err(OpenWalError::UnknownVersion { found: 3, .. })),
        "{found:?}"
    );
}

#[test]
fn unfinished_files_are_removed() {
    let directory = three_records();
    fs::write(directory.path().join("new.tmp"), "half").unwrap();
    assert_eq!(ids(&directory.reopen()), [1, 2, 3]);
    assert!(!directory.path().join("new.tmp").exists());
}
