//! Data files that an earlier version wrote, read by both readers of this version.
//!
//! `crates/engine/tests/fixtures/files-1.tar.gz` is a data directory, and `files-1.txt` lists its rows. It was written
//! by [`writer`], has SlateDB 0.18's data files of every kind that the reader must read ([`has_every_kind_of_file`]), and
//! four ranges:
//!
//! | Range | Data files | Rows that are only in the WAL |
//! | --- | --- | --- |
//! | 1 | Two of level 0, with and without a filter, and two sorted runs | Yes |
//! | 2 | The files of range 1, clipped at their end, and one of its own | Yes |
//! | 3 | The files of range 1, clipped at their begin | Yes |
//! | 4 | Merged from 2 and 3: their files, each of range 1 in two clipped parts | Yes |
//!
//! A line of the list is `RANGES KEY BYTES CRC`: the ranges with this row, the bytes of the value, and its CRC-32. In
//! `RANGES KEY deleted`, the last write of these ranges deleted the row.
//!
//! A change of the format of files gets another archive, beside the old one. To write it, change [`writer`], run
//! `WRITE_STORED_FILES=files-2 cargo test -p partita-engine --lib stored_files`, and add the name to [`ARCHIVES`].

mod damaged;
mod rows;
mod store;
mod writer;

use std::path::PathBuf;
use std::process::Command;

use self::rows::{Digest, ExpectedRows};
use self::store::Store;
use super::*;

/// The stored directories, the newest last. [`writer`] writes the newest one.
const ARCHIVES: [&str; 1] = ["files-1"];

/// The ranges of a stored directory.
const RANGES: [RangeId; 4] = [RangeId(1), RangeId(2), RangeId(3), RangeId(4)];

/// Bytes of a segment of the WAL, so that an archive is small.
const LOG_SEGMENT_BYTES: u64 = 1 << 20;

fn fixture(name: &str) -> PathBuf {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    fixtures.join(name)
}

fn tar(arguments: &[&str], archive: &Path, directory: &Path) {
    let mut tar = Command::new("tar");
    let tar = tar.args(arguments).arg("-f").arg(archive);
    let tar = tar.arg("-C").arg(directory).arg(".");
    assert!(tar.status().unwrap().success());
}

/// A copy of a stored directory.
fn unpacked(name: &str) -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    let archive = fixture(&format!("{name}.tar.gz"));
    tar(&["-x", "-z"], &archive, directory.path());
    directory
}

/// The list of the rows of a stored directory.
fn listed(name: &str) -> String {
    std::fs::read_to_string(fixture(&format!("{name}.txt"))).unwrap()
}

/// Stores a directory and the list of its rows, without the names of this machine's user.
fn pack(name: &str, directory: &Path, list: &str) {
    let archive = fixture(&format!("{name}.tar.gz"));
    let nameless = ["--owner=0", "--group=0", "--numeric-owner", "--sort=name"];
    tar(
        &[&["-c", "-z"], &nameless[..]].concat(),
        &archive,
        directory,
    );
    std::fs::write(fixture(&format!("{name}.txt")), list).unwrap();
}

/// Opens the engine set of a directory. It does not sync, because the test never cuts the power.
async fn set_of(directory: &Path, reads: Reads) -> SlateEngineSet {
    let data = Arc::new(DataDir::open(directory).unwrap());
    let options = Options {
        segment_bytes: LOG_SEGMENT_BYTES,
        ..Options::default()
    };
    let disk = Arc::new(FaultyDisk::lazy());
    let wal = LocalStorage::with_disk(data.log_path(), disk, options);
    let home = Home {
        wal: Arc::new(wal),
        ..Home::in_directory(data)
    };
    let settings = Settings {
        reads,
        ..Settings::default()
    };
    SlateEngineSet::in_home(home, settings).await.unwrap()
}

/// Compares what a reader returns with the expected rows: scans, gets of all keys, and gets of absent keys.
async fn check_rows(directory: &Path, reads: Reads, expected: &ExpectedRows) {
    let set = set_of(directory, reads).await;
    for range in RANGES {
        let engine = set.open(range).await.unwrap();
        let rows = expected.of(range);
        for hint in [ScanHint::page(100), ScanHint::walk()] {
            let mut scan = engine.scan(KeyRange::all(), hint).await.unwrap();
            let mut wanted = rows.iter().filter_map(|(key, row)| Some((key, (*row)?)));
            loop {
                let page = scan.next(100, usize::MAX).await.unwrap();
                for (key, value) in page.iter() {
                    let found = (key, Digest::of(value));
                    let wanted = wanted.next().map(|(key, row)| (&key[..], row));
                    assert_eq!(Some(found), wanted, "range {range}, {reads:?}");
                }
                if page.is_empty() {
                    break;
                }
            }
            assert_eq!(wanted.next(), None, "range {range}, {reads:?}");
        }
        let mut keys: Vec<Bytes> = rows.keys().cloned().collect();
        for key in rows.keys() {
            keys.push([&key[..], b"?"].concat().into());
            keys.push(key.slice(..key.len() - 1));
        }
        let many = engine.get_many(&keys).await.unwrap();
        for (key, in_many) in keys.iter().zip(many) {
            let found = engine.get(key).await.unwrap();
            assert_eq!(found, in_many, "{key:?} in range {range}, {reads:?}");
            let found = found.as_deref().map(Digest::of);
            let wanted = rows.get(key).copied().flatten();
            assert_eq!(found, wanted, "{key:?} in range {range}, {reads:?}");
        }
    }
    set.close().await;
}

/// Fails unless the directory has each kind of file that the reader must read, and rows that are only in the WAL.
async fn has_every_kind_of_file(directory: &Path, expected: &ExpectedRows) {
    let store = Store::open(directory).await;
    let [level0, runs] = store.files_of(RangeId(1));
    assert_eq!((level0.len(), runs.len()), (2, 2));
    let with_filter = [&level0, &runs].map(|files| {
        let files = files.iter().filter(|file| file.info.filter_len > 0);
        files.count()
    });
    assert_eq!(with_filter, [1, 1]);
    for files in [&level0, &runs] {
        assert!(files.iter().any(|file| file.blocks.len() >= 3));
        let rows = || files.iter().flat_map(|file| file.rows());
        assert!(rows().any(|row| row.value.is_tombstone()), "deletions");
        assert!(rows().any(|row| row.value.len() > 16 << 10), "a large row");
        assert!(files.iter().any(|file| file.has_versions()), "versions");
    }
    let across = level0.iter().chain(&runs);
    let across = across.filter(|file| file.has_versions_in_two_blocks());
    assert!(across.count() > 0, "versions of a key in two blocks");
    for (range, parts) in [(RangeId(2), 1), (RangeId(3), 1), (RangeId(4), 2)] {
        let clipped = store.clipped_parts_of(range, RangeId(1));
        assert_eq!(clipped.len(), 4, "the files of range 1 that {range} reads");
        assert!(clipped.values().all(|count| *count == parts), "{clipped:?}");
    }
    for range in RANGES {
        let in_files = &store.ranges[&range].rows;
        let in_log = |(key, row): &(&Bytes, &Option<Digest>)| {
            let value = in_files.get(*key).and_then(Option::as_deref);
            value.map(Digest::of) != **row
        };
        let rows = expected.of(range).iter();
        assert!(rows.filter(in_log).count() >= 10, "rows in the WAL");
    }
}

/// The stored runs are compressed, unlike those of today (`settings.rs` says why).
async fn has_compressed_runs(directory: &Path) {
    let store = Store::open(directory).await;
    let [level0, runs] = store.files_of(RangeId(1));
    assert!(level0.iter().all(|it| it.info.compression_codec.is_none()));
    assert!(runs.iter().all(|it| it.info.compression_codec.is_some()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn both_readers_read_the_stored_files() {
    for name in ARCHIVES {
        let directory = unpacked(name);
        let expected = ExpectedRows::parse(&listed(name));
        has_every_kind_of_file(directory.path(), &expected).await;
        has_compressed_runs(directory.path()).await;
        check_rows(directory.path(), Reads::Own, &expected).await;
        check_rows(directory.path(), Reads::SlateDb, &expected).await;
    }
}

/// Also writes a stored directory, if `WRITE_STORED_FILES` names it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn both_readers_read_new_files_with_the_same_rows() {
    let directory = tempfile::tempdir().unwrap();
    let expected = writer::write(directory.path()).await;
    if let Ok(name) = std::env::var("WRITE_STORED_FILES") {
        pack(&name, directory.path(), &expected.to_string());
    }
    has_every_kind_of_file(directory.path(), &expected).await;
    check_rows(directory.path(), Reads::Own, &expected).await;
    check_rows(directory.path(), Reads::SlateDb, &expected).await;
    let newest = ARCHIVES.last().unwrap();
    assert!(
        expected.to_string() == listed(newest),
        "the writer of the stored files writes other rows than {newest}.txt lists: store them under the next name"
    );
}
