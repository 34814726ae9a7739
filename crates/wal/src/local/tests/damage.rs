//! Files that were cut short or changed: what a crash can leave is told from what it cannot.

use super::*;

/// Copies a log whose last segment was changed, and opens the copy.
fn open_changed(
    directory: &Path,
    change: impl FnOnce(&mut Vec<u8>),
) -> Result<Vec<u64>, OpenLogError> {
    let copy = tempfile::tempdir().unwrap();
    let mut change = Some(change);
    let mut paths: Vec<PathBuf> = fs::read_dir(directory)
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
    let lazy = || Arc::new(FaultyDisk::lazy()) as Arc<dyn Disk>;
    let (log, records) = Log::open(copy.path(), lazy(), OPTIONS, Resume::Behind)?;
    // Whatever was dropped, the log goes on.
    let next = records.last().map_or(1, |record| record.wal_id().0 + 1);
    append(&log, next, 10).unwrap();
    drop(log);
    let (_, again) = Log::open(copy.path(), lazy(), OPTIONS, Resume::Behind).unwrap();
    assert_eq!(ids(&again).last(), Some(&next));
    Ok(ids(&records))
}

/// Three records of a sector and a half each, in one segment: at 512, 1536 and 2560.
fn three_records() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    let (log, _) = open(directory.path()).unwrap();
    for id in 1..=3 {
        append(&log, id, 700).unwrap();
    }
    directory
}

/// Bytes of one of these records without the filling: header, row, key and value.
const RECORD_BYTES: usize = 48 + 1 + 2 + 4 + 8 + 5 + 700;

#[test]
fn a_tail_torn_at_any_byte_costs_the_last_record_only() {
    let directory = three_records();
    for cut in 2560..2560 + RECORD_BYTES {
        let found = open_changed(directory.path(), |bytes| bytes.truncate(cut)).unwrap();
        assert_eq!(found, [1, 2], "cut at {cut}");
        let found = open_changed(directory.path(), |bytes| bytes[cut..].fill(0)).unwrap();
        assert_eq!(found, [1, 2], "zeros from {cut}");
    }
    let whole = 2560 + RECORD_BYTES;
    let found = open_changed(directory.path(), |bytes| bytes.truncate(whole)).unwrap();
    assert_eq!(found, [1, 2, 3]);
}

#[test]
fn a_changed_byte_is_noticed_wherever_it_is() {
    let directory = three_records();
    for at in 0..2560 + 1024 {
        let found = open_changed(directory.path(), |bytes| bytes[at] ^= 0x40);
        let in_filling = at >= 512 && (at - 512) % 1024 >= RECORD_BYTES;
        match (at, found) {
            (_, Ok(found)) if in_filling => assert_eq!(found, [1, 2, 3], "changed at {at}"),
            (2560.., Ok(found)) => assert_eq!(found, [1, 2], "changed at {at}"),
            (..2560, Err(OpenLogError::Damaged { .. })) => {}
            (_, found) => panic!("changed at {at}: {found:?}"),
        }
    }
}

#[test]
fn a_record_missing_before_others_is_an_error() {
    let directory = tempfile::tempdir().unwrap();
    let (log, _) = open(directory.path()).unwrap();
    for id in 1..=30 {
        append(&log, id, 700).unwrap();
    }
    drop(log);
    // The second segment begins with a record; without it the groups have a gap.
    fs::remove_file(segment_path(directory.path(), 2)).unwrap();
    assert!(matches!(
        open(directory.path()),
        Err(OpenLogError::Damaged { .. })
    ));
}

/// All that came before it was given up, so nothing tells which group it is but its own header.
#[test]
fn a_torn_group_may_be_the_first_of_all() {
    let directory = tempfile::tempdir().unwrap();
    let disk = FaultyDisk::default();
    let open = |resume| Log::open(directory.path(), Arc::new(disk.clone()), OPTIONS, resume);
    let (log, _) = open(Resume::Behind).unwrap();
    append(&log, 1, 600).unwrap();
    append(&log, 2, 6_000).unwrap();
    log.make_room(record_bytes_max(1, 4_000)).unwrap();
    log.release(RANGE, WalId(2));
    assert_eq!(log.live_count(), 1);
    disk.fail_next_sync(SyncFault::Torn);
    assert!(matches!(append(&log, 3, 3_000), Err(AppendError::Io(_))));
    drop(log);

    for resume in [Resume::Behind, Resume::Afresh] {
        assert!(open(resume).unwrap().1.is_empty());
    }
    let (log, _) = open(Resume::Behind).unwrap();
    append(&log, 3, 600).unwrap();
    append(&log, 4, 600).unwrap();
    drop(log);
    assert_eq!(ids(&open(Resume::Behind).unwrap().1), [3, 4]);
}

/// Where it is whole in the next segment it was not torn.
#[test]
fn a_first_group_that_others_follow_in_the_next_segment_was_not_torn() {
    let directory = tempfile::tempdir().unwrap();
    let (log, _) = open(directory.path()).unwrap();
    for id in 1..=4 {
        append(&log, id, 6_000).unwrap();
    }
    log.release(RANGE, WalId(2));
    drop(log);
    assert_eq!(ids(&open(directory.path()).unwrap().1), [3, 4]);

    let path = segment_path(directory.path(), 3);
    let mut content = fs::read(&path).unwrap();
    content[4_000] ^= 0x40;
    fs::write(&path, content).unwrap();
    assert!(matches!(
        open(directory.path()),
        Err(OpenLogError::Damaged { .. })
    ));
}

#[test]
fn an_unknown_version_is_refused() {
    let directory = three_records();
    let found = open_changed(directory.path(), |bytes| {
        bytes[8] = 2;
        let crc = crc32fast::hash(&bytes[..508]);
        bytes[508..512].copy_from_slice(&crc.to_le_bytes());
    });
    assert!(
        matches!(found, Err(OpenLogError::UnknownVersion { found: 2, .. })),
        "{found:?}"
    );
}

#[test]
fn files_that_were_never_finished_are_removed() {
    let directory = three_records();
    fs::write(directory.path().join("new.tmp"), "half").unwrap();
    assert_eq!(ids(&open(directory.path()).unwrap().1), [1, 2, 3]);
    assert!(!directory.path().join("new.tmp").exists());
}
