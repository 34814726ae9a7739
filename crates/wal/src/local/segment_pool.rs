//! Segments that are ready for writing, and how new ones are made.

use std::collections::VecDeque;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use super::format::{SECTOR_BYTES, SegmentHeader};
use super::segment::Segment;
use super::{Disk, segment_path};
use crate::retention::Retained;

/// Makes segments, and keeps some ready.
#[derive(Debug)]
pub(super) struct SegmentPool {
    directory: PathBuf,
    segment_bytes: u64,
    next_number: u64,
    ready: VecDeque<Segment>,
}

impl SegmentPool {
    pub(super) fn new(directory: PathBuf, segment_bytes: u64, next_number: u64) -> Self {
        Self {
            directory,
            segment_bytes,
            next_number,
            ready: VecDeque::new(),
        }
    }

    /// Adds the unused segments found at opening. They are used in the order of their numbers.
    pub(super) fn add_spares(&mut self, spares: VecDeque<Segment>) {
        self.ready.extend(spares);
    }

    /// The next segment, with room for a record of so many bytes: a ready one, or a new one.
    pub(super) fn take(&mut self, disk: &dyn Disk, record_bytes: u64) -> io::Result<Segment> {
        let wanted = SECTOR_BYTES + record_bytes;
        match self.ready.pop_front_if(|ready| ready.bytes() >= wanted) {
            Some(segment) => Ok(segment),
            None if self.ready.is_empty() => self.make(disk, wanted),
            None => self.make_longer(disk, wanted),
        }
    }

    /// Makes a ready segment if there are fewer than `spare_count`. Returns whether it did.
    pub(super) fn prepare_one(&mut self, disk: &dyn Disk, spare_count: usize) -> io::Result<bool> {
        if self.ready.len() >= spare_count {
            return Ok(false);
        }
        let segment = self.make(disk, 0)?;
        self.ready.push_back(segment);
        Ok(true)
    }

    /// A new file, of the length of all segments or of so many bytes if that is more.
    pub(super) fn make(&mut self, disk: &dyn Disk, bytes_min: u64) -> io::Result<Segment> {
        let bytes = self.segment_bytes.max(bytes_min);
        let partial = self.directory.join("new.tmp");
        let file = disk.create(&partial, bytes)?;
        self.publish(disk, file, &partial, bytes)
    }

    /// A new file that is longer than the ready ones. Those have lower numbers, and a start reads in the order of numbers, so they
    /// are removed first and made again later.
    fn make_longer(&mut self, disk: &dyn Disk, bytes: u64) -> io::Result<Segment> {
        let partial = self.directory.join("new.tmp");
        let file = disk.create(&partial, bytes)?;
        // Only after the long file exists: if the disk is too full for it, the ready ones still take short records. A ready one that
        // survives (a crash, a failed removal) is found empty by the next start.
        for unused in self.ready.drain(..) {
            fs::remove_file(segment_path(&self.directory, unused.header.number))?;
        }
        self.publish(disk, file, &partial, bytes)
    }

    /// Turns a released segment into a ready one, or removes it when there are enough. A used file is better than a new one: its blocks
    /// are written already, so a sync need not change the file system's own structures.
    pub(super) fn recycle(
        &mut self,
        disk: &dyn Disk,
        segment: Segment,
        ready_count_max: usize,
    ) -> io::Result<()> {
        let (path, bytes) = (
            segment_path(&self.directory, segment.header.number),
            segment.bytes(),
        );
        if self.ready.len() >= ready_count_max || bytes != self.segment_bytes {
            fs::remove_file(path)?;
            return disk.sync_directory(&self.directory);
        }
        let partial = self.directory.join("recycled.tmp");
        disk.rename(&path, &partial)?;
        let segment = self.publish(disk, segment.file, &partial, bytes)?;
        self.ready.push_back(segment);
        Ok(())
    }

    /// Writes a header, and only then gives the file its final name.
    fn publish(
        &mut self,
        disk: &dyn Disk,
        file: File,
        partial: &Path,
        bytes: u64,
    ) -> io::Result<Segment> {
        let mut salt = [0; 8];
        partita_rt::random::fill(&mut salt);
        let header = SegmentHeader {
            number: self.next_number,
            salt: u64::from_le_bytes(salt),
            bytes,
        };
        disk.write_at(&file, &header.encode(), 0)?;
        disk.sync(&file)?;
        disk.rename(partial, &segment_path(&self.directory, header.number))?;
        disk.sync_directory(&self.directory)?;
        // Only after the rename: a number that was not used leaves no gap.
        self.next_number += 1;
        Ok(Segment::new(file, header))
    }
}
