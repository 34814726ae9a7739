//! The engine's own write-ahead log: preallocated segments, one write and one sync for each group.
//!
//! SlateDB's log makes an object for each group, which costs a file and two syncs. This one appends to a file that is there
//! already, so that a group costs one `write` and one `fdatasync`, and so that a full disk is noticed before a group is
//! begun and not in the middle of it.
//!
//! Measured against SlateDB's own log in one run, on two busy cores (`examples/measure.rs`): one caller 0.15 ms instead of 0.64
//! to 6 ms and a sixth of the CPU time; 16 and 64 callers 4 to 5 times the puts a second; eight callers with batches of 100
//! 1.4 times. Tried and left out: segments that are allocated but not filled (4 ms a sync beside a flush), and writing the
//! store's large files in small synced pieces (no difference).
//!
//! What it promises:
//! - [`Log::append_gathered`] returns `Ok` only after the records are on the disk. A record is read back whole or not at all.
//! - After a failed write or sync the log is *poisoned*: nothing is appended any more, because nobody can know what the disk
//!   holds. Opening it anew finds out.
//! - At opening, a damaged record is taken for a torn tail only if it can be one: it is the last. Damage before an
//!   acknowledged record is an error, never a silent loss.
//! - [`Log::make_room`] takes the space of the next record. If it succeeds, the append that follows does not run out of disk. A
//!   record that is longer than a segment gets a segment of its own length.
//!
//! Invariants:
//! - Groups are numbered without gaps, and group `n + 1` is begun only after group `n` is on the disk.
//! - Records start at multiples of [`format::SECTOR_BYTES`], so that no sector of an acknowledged record is written again.
//! - A file has its final name only once its header is on the disk.
//! - Segments are given up from the front only.
//!
//! Records carry a range id: the databases of a process share one log, and a group has a record of each that writes in it, with
//! one write and one sync for all. `docs/format/log.md` describes the bytes.

mod disk;
#[cfg(any(test, feature = "conformance"))]
mod faulty_disk;
mod format;
mod recovery;
mod segment;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use parking_lot::Mutex;
use slatedb::RowEntry;

use crate::RangeId;
pub use disk::{Disk, OsDisk};
#[cfg(any(test, feature = "conformance"))]
pub use faulty_disk::{FaultyDisk, SyncFault};
pub use format::record_bytes_max;
pub use recovery::{OpenLogError, Record};
use segment::{Segment, Supply};

/// The number of a record among the records of its range, from 1 without gaps. SlateDB calls it the id of a WAL file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct WalId(
    /// The number.
    pub u64,
);

/// How the log is laid out.
#[derive(Clone, Copy, Debug)]
pub struct LogOptions {
    /// Bytes of a segment, but for those of a single longer record.
    pub segment_bytes: u64,
    /// Segments made ready before they are needed.
    pub spare_count: usize,
    /// Used segments kept to be used again; more are removed.
    pub recycled_count_max: usize,
}

/// Why a record cannot be appended.
#[derive(Clone, Debug, thiserror::Error)]
pub enum AppendError {
    /// The log is poisoned by an earlier failure. Nothing was written.
    #[error("the log failed earlier")]
    Poisoned,
    /// The write or the sync failed. The record may be there or not.
    #[error("cannot write the log")]
    Io(#[source] Arc<io::Error>),
    /// The record cannot be written at all. Nothing was written.
    #[error("the record is not one the log can hold")]
    Unfit,
}

/// An open log.
pub struct Log {
    disk: Arc<dyn Disk>,
    options: LogOptions,
    state: Mutex<State>,
    supply: Mutex<Supply>,
    poisoned: AtomicBool,
    is_new: bool,
    live_count: AtomicU64,
    live_bytes: AtomicU64,
}

struct State {
    current: Segment,
    /// Where the next record goes.
    offset: u64,
    /// The number of the next group.
    next_group: u64,
    /// Segments that are full, oldest first.
    sealed: VecDeque<Segment>,
    /// What each range needs no more.
    released: BTreeMap<RangeId, WalId>,
    /// What the database of each range is writing to the store's files, as far as it was asked.
    flushing: BTreeMap<RangeId, WalId>,
    /// The last record of each range that the log ever had in this life.
    last: BTreeMap<RangeId, WalId>,
    /// The records of the group being gathered, and whose they are.
    buffer: Vec<u8>,
    gathered: Vec<(RangeId, WalId)>,
}

/// How to begin after what was found on the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resume {
    /// Append behind the last record.
    Behind,
    /// Begin a new segment: the last one belongs to a file that failed to sync.
    Afresh,
}

impl Log {
    /// Opens the log in `directory`, which must exist, and returns the records it holds, in order. What is returned is on
    /// the disk, except after a failed sync (see [`Resume::Afresh`]): then the last group may be in memory only.
    pub fn open(
        directory: &Path,
        disk: Arc<dyn Disk>,
        options: LogOptions,
        resume: Resume,
    ) -> Result<(Self, Vec<Record>), OpenLogError> {
        let found = recovery::recover(directory, &*disk)?;
        let is_new = found.next_number == 1;
        let mut supply = Supply::new(
            directory.to_owned(),
            options.segment_bytes,
            found.next_number,
        );
        let mut sealed: VecDeque<Segment> = found.used.into();
        let mut spares: VecDeque<Segment> = found.empty.into();
        let resumed = match resume {
            // Behind a torn group may lie whole records of it, which must never be read after those of a later group.
            Resume::Behind if !found.remains => {
                sealed.pop_back().map(|segment| (segment, found.end))
            }
            _ => None,
        };
        let (current, offset) = match resumed {
            Some((segment, end)) => {
                // Its last record may be in memory only: whoever wrote it was killed before the sync.
                disk.sync(segment.file())?;
                (segment, end)
            }
            None => {
                if let Some(last) = sealed.back() {
                    disk.sync(last.file())?;
                }
                let segment = match spares.pop_front() {
                    Some(segment) => segment,
                    None => supply.make(&*disk, 0)?,
                };
                (segment, format::SECTOR_BYTES)
            }
        };
        supply.keep(spares);
        let last = found
            .records
            .iter()
            .map(|record| (record.range(), record.wal_id()))
            .collect();
        let log = Self {
            disk,
            options,
            live_count: AtomicU64::new(0),
            live_bytes: AtomicU64::new(0),
            state: Mutex::new(State {
                current,
                offset,
                next_group: found.next_group,
                sealed,
                released: BTreeMap::new(),
                flushing: BTreeMap::new(),
                last,
                buffer: Vec::new(),
                gathered: Vec::new(),
            }),
            supply: Mutex::new(supply),
            poisoned: AtomicBool::new(false),
            is_new,
        };
        log.count_live(&log.state.lock());
        Ok((log, found.records))
    }

    /// Makes sure that the next record, of at most `bytes`, has its space on the disk. Writes nothing of it.
    ///
    /// # Errors
    /// What the disk said, `StorageFull` among it. The log is as it was.
    pub fn make_room(&self, bytes: u64) -> io::Result<()> {
        if bytes > format::RECORD_BYTES_MAX {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let mut state = self.state.lock();
        if state.offset + bytes <= state.current.bytes() {
            return Ok(());
        }
        let next = self.supply.lock().take(&*self.disk, bytes)?;
        let full = std::mem::replace(&mut state.current, next);
        state.sealed.push_back(full);
        state.offset = format::SECTOR_BYTES;
        self.count_live(&state);
        Ok(())
    }

    /// Adds a record to the group being gathered. All rows have the sequence number `seq`. Writes nothing yet.
    pub fn gather(
        &self,
        range: RangeId,
        wal_id: WalId,
        seq: u64,
        rows: &[RowEntry],
    ) -> Result<(), AppendError> {
        let mut state = self.state.lock();
        if self.poisoned.load(Ordering::Acquire) {
            return Err(AppendError::Poisoned);
        }
        let State {
            current,
            offset,
            next_group,
            buffer,
            gathered,
            ..
        } = &mut *state;
        let header = format::RecordHeader {
            group: *next_group,
            range,
            wal_id,
            seq,
        };
        let before = buffer.len();
        let encoded = format::encode_record(buffer, current.salt(), &header, rows);
        let room = current.bytes().saturating_sub(*offset);
        if encoded.is_err() || buffer.len() as u64 > room {
            buffer.truncate(before);
            return Err(AppendError::Unfit);
        }
        gathered.push((range, wal_id));
        Ok(())
    }

    /// Appends the records gathered as one group and returns once they are on the disk. Blocking.
    pub fn append_gathered(&self) -> Result<(), AppendError> {
        let mut state = self.state.lock();
        let State {
            current,
            offset,
            next_group,
            last,
            buffer,
            gathered,
            ..
        } = &mut *state;
        if gathered.is_empty() {
            return Ok(());
        }
        if self.poisoned.load(Ordering::Acquire) {
            return Err(AppendError::Poisoned);
        }
        let written = self
            .disk
            .write_at(current.file(), buffer, *offset)
            .and_then(|()| self.disk.sync(current.file()));
        if let Err(error) = written {
            self.poison();
            return Err(AppendError::Io(Arc::new(error)));
        }
        *offset += buffer.len() as u64;
        *next_group += 1;
        for (range, wal_id) in gathered.drain(..) {
            current.note(range, wal_id);
            last.insert(range, wal_id);
        }
        buffer.clear();
        // One huge group must not hold its memory for ever.
        if buffer.capacity() > BUFFER_KEPT_BYTES {
            *buffer = Vec::new();
        }
        Ok(())
    }

    /// The ranges that have records, as far as the log remembers.
    pub fn ranges(&self) -> BTreeSet<RangeId> {
        self.state.lock().last.keys().copied().collect()
    }

    /// The last record of `range`, as far as the log remembers: from its opening on.
    pub fn last_of(&self, range: RangeId) -> Option<WalId> {
        self.state.lock().last.get(&range).copied()
    }

    /// Whether a range that has just written holds so many full `segments`, or as long ones, beyond the record `flushing` up
    /// to which its database is writing to files already, that it should write all it has. Takes it that a range that should
    /// does.
    pub fn is_due(&self, range: RangeId, flushing: WalId, segments: usize) -> bool {
        let mut state = self.state.lock();
        let held = state.sealed.iter();
        let held = held.filter(|segment| segment.holds_beyond(range, flushing));
        let held: u64 = held.map(Segment::bytes).sum();
        let due = held >= segments as u64 * self.options.segment_bytes;
        let last = state.last.get(&range).copied();
        let mark = if due { last } else { None }.unwrap_or(flushing);
        state.flushing.insert(range, mark);
        due
    }

    /// Ranges that keep more than `segments` full segments, or as long ones, from being given up and whose databases do
    /// nothing about it: they look only when they write, and these write seldom or not any more.
    pub fn stragglers(&self, segments: usize) -> Vec<RangeId> {
        let state = self.state.lock();
        let (kept, mut behind) = (segments as u64 * self.options.segment_bytes, 0);
        let mark = |marks: &BTreeMap<RangeId, WalId>, range: &RangeId| {
            marks.get(range).copied().unwrap_or_default()
        };
        let holds = |range: &RangeId, segment: &Segment| {
            let done = mark(&state.released, range).max(mark(&state.flushing, range));
            segment.holds_beyond(*range, done)
        };
        let old = state.sealed.iter().rev().filter(|segment| {
            behind += segment.bytes();
            behind > kept
        });
        let ranges: BTreeSet<RangeId> = old
            .flat_map(|segment| segment.ranges().filter(|range| holds(range, segment)))
            .collect();
        ranges.into_iter().collect()
    }

    /// Says that `range` needs no records up to `wal_id` any more, and gives up the segments that nobody needs, durably. Blocking.
    pub fn release(&self, range: RangeId, wal_id: WalId) {
        let mut freed = Vec::new();
        {
            let mut state = self.state.lock();
            let State {
                sealed, released, ..
            } = &mut *state;
            let mark = released.entry(range).or_default();
            *mark = wal_id.max(*mark);
            while sealed
                .front()
                .is_some_and(|segment| segment.is_released(released))
            {
                freed.extend(sealed.pop_front());
            }
            self.count_live(&state);
        }
        let mut supply = self.supply.lock();
        for segment in freed {
            if let Err(error) =
                supply.recycle(&*self.disk, segment, self.options.recycled_count_max)
            {
                tracing::warn!(%error, "a segment of the log was not recycled");
            }
        }
    }

    /// Makes spare segments until there are as many as wanted; none for a log that has hardly begun, so that a small server
    /// takes a small place. Blocking.
    ///
    /// # Errors
    /// What the disk said; fewer spares only make the next roll slower.
    pub fn prepare(&self) -> io::Result<()> {
        if !self.wants_spares() {
            return Ok(());
        }
        while self
            .supply
            .lock()
            .prepare_one(&*self.disk, self.options.spare_count)?
        {}
        Ok(())
    }

    /// Whether so much was written that another segment will be needed soon.
    pub fn wants_spares(&self) -> bool {
        let state = self.state.lock();
        !state.sealed.is_empty() || state.offset > state.current.bytes() / 4
    }

    /// Whether there was no log before. A log that was ever opened has a segment.
    pub fn is_new(&self) -> bool {
        self.is_new
    }

    /// How many segments a start would have to read.
    pub fn live_count(&self) -> u64 {
        self.live_count.load(Ordering::Relaxed)
    }

    /// How many bytes a start would have to read, to the segment.
    pub fn live_bytes(&self) -> u64 {
        self.live_bytes.load(Ordering::Relaxed)
    }

    /// Whether it has become as long as so many segments. The one that is written to does not count by itself: however long it
    /// is, only the next one makes it one that can be given up.
    pub fn is_as_long_as(&self, segments: u64) -> bool {
        self.live_count() > 1 && self.live_bytes() >= segments * self.options.segment_bytes
    }

    fn count_live(&self, state: &State) {
        let sealed: u64 = state.sealed.iter().map(Segment::bytes).sum();
        let (count, bytes) = (
            state.sealed.len() as u64 + 1,
            sealed + state.current.bytes(),
        );
        self.live_count.store(count, Ordering::Relaxed);
        self.live_bytes.store(bytes, Ordering::Relaxed);
    }

    /// Refuses every further append.
    pub fn poison(&self) {
        self.poisoned.store(true, Ordering::Release);
    }
}

/// How much of the buffer for records is kept between groups.
const BUFFER_KEPT_BYTES: usize = 8 << 20;

/// The folder the log is in, for messages.
fn display(path: &Path) -> String {
    path.display().to_string()
}

/// Path of the segment with `number`.
fn segment_path(directory: &Path, number: u64) -> PathBuf {
    directory.join(format!("{number:020}.log"))
}

#[cfg(test)]
mod tests;
