//! Reads a closed WAL completely without changing it, for the check of a data directory.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::path::Path;

use bytes::Bytes;

use super::head::Head;
use super::reader::damaged;
use super::{Disk, recovery};
use crate::{OpenWalError, RangeId, Record, WalId};

/// The content of a closed WAL that passed all checks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StoredLog {
    /// Whether no file of a WAL exists.
    pub is_new: bool,
    /// The records of each range.
    pub ranges: BTreeMap<RangeId, StoredRecords>,
}

/// The records of a range in a closed WAL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredRecords {
    /// The first record.
    pub first: WalId,
    /// The last record.
    pub last: WalId,
    /// The first record that is missing between them.
    pub missing: Option<WalId>,
    /// The lowest and the highest key of the rows whose keys `is_counted` of [`verify`] accepts; `None` without such
    /// rows.
    pub keys: Option<(Bytes, Bytes)>,
}

/// Reads the WAL in `directory` as a start does, and checks all checksums, the head and the order of the groups.
/// `is_counted` selects the keys for [`StoredRecords::keys`]. Keeps the whole WAL in memory, which is bounded by
/// [`super::Options::live_segments_max`]. Blocking. Changes nothing.
///
/// # Errors
/// The error with which a start would fail to open the WAL, or an error if a record has unreadable rows; see
/// [`OpenWalError`].
pub fn verify(
    directory: &Path,
    is_counted: impl Fn(&[u8]) -> bool,
) -> Result<StoredLog, OpenWalError> {
    let head = Head::read(directory)?;
    let found = recovery::recover(directory, &ReadOnly, head.as_ref().map(Head::record))?;
    let mut log = StoredLog {
        is_new: head.is_none() && found.next_number == 1,
        ranges: BTreeMap::new(),
    };
    for record in &found.records {
        let Ok(keys) = keys(record, &is_counted) else {
            return Err(damaged(directory, "a record has rows that cannot be read"));
        };
        let id = record.header.wal_id;
        let of_range = log.ranges.entry(record.header.range);
        let records = of_range.or_insert_with(|| StoredRecords {
            first: id,
            last: WalId(id.0.saturating_sub(1)),
            missing: None,
            keys: None,
        });
        records.add(id, keys);
    }
    Ok(log)
}

impl StoredRecords {
    fn add(&mut self, id: WalId, keys: Option<(Bytes, Bytes)>) {
        let next = WalId(self.last.0 + 1);
        if id != next {
            self.missing.get_or_insert(next);
        }
        self.last = id;
        let Some((low, high)) = keys else { return };
        // Copies, because a slice would keep the whole segment in memory.
        let copy = |key: &Bytes| Bytes::copy_from_slice(key);
        match &mut self.keys {
            None => self.keys = Some((copy(&low), copy(&high))),
            Some((lowest, highest)) => {
                if low < *lowest {
                    *lowest = copy(&low);
                }
                if high > *highest {
                    *highest = copy(&high);
                }
            }
        }
    }
}

/// The lowest and the highest key of those rows of a record that `is_counted` accepts.
fn keys(
    record: &Record,
    is_counted: &impl Fn(&[u8]) -> bool,
) -> Result<Option<(Bytes, Bytes)>, crate::MalformedRows> {
    let mut keys: Option<(Bytes, Bytes)> = None;
    for row in record.rows() {
        let key = row?.key;
        if !is_counted(&key) {
            continue;
        }
        keys = Some(match keys {
            None => (key.clone(), key),
            Some((low, high)) if key < low => (key, high),
            Some((low, high)) if key > high => (low, key),
            Some(both) => both,
        });
    }
    Ok(keys)
}

/// A disk that ignores changes: recovery removes and syncs files, but verification must not.
struct ReadOnly;

impl Disk for ReadOnly {
    fn create(&self, _path: &Path, _bytes: u64) -> io::Result<File> {
        Err(io::ErrorKind::ReadOnlyFilesystem.into())
    }

    fn write_at(&self, _file: &File, _bytes: &[u8], _offset: u64) -> io::Result<()> {
        Err(io::ErrorKind::ReadOnlyFilesystem.into())
    }

    fn sync(&self, _file: &File) -> io::Result<()> {
        Ok(())
    }

    fn rename(&self, _from: &Path, _to: &Path) -> io::Result<()> {
        Err(io::ErrorKind::ReadOnlyFilesystem.into())
    }

    fn remove(&self, _path: &Path) -> io::Result<()> {
        Ok(())
    }

    fn sync_directory(&self, _directory: &Path) -> io::Result<()> {
        Ok(())
    }

    fn write_head(&self, _file: &File, _slot: &[u8], _offset: u64) -> io::Result<()> {
        Err(io::ErrorKind::ReadOnlyFilesystem.into())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::sync::Arc;

    use super::*;
    use crate::local::{LocalStorage, Options, OsDisk};
    use crate::{RecordHeader, RecordSize, Resume, RowRef, WalStorage};

    /// Appends a group of one record for each id, and records how far the WAL was written.
    async fn append(storage: &LocalStorage, range: u64, ids: std::ops::Range<u64>) {
        let wal = storage.open(Resume::AfterStop).await.unwrap();
        for id in ids {
            let key = format!("key-{id}");
            let row = RowRef {
                key: key.as_bytes(),
                value: Some(b"value"),
                create_ts: None,
                expire_ts: None,
            };
            let size = RecordSize {
                rows: 1,
                payload_bytes: key.len() + 5,
            };
            let header = RecordHeader {
                range: RangeId(range),
                wal_id: WalId(id),
                seq: id,
            };
            wal.make_room(&mut [size].into_iter()).await.unwrap();
            wal.add(header, size, &mut [row].into_iter()).unwrap();
            wal.append_group().await.unwrap();
        }
        wal.record_end().await.unwrap();
    }

    fn storage(directory: &Path) -> LocalStorage {
        let options = Options {
            segment_bytes: 4096,
            ..Options::default()
        };
        LocalStorage::with_disk(directory.to_owned(), Arc::new(OsDisk), options)
    }

    fn contents(directory: &Path) -> BTreeMap<String, Vec<u8>> {
        let files = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap());
        files
            .map(|file| {
                let name = file.file_name().into_string().unwrap();
                (name, fs::read(file.path()).unwrap())
            })
            .collect()
    }

    #[tokio::test]
    async fn a_closed_log_is_read_and_not_changed() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path();
        append(&storage(path), 1, 1..20).await;
        append(&storage(path), 2, 5..8).await;
        fs::write(path.join("new.tmp"), "unfinished").unwrap();
        let before = contents(path);
        let log = verify(path, |key| key != b"key-1").unwrap();
        assert_eq!(contents(path), before);
        let first = &log.ranges[&RangeId(1)];
        assert_eq!((first.first, first.last), (WalId(1), WalId(19)));
        assert_eq!(first.missing, None);
        assert_eq!(first.keys, Some(("key-10".into(), "key-9".into())));
        assert_eq!(log.ranges[&RangeId(2)].first, WalId(5));
    }

    #[tokio::test]
    async fn every_damaged_file_is_named() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path();
        append(&storage(path), 1, 1..20).await;
        let intact = contents(path);
        let segments = intact.keys().filter(|name| name.ends_with(".log"));
        let used = segments.filter(|name| intact[*name][512..].iter().any(|byte| *byte != 0));
        for name in used {
            let file = path.join(name);
            fs::write(&file, &intact[name][..intact[name].len() / 2]).unwrap();
            let refused = verify(path, |_| true).unwrap_err().to_string();
            assert!(refused.contains(name), "{refused}");
            fs::remove_file(&file).unwrap();
            let refused = verify(path, |_| true).unwrap_err().to_string();
            assert!(refused.contains(name), "{refused}");
            fs::write(&file, &intact[name]).unwrap();
        }
        verify(path, |_| true).unwrap();
        fs::write(path.join("head"), "").unwrap();
        let refused = verify(path, |_| true).unwrap_err().to_string();
        assert!(refused.contains("head"), "{refused}");
    }
}
