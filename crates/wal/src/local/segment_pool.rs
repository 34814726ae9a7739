//! Segments that are ready for writing, and the creation of new segments.

use std::collections::{BTreeSet, VecDeque};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::format::{SECTOR_BYTES, SegmentHeader, VERSION, Written};
use super::head::Head;
use super::segment::Segment;
use super::{Disk, segment_path, verify_open};
use crate::retention::Retained;

/// Creates segments, keeps some ready, and lists all segments in the head.
#[derive(Debug)]
pub(super) struct SegmentPool {
    directory: PathBuf,
    segment_bytes: u64,
    next_number: u64,
    ready: VecDeque<Segment>,
    /// The bytes of all segments, in this pool or not.
    all_bytes: Arc<AtomicU64>,
    head: Head,
    /// How far the WAL is known to be written. The next update of the head includes it.
    written: Option<Written>,
}

impl SegmentPool {
    pub(super) fn new(
        directory: PathBuf,
        segment_bytes: u64,
        next_number: u64,
        head: Head,
    ) -> Self {
        Self {
            directory,
            segment_bytes,
            next_number,
            ready: VecDeque::new(),
            all_bytes: Arc::default(),
            head,
            written: None,
        }
    }

    /// The bytes of all segments, in this pool or not. The pool keeps the number up to date.
    pub(super) fn all_bytes(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.all_bytes)
    }

    /// Sets how far the WAL is written, for the next update of the head.
    pub(super) fn set_written(&mut self, written: Option<Written>) {
        self.written = written;
    }

    /// Stores in the head how far the WAL is written. Writes nothing if the head already states it.
    pub(super) fn record_written(&mut self, disk: &dyn Disk) -> io::Result<()> {
        self.update_head(disk, |_segments| {})
    }

    /// What is wrong with the stored head.
    pub(super) fn head_problem(&self) -> Option<String> {
        verify_open::head_problem(&self.directory, self.head.record())
    }

    /// The path of the segment with this number.
    pub(super) fn path_of(&self, number: u64) -> PathBuf {
        segment_path(&self.directory, number)
    }

    /// Removes released segments from the head. Only then their files may be reused or removed.
    pub(super) fn unlist(&mut self, disk: &dyn Disk, released: &[Segment]) -> io::Result<()> {
        self.update_head(disk, |segments| {
            for segment in released {
                segments.remove(&segment.header.number);
            }
        })
    }

    fn update_head(
        &mut self,
        disk: &dyn Disk,
        change: impl FnOnce(&mut BTreeSet<u64>),
    ) -> io::Result<()> {
        self.head.update(disk, |head| {
            head.note(self.written);
            change(&mut head.segments);
        })
    }

    /// Adds the empty segments found when the WAL was opened. They are used in the order of their numbers.
    pub(super) fn add_spares(&mut self, spares: VecDeque<Segment>) {
        self.ready.extend(spares);
    }

    /// Returns a ready or new segment with space for a group of `record_bytes`.
    pub(super) fn take(&mut self, disk: &dyn Disk, record_bytes: u64) -> io::Result<Segment> {
        let wanted = SECTOR_BYTES + record_bytes;
        match self.ready.pop_front_if(|ready| ready.bytes() >= wanted) {
            Some(segment) => Ok(segment),
            None if self.ready.is_empty() => self.make(disk, wanted),
            None => self.make_longer(disk, wanted),
        }
    }

    /// Creates a ready segment if fewer than `spare_count` exist. Returns whether it created one.
    pub(super) fn prepare_one(&mut self, disk: &dyn Disk, spare_count: usize) -> io::Result<bool> {
        if self.ready.len() >= spare_count {
            return Ok(false);
        }
        let segment = self.make(disk, 0)?;
        self.ready.push_back(segment);
        Ok(true)
    }

    /// Creates a segment of the configured length, or of `bytes_min` if that is longer.
    pub(super) fn make(&mut self, disk: &dyn Disk, bytes_min: u64) -> io::Result<Segment> {
        let bytes = self.segment_bytes.max(bytes_min);
        let partial = self.directory.join("new.tmp");
        let file = disk.create(&partial, bytes)?;
        let made = self.publish(disk, file, &partial, bytes, &BTreeSet::new())?;
        self.all_bytes.fetch_add(bytes, Ordering::Relaxed);
        Ok(made)
    }

    /// Creates a segment that is longer than the ready segments. The ready segments have lower numbers, but recovery
    /// reads segments in the order of their numbers. So they are removed, and created again later.
    fn make_longer(&mut self, disk: &dyn Disk, bytes: u64) -> io::Result<Segment> {
        let partial = self.directory.join("new.tmp");
        let file = disk.create(&partial, bytes)?;
        // The ready segments are removed only now that the long file exists. If the disk is too full for it, they can
        // still take short records.
        let unused = self.ready.iter().map(|ready| ready.header.number).collect();
        let segment = self.publish(disk, file, &partial, bytes, &unused)?;
        self.all_bytes.fetch_add(bytes, Ordering::Relaxed);
        for unused in std::mem::take(&mut self.ready) {
            // Recovery treats a ready segment that survives a crash or a failed removal as empty.
            if let Err(error) = self.remove_file(disk, &unused) {
                let number = unused.header.number;
                tracing::warn!(%error, number, "failed to remove an unused WAL segment");
            }
        }
        Ok(segment)
    }

    /// Removes all ready segments. Recovery treats one that survives a crash or a failed removal as empty.
    pub(super) fn remove_ready(&mut self, disk: &dyn Disk) -> io::Result<()> {
        if self.ready.is_empty() {
            return Ok(());
        }
        let unused: BTreeSet<u64> = self.ready.iter().map(|it| it.header.number).collect();
        self.update_head(disk, |segments| {
            segments.retain(|number| !unused.contains(number));
        })?;
        for unused in std::mem::take(&mut self.ready) {
            self.remove_file(disk, &unused)?;
        }
        disk.sync_directory(&self.directory)
    }

    /// Removes the file of a segment that the head does not list.
    fn remove_file(&self, disk: &dyn Disk, segment: &Segment) -> io::Result<()> {
        disk.remove(&self.path_of(segment.header.number))?;
        self.all_bytes.fetch_sub(segment.bytes(), Ordering::Relaxed);
        Ok(())
    }

    /// Makes a released, unlisted segment ready for reuse, or removes it if enough are ready or its length is not the
    /// configured one. A used file is faster than a new file: its blocks are already written, so a sync does not change
    /// file system metadata.
    pub(super) fn recycle(
        &mut self,
        disk: &dyn Disk,
        segment: Segment,
        ready_count_max: usize,
    ) -> io::Result<()> {
        let bytes = segment.bytes();
        if self.ready.len() >= ready_count_max || bytes != self.segment_bytes {
            self.remove_file(disk, &segment)?;
            return disk.sync_directory(&self.directory);
        }
        let partial = self.directory.join("recycled.tmp");
        disk.rename(&self.path_of(segment.header.number), &partial)?;
        let segment = self.publish(disk, segment.file, &partial, bytes, &BTreeSet::new())?;
        self.ready.push_back(segment);
        Ok(())
    }

    /// Writes a header, then gives the file its final name, and then lists the segment in the head, instead of the
    /// `unused` segments.
    fn publish(
        &mut self,
        disk: &dyn Disk,
        file: File,
        partial: &Path,
        bytes: u64,
        unused: &BTreeSet<u64>,
    ) -> io::Result<Segment> {
        let mut salt = [0; 8];
        partita_rt::random::fill(&mut salt);
        let header = SegmentHeader {
            version: VERSION,
            number: self.next_number,
            salt: u64::from_le_bytes(salt),
            bytes,
        };
        disk.write_at(&file, &header.encode(), 0)?;
        disk.sync(&file)?;
        disk.rename(partial, &segment_path(&self.directory, header.number))?;
        disk.sync_directory(&self.directory)?;
        self.update_head(disk, |segments| {
            segments.retain(|number| !unused.contains(number));
            segments.insert(header.number);
        })?;
        // Increased only after the rename, so that a failure does not leave a gap in the numbers.
        self.next_number += 1;
        Ok(Segment::new(file, header))
    }
}
