//! Tests of the head of the WAL: a start notices a lost file, and a kill at any call loses no acknowledged record.

use super::*;

/// A WAL of several segments with records, and a ready one.
fn several_segments() -> Directory {
    let (directory, wal) = new_log();
    for id in 1..=9 {
        append(&wal, id, 3_000).unwrap();
    }
    maintain(&wal);
    directory
}

/// The error message of opening the WAL, which must fail.
fn refusal(directory: &Directory) -> String {
    directory.open(Resume::AfterStop).err().unwrap().to_string()
}

/// Moves a file away, checks that the WAL does not open and that the error names the file, and moves the file back.
fn assert_noticed(directory: &Directory, path: &Path) {
    let aside = tempfile::tempdir().unwrap();
    let copy = aside.path().join("copy");
    fs::copy(path, &copy).unwrap();
    fs::remove_file(path).unwrap();
    let text = refusal(directory);
    let missing = format!("{} is missing", path.display());
    assert!(text.starts_with(&missing), "{text}");
    assert!(text.contains("restore"), "{text}");
    fs::copy(&copy, path).unwrap();
}

#[test]
fn every_lost_file_is_noticed_and_named() {
    let directory = several_segments();
    let segments = directory.segments();
    assert!(segments.len() >= 5, "{segments:?}");
    for path in &segments {
        assert_noticed(&directory, path);
    }
    assert_noticed(&directory, &head_path(directory.path()));
    assert_eq!(ids(&directory.reopen()), (1..=9).collect::<Vec<_>>());
    for path in &segments {
        fs::remove_file(path).unwrap();
    }
    assert!(refusal(&directory).contains("1.log is missing"));
}

/// The segments before the only segment were released, so only the head shows that it existed.
#[test]
fn a_lost_only_segment_is_noticed() {
    let directory = log_with_two_released(3, 3_000);
    for path in directory.segments() {
        assert_noticed(&directory, &path);
    }
    assert_eq!(ids(&directory.reopen()), [3]);
}

#[test]
fn a_damaged_head_is_an_error_and_a_torn_update_is_not() {
    let directory = several_segments();
    let path = head_path(directory.path());
    let whole = fs::read(&path).unwrap();
    let change = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut bytes = whole.clone();
        change(&mut bytes);
        fs::write(&path, bytes).unwrap();
    };
    for cut in [0, HEAD_SLOT_BYTES, whole.len() - 1] {
        change(&|bytes| bytes.truncate(cut));
        assert!(refusal(&directory).contains("head is damaged"));
    }
    change(&|bytes| {
        bytes[20] ^= 1;
        bytes[HEAD_SLOT_BYTES + 20] ^= 1;
    });
    assert!(refusal(&directory).contains("head is damaged"));
    change(&|bytes| {
        bytes[8] = 2;
        let crc = crc32fast::hash(&bytes[..HEAD_SLOT_BYTES - 4]);
        bytes[HEAD_SLOT_BYTES - 4..HEAD_SLOT_BYTES].copy_from_slice(&crc.to_le_bytes());
    });
    assert!(refusal(&directory).contains("format 2"));
    // Each slot alone is enough. The older one may not list the newest segment, which then has no records.
    change(&|bytes| bytes[..HEAD_SLOT_BYTES].fill(0));
    let first = directory.open(Resume::AfterStop).is_ok();
    change(&|bytes| bytes[HEAD_SLOT_BYTES..].fill(0));
    let second = directory.open(Resume::AfterStop).is_ok();
    assert!(first && second, "{first} {second}");
}

#[test]
fn an_older_copy_of_a_file_is_noticed() {
    let (directory, wal) = new_log();
    append(&wal, 1, 700).unwrap();
    let head = fs::read(head_path(directory.path())).unwrap();
    let segment = fs::read(segment_path(directory.path(), 1)).unwrap();
    for id in 2..=4 {
        append(&wal, id, 3_000).unwrap();
    }
    drop(wal);
    let newer = fs::read(head_path(directory.path())).unwrap();
    fs::write(head_path(directory.path()), head).unwrap();
    assert!(refusal(&directory).contains("it is older than the WAL"));
    fs::write(head_path(directory.path()), newer).unwrap();
    assert_eq!(ids(&directory.reopen()), [1, 2, 3, 4]);

    fs::write(segment_path(directory.path(), 1), segment).unwrap();
    assert!(refusal(&directory).contains("is damaged"));
}

/// Zeros at the end of the newest segment look like a torn tail, unless the head records how far it was written.
#[test]
fn lost_records_at_the_end_are_noticed_after_a_stop_and_when_idle() {
    for clean_stop in [true, false] {
        let (directory, wal) = new_log();
        // Short records: at a quarter of the segment, maintenance would make a ready one.
        for id in 1..=3 {
            append(&wal, id, 100).unwrap();
        }
        let before = directory.disk.head_write_count();
        if clean_stop {
            wal.record_end_blocking().unwrap();
        } else {
            // The second call finds that no group was written since the first, so it records in the head how far the
            // WAL is written.
            maintain(&wal);
            maintain(&wal);
            maintain(&wal);
        }
        assert_eq!(directory.disk.head_write_count() - before, 1);
        drop(wal);
        assert_eq!(ids(&directory.reopen()), [1, 2, 3]);
        let path = segment_path(directory.path(), 1);
        let mut content = fs::read(&path).unwrap();
        content[1536..].fill(0);
        fs::write(&path, content).unwrap();
        let text = refusal(&directory);
        assert!(
            text.contains("1.log is damaged: acknowledged records"),
            "{text}"
        );
    }
}

/// Makes the WAL look like one of an earlier version: segments of format 1 and no head.
fn make_old(directory: &Directory) {
    fs::remove_file(head_path(directory.path())).unwrap();
    for path in directory.segments() {
        let mut bytes = fs::read(&path).unwrap();
        bytes[8] = 1;
        let crc = crc32fast::hash(&bytes[..508]);
        bytes[508..512].copy_from_slice(&crc.to_le_bytes());
        fs::write(&path, bytes).unwrap();
    }
}

#[test]
fn a_wal_without_a_head_is_upgraded_despite_a_kill_at_any_call() {
    for calls in 0..40 {
        let directory = several_segments();
        make_old(&directory);
        directory.disk.kill_after(calls);
        let opened = directory.open(Resume::AfterStop);
        let is_upgraded = opened.is_ok();
        drop(opened);
        directory.disk.restart();
        let wal = directory.reopen();
        assert_eq!(ids(&wal), (1..=9).collect::<Vec<_>>(), "{calls} calls");
        maintain(&wal);
        append(&wal, 10, 3_000).unwrap();
        drop(wal);
        assert_eq!(ids(&directory.reopen()), (1..=10).collect::<Vec<_>>());
        let newest = directory.segments().pop().unwrap();
        assert_eq!(
            fs::read(newest).unwrap()[8],
            2,
            "an earlier version refuses it"
        );
        assert_noticed(&directory, &head_path(directory.path()));
        if is_upgraded {
            assert!(calls > 5, "{calls}");
            return;
        }
    }
    panic!("the WAL never opened");
}

/// Writes groups, releases records, runs maintenance, writes a record longer than a segment, reopens the WAL and lets it
/// rest, until a call fails.
fn live(directory: &Directory, last: &mut u64, released: &mut u64) -> Option<()> {
    for life in 0..2 {
        let wal = directory.open(Resume::AfterStop).ok()?;
        for step in 0..8 {
            let bytes = if step == 5 { 20_000 } else { 3_000 };
            make_room(&wal, bytes).ok()?;
            let id = *last + 1;
            append_rows(&wal, RANGE, id, &[row("key", &"v".repeat(bytes))]).ok()?;
            *last = id;
            if step % 3 == 2 {
                *released = id - 1 - life;
                wal.release(RANGE, WalId(*released));
                wal.maintain_blocking().ok()?;
            }
        }
        if life == 1 {
            // At rest the ready segments are removed.
            *released = *last;
            wal.release(RANGE, WalId(*released));
            for _ in 0..=OPTIONS.idle_calls_max {
                wal.maintain_blocking().ok()?;
            }
        }
        wal.record_end_blocking().ok()?;
    }
    Some(())
}

#[test]
fn a_kill_at_any_call_loses_no_record() {
    for calls in 0..1_000 {
        let directory = Directory::new(FaultyDisk::lazy());
        directory.disk.kill_after(calls);
        let (mut last, mut released) = (0, 0);
        let is_done = live(&directory, &mut last, &mut released).is_some();
        // Each of the next starts is killed as well, at an early call.
        for calls in 1..6 {
            directory.disk.kill_after(calls);
            drop(directory.open(Resume::AfterStop));
        }
        directory.disk.restart();
        let wal = directory.reopen();
        let found = ids(&wal);
        // The last record may exist without having been acknowledged.
        let newest = found.last().copied().unwrap_or(released);
        assert!(
            (last..=last + 1).contains(&newest),
            "{calls}: {found:?}, not {last}"
        );
        let first = found.first().copied().unwrap_or(newest + 1);
        assert!(first <= released + 1, "{calls}: {found:?} after {released}");
        assert_eq!(found, (first..=newest).collect::<Vec<_>>(), "{calls}");
        append(&wal, newest + 1, 700).unwrap();
        maintain(&wal);
        drop(wal);
        assert_eq!(ids(&directory.reopen()).last(), Some(&(newest + 1)));
        if is_done {
            assert!(calls > 60, "{calls} calls");
            return;
        }
    }
    panic!("the script never ended");
}

/// A failed update of the head leaves the WAL as it was: the next attempt succeeds.
#[test]
fn a_failed_update_is_repeated() {
    let (directory, wal) = new_log();
    append(&wal, 1, 6_000).unwrap();
    append(&wal, 2, 6_000).unwrap();
    wal.release(RANGE, WalId(1));
    directory.disk.kill_after(0);
    wal.maintain_blocking().unwrap_err();
    assert!(matches!(make_room(&wal, 6_000), Err(RoomError::Io(_))));
    directory.disk.restart();
    maintain(&wal);
    assert_eq!(wal.live_bytes(), OPTIONS.segment_bytes);
    append(&wal, 3, 6_000).unwrap();
    drop(wal);
    let wal = directory.reopen();
    assert_eq!(ids(&wal), [2, 3]);
    assert_noticed(&directory, directory.segments().last().unwrap());
}
