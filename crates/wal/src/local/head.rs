//! The head of the WAL: the segments that must exist, and how far the WAL was written.
//!
//! Segments whose records are released disappear from the front of the WAL, and a torn tail is dropped. So without the
//! head, a WAL that lost its newest or its only segment would look like one whose records were released.
//!
//! The file `head` has two slots. An update overwrites the older slot and syncs it, so that a torn update leaves the
//! newer slot intact. The head and the files that it names change in this order, so that a crash between two changes
//! loses nothing:
//! - A new segment first gets its final name, then it is listed in the head, and only then records are written to it.
//!   An unlisted segment has no records.
//! - A released segment is first removed from the list, and only then its file is reused or removed. Unlisted segments
//!   before the listed ones have only released records.

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use super::Disk;
use super::format::{HEAD_SLOT_BYTES, HeadRecord, HeaderFault, Written};
use super::reader::{damaged, unknown_version};
use crate::OpenWalError;

/// The open head.
#[derive(Debug)]
pub(super) struct Head {
    file: File,
    /// The content of the newest slot.
    record: HeadRecord,
}

/// The path of the head of the WAL in `directory`.
pub(super) fn head_path(directory: &Path) -> PathBuf {
    directory.join("head")
}

impl Head {
    /// Reads the head of the WAL in `directory`; `None` if it is missing.
    pub(super) fn read(directory: &Path) -> Result<Option<Self>, OpenWalError> {
        let path = head_path(directory);
        let content = match fs::read(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            content => content?,
        };
        if content.len() != 2 * HEAD_SLOT_BYTES {
            return Err(damaged(&path, "the file has a wrong length"));
        }
        let mut newest: Option<HeadRecord> = None;
        for slot in content.chunks_exact(HEAD_SLOT_BYTES) {
            match HeadRecord::decode(slot) {
                Ok(record) if newest.as_ref().is_none_or(|it| it.update < record.update) => {
                    newest = Some(record);
                }
                // A damaged slot is not an error if the other one is valid: an update may have been torn, and a new head
                // has an empty slot.
                Ok(_) | Err(HeaderFault::Damaged) => {}
                Err(HeaderFault::Version(found)) => return Err(unknown_version(&path, found)),
            }
        }
        let record = newest.ok_or_else(|| damaged(&path, "no slot passes its checksum"))?;
        let file = OpenOptions::new().read(true).write(true).open(&path)?;
        Ok(Some(Self { file, record }))
    }

    /// Creates the head of a WAL that has these segments and no head.
    pub(super) fn create(
        directory: &Path,
        disk: &dyn Disk,
        segments: BTreeSet<u64>,
    ) -> io::Result<Self> {
        let partial = directory.join("head.tmp");
        let file = disk.create(&partial, 2 * HEAD_SLOT_BYTES as u64)?;
        let mut head = Self {
            file,
            record: HeadRecord::default(),
        };
        head.write(
            disk,
            HeadRecord {
                update: 1,
                written: None,
                segments,
            },
        )?;
        disk.rename(&partial, &head_path(directory))?;
        disk.sync_directory(directory)?;
        Ok(head)
    }

    /// The current content.
    pub(super) fn record(&self) -> &HeadRecord {
        &self.record
    }

    /// Changes the content and returns once the change is on the disk. Writes nothing if the content stays the same.
    /// After an error either content may be on the disk.
    pub(super) fn update(
        &mut self,
        disk: &dyn Disk,
        change: impl FnOnce(&mut HeadRecord),
    ) -> io::Result<()> {
        let mut next = self.record.clone();
        change(&mut next);
        if next == self.record {
            return Ok(());
        }
        next.update += 1;
        self.write(disk, next)
    }

    fn write(&mut self, disk: &dyn Disk, record: HeadRecord) -> io::Result<()> {
        let slot = record
            .encode()
            .ok_or_else(|| io::Error::other("the WAL has too many segments"))?;
        let offset = (record.update % 2) * HEAD_SLOT_BYTES as u64;
        disk.write_head(&self.file, &slot, offset)?;
        self.record = record;
        Ok(())
    }
}

impl HeadRecord {
    /// Sets the last written group to `written`, if that is later.
    pub(super) fn note(&mut self, written: Option<Written>) {
        self.written = self.written.max(written);
    }
}
