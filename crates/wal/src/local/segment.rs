//! Segments, and where new ones come from.

use std::collections::{BTreeMap, VecDeque};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use super::format::{SECTOR_BYTES, SegmentHeader};
use super::{Disk, RangeId, WalId, segment_path};

/// A file of the log whose header is on the disk under its final name.
#[derive(Debug)]
pub(super) struct Segment {
    file: File,
    header: SegmentHeader,
    /// The last record of each range in it.
    last: BTreeMap<RangeId, WalId>,
}

impl Segment {
    pub(super) fn new(file: File, header: SegmentHeader) -> Self {
        Self {
            file,
            header,
            last: BTreeMap::new(),
        }
    }

    pub(super) fn file(&self) -> &File {
        &self.file
    }

    pub(super) fn salt(&self) -> u64 {
        self.header.salt
    }

    /// Its whole length.
    pub(super) fn bytes(&self) -> u64 {
        self.header.bytes
    }

    /// Remembers that it holds this record.
    pub(super) fn note(&mut self, range: RangeId, wal_id: WalId) {
        self.last.insert(range, wal_id);
    }

    /// Whether no range needs it.
    pub(super) fn is_released(&self, released: &BTreeMap<RangeId, WalId>) -> bool {
        self.last
            .iter()
            .all(|(range, last)| released.get(range).is_some_and(|mark| last <= mark))
    }

    /// Whose records it holds.
    pub(super) fn ranges(&self) -> impl Iterator<Item = RangeId> {
        self.last.keys().copied()
    }

    pub(super) fn holds_beyond(&self, range: RangeId, wal_id: WalId) -> bool {
        self.last.get(&range).is_some_and(|last| *last > wal_id)
    }
}

/// Makes segments, and keeps some ready.
#[derive(Debug)]
pub(super) struct Supply {
    directory: PathBuf,
    segment_bytes: u64,
    next_number: u64,
    ready: VecDeque<Segment>,
}

impl Supply {
    pub(super) fn new(directory: PathBuf, segment_bytes: u64, next_number: u64) -> Self {
        Self {
            directory,
            segment_bytes,
            next_number,
            ready: VecDeque::new(),
        }
    }

    /// Takes over the unused segments found at opening. They are used in the order of their numbers.
    pub(super) fn keep(&mut self, spares: VecDeque<Segment>) {
        self.ready.extend(spares);
    }

    /// The next segment, with room for a record of so many bytes: a ready one, or a new one.
    pub(super) fn take(&mut self, disk: &dyn Disk, record_bytes: u64) -> io::Result<Segment> {
        let wanted = SECTOR_BYTES + record_bytes;
        match self.ready.pop_front_if(|ready| ready.bytes() >= wanted) {
            Some(segment) => Ok(segment),
            None if self.ready.is_empty() => self.make(disk, wanted),
            None => self.make_instead(disk, wanted),
        }
    }

    /// Makes a ready segment if there are fewer than `spare_count`. Says whether it did.
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

    /// A new file that is longer than the ready ones. Those have lower numbers, and a start reads in the order of numbers: so
    /// they are removed, and made anew behind it.
    fn make_instead(&mut self, disk: &dyn Disk, bytes: u64) -> io::Result<Segment> {
        let partial = self.directory.join("new.tmp");
        let file = disk.create(&partial, bytes)?;
        // Only now: where the disk is too full for a long segment, the ready ones still take short records. One that stays after a
        // crash, or because it cannot be removed, is found empty by the next start.
        for unused in self.ready.drain(..) {
            fs::remove_file(segment_path(&self.directory, unused.header.number))?;
        }
        self.publish(disk, file, &partial, bytes)
    }

    /// Makes a segment that nobody needs into a ready one, or removes it when there are enough. A used file is better than a
    /// new one: its blocks are written already, so that syncing it need not touch the file system's own structures.
    pub(super) fn recycle(
        &mut self,
        disk: &dyn Disk,
        segment: Segment,
        ready_count_max: usize,
    ) -> io::Result<()> {
        let Segment {
            file,
            header,
            last: _,
        } = segment;
        let path = segment_path(&self.directory, header.number);
        if self.ready.len() >= ready_count_max || header.bytes != self.segment_bytes {
            fs::remove_file(path)?;
            return disk.sync_directory(&self.directory);
        }
        let partial = self.directory.join("recycled.tmp");
        disk.rename(&path, &partial)?;
        let segment = self.publish(disk, file, &partial, header.bytes)?;
        self.ready.push_back(segment);
        Ok(())
    }

    /// Writes a header and only then gives the file its name.
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
        // Only now: a number that was not used up leaves no gap.
        self.next_number += 1;
        Ok(Segment::new(file, header))
    }
}
