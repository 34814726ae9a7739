//! The scrub of an open WAL: damage of its head and of its full segments is named, damage of other segments is not.

use super::*;
use crate::VerifiedFile;

/// All files that are verified.
fn verify(wal: &LocalWal) -> Vec<VerifiedFile> {
    let mut files: Vec<VerifiedFile> = Vec::new();
    while let Some(next) = wal.verify_next_blocking(files.last().map(|file| file.number)) {
        files.push(next);
    }
    files
}

/// The names and problems of the damaged files.
fn damaged(wal: &LocalWal) -> Vec<(String, String)> {
    let files = verify(wal).into_iter();
    let damaged = files.filter_map(|file| Some((file.name, file.problem?)));
    damaged.collect()
}

/// A WAL with two full segments of two records each, and a third that is being written.
fn three_segments() -> (Directory, LocalWal) {
    let (directory, wal) = new_log();
    for id in 1..=5 {
        append(&wal, id, 3_000).unwrap();
    }
    (directory, wal)
}

fn name(path: &Path) -> &str {
    path.file_name().unwrap().to_str().unwrap()
}

#[test]
fn the_head_and_all_full_segments_are_read() {
    let (directory, wal) = three_segments();
    let names: Vec<String> = verify(&wal).into_iter().map(|file| file.name).collect();
    let segments = directory.segments();
    assert_eq!(names, ["head", name(&segments[0]), name(&segments[1])]);
    assert_eq!(damaged(&wal), []);
    // Also after a restart, when the full segments were read and not written by this WAL.
    drop(wal);
    let wal = directory.reopen();
    assert_eq!(verify(&wal).len(), 3);
    assert_eq!(damaged(&wal), []);
}

/// A flipped bit is found in the header and in each record, also in the last record, where a start would take it for a
/// torn tail.
#[test]
fn a_flipped_bit_in_a_full_segment_is_named() {
    let (directory, wal) = three_segments();
    let path = &directory.segments()[1];
    let whole = fs::read(path).unwrap();
    for at in [3, 520, 600, 3_500, 4_200, 6_000] {
        let mut bytes = whole.clone();
        bytes[at] ^= 1;
        fs::write(path, &bytes).unwrap();
        let found = damaged(&wal);
        assert_eq!(found.len(), 1, "bit in byte {at}: {found:?}");
        assert_eq!(found[0].0, name(path));
    }
    fs::write(path, &whole[..whole.len() / 2]).unwrap();
    assert!(damaged(&wal)[0].1.contains("shorter"));
    fs::remove_file(path).unwrap();
    assert!(damaged(&wal)[0].1.contains("missing"));
    fs::write(path, &whole).unwrap();
    assert_eq!(damaged(&wal), []);
}

#[test]
fn a_damaged_or_missing_head_is_named() {
    let (directory, wal) = three_segments();
    let path = head_path(directory.path());
    let whole = fs::read(&path).unwrap();
    let update_of = |slot: usize| {
        let at = slot * HEAD_SLOT_BYTES + 16;
        u64::from_le_bytes(whole[at..at + 8].try_into().unwrap())
    };
    let newest = usize::from(update_of(1) > update_of(0));
    let mut bytes = whole.clone();
    bytes[newest * HEAD_SLOT_BYTES + 50] ^= 1;
    fs::write(&path, bytes).unwrap();
    let found = damaged(&wal);
    assert!(found[0].1.contains("newest slot"), "{found:?}");
    fs::remove_file(&path).unwrap();
    let missing = ("head".to_owned(), "it is missing".to_owned());
    assert_eq!(damaged(&wal), [missing]);
    fs::write(&path, &whole).unwrap();
    assert_eq!(damaged(&wal), []);
}

/// Neither a released segment nor the segment that is being written is read.
#[test]
fn released_and_unfinished_segments_are_left_out() {
    let (directory, wal) = three_segments();
    let segments = directory.segments();
    for path in [&segments[0], &segments[2]] {
        fs::write(path, "changed").unwrap();
    }
    assert_eq!(damaged(&wal).len(), 1);
    wal.release(RANGE, WalId(2));
    assert_eq!(damaged(&wal), []);
    assert_eq!(verify(&wal).len(), 2);
    wal.poison();
    fs::remove_file(&segments[1]).unwrap();
    assert_eq!(damaged(&wal), [], "the next WAL has its own segments");
}
