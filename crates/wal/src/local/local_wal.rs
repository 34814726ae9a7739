//! The open WAL of a directory: segments, retention, and concurrent maintenance.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use futures::FutureExt;
use futures::future::{BoxFuture, Either, ready};
use parking_lot::{Mutex, MutexGuard};

use super::format::{self, HEAD_SLOT_BYTES, SECTOR_BYTES, VERSION, Written};
use super::head::Head;
use super::recovery::{self, Recovered};
use super::segment::Segment;
use super::segment_pool::SegmentPool;
use super::writer::Writer;
use super::{Disk, Options, verify_open};
use crate::framing;
use crate::retention::{Retained, Retention};
use crate::{
    AppendError, OpenWalError, RangeId, Record, RecordHeader, RecordSize, RecordSizes, Resume,
    RoomError, RowRef, VerifiedFile, Wal, WalFuture, WalId,
};

/// An open WAL. Maintenance runs on another thread, so the fields are shared.
pub(super) struct LocalWal(Arc<Shared>);

struct Shared {
    disk: Arc<dyn Disk>,
    options: Options,
    state: Mutex<State>,
    /// Lock order: `state`, then `pool`. Creating a segment holds the lock for milliseconds.
    pool: Mutex<SegmentPool>,
    recovered: Mutex<BTreeMap<RangeId, VecDeque<Record>>>,
    poisoned: AtomicBool,
    is_new: bool,
    /// The number of full segments, plus one for the current segment; readable without the lock.
    live_segments: AtomicU64,
    live_bytes: AtomicU64,
    /// See [`Wal::segment_bytes`]. The pool changes it.
    segment_bytes: Arc<AtomicU64>,
    /// See [`crate::WalStorage::written_bytes`].
    written_bytes: Arc<AtomicU64>,
    wants_maintenance: AtomicBool,
}

struct State {
    writer: Writer,
    /// Segments that are full, oldest first.
    sealed: VecDeque<Segment>,
    /// Fully released segments, oldest first, until maintenance recycles them.
    released: Vec<Segment>,
    retention: Retention,
    /// Whether maintenance was asked to create spare segments.
    spares_requested: bool,
    /// How far the WAL was written when maintenance last ran.
    written_at_maintenance: Option<Written>,
    /// Calls of maintenance in a row without a new group.
    idle_calls: u32,
    /// The segment and offset of the next group when the WAL came to rest and removed its ready segments. Ready
    /// segments are created again only after more than a few writes, so that rare writes do not create and remove
    /// segments each time.
    rested_at: Option<(u64, u64)>,
}

impl LocalWal {
    /// Opens the WAL in `directory`, which adds the bytes of its groups to `written_bytes`. Blocking.
    pub(super) fn open(
        directory: &Path,
        disk: Arc<dyn Disk>,
        options: Options,
        resume: Resume,
        written_bytes: Arc<AtomicU64>,
    ) -> Result<Self, OpenWalError> {
        let head = Head::read(directory)?;
        let mut found = recovery::recover(directory, &*disk, head.as_ref().map(Head::record))?;
        let is_new = found.next_number == 1;
        let head = list_all(directory, &*disk, head, &found)?;
        let mut pool = SegmentPool::new(
            directory.to_owned(),
            options.segment_bytes,
            found.next_number,
            head,
        );
        let segment_bytes = pool.all_bytes();
        segment_bytes.store(found.bytes(), Ordering::Relaxed);
        let ids = found.records.iter();
        let ids = ids.map(|record| (record.header.range, record.header.wal_id));
        let retention = Retention::new(options.limits(), ids);
        let records = std::mem::take(&mut found.records);
        let (writer, sealed, released) = start_writer(&*disk, &mut pool, found, resume)?;
        let mut recovered: BTreeMap<RangeId, VecDeque<Record>> = BTreeMap::new();
        for record in records {
            let of_range = recovered.entry(record.header.range).or_default();
            of_range.push_back(record);
        }
        let shared = Shared {
            disk,
            options,
            state: Mutex::new(State {
                writer,
                sealed,
                released,
                retention,
                spares_requested: false,
                written_at_maintenance: None,
                idle_calls: 0,
                rested_at: None,
            }),
            pool: Mutex::new(pool),
            recovered: Mutex::new(recovered),
            poisoned: AtomicBool::new(false),
            is_new,
            live_segments: AtomicU64::new(0),
            live_bytes: AtomicU64::new(0),
            segment_bytes,
            written_bytes,
            wants_maintenance: AtomicBool::new(false),
        };
        shared.count_live(&shared.state.lock());
        Ok(Self(Arc::new(shared)))
    }

    pub(super) fn fence(&self) -> Fence {
        Fence(Arc::downgrade(&self.0))
    }

    fn run_blocking(&self, run: fn(&Shared) -> io::Result<()>) -> BoxFuture<'_, io::Result<()>> {
        let shared = Arc::clone(&self.0);
        async move {
            let running = partita_rt::threads::spawn_blocking(move || run(&shared));
            running.await.map_err(io::Error::other)?
        }
        .boxed()
    }

    #[cfg(test)]
    pub(super) fn verify_next_blocking(&self, after: Option<u64>) -> Option<VerifiedFile> {
        self.0.verify_next(after)
    }

    #[cfg(test)]
    pub(super) fn maintain_blocking(&self) -> io::Result<()> {
        self.0.maintain()
    }

    #[cfg(test)]
    pub(super) fn record_end_blocking(&self) -> io::Result<()> {
        self.0.record_end()
    }
}

/// Fences an open WAL when the storage is opened again: the old WAL then changes no more files.
#[derive(Default)]
pub(super) struct Fence(Weak<Shared>);

impl Fence {
    /// Poisons the WAL, and waits until its current group is written and its maintenance changes no more files.
    pub(super) fn close(&self) {
        if let Some(shared) = self.0.upgrade() {
            shared.poisoned.store(true, Ordering::Release);
            drop(shared.state.lock());
            drop(shared.pool.lock());
        }
    }
}

/// Lists in the head the segments that were found. Creates the head of a new WAL, or of a WAL of an earlier version,
/// before the first segment of this version exists.
fn list_all(
    directory: &Path,
    disk: &dyn Disk,
    head: Option<Head>,
    found: &Recovered,
) -> io::Result<Head> {
    let segments = found.numbers();
    match head {
        None => Head::create(directory, disk, segments),
        Some(mut head) => {
            head.update(disk, |head| head.segments = segments)?;
            Ok(head)
        }
    }
}

/// Decides where the next group starts: after the last record, or in a new segment. Returns the writer, the full
/// segments, and segments to recycle.
fn start_writer(
    disk: &dyn Disk,
    pool: &mut SegmentPool,
    found: Recovered,
    resume: Resume,
) -> io::Result<(Writer, VecDeque<Segment>, Vec<Segment>)> {
    let mut sealed: VecDeque<Segment> = found.used.into();
    let is_current = |segment: &Segment| segment.header.version == VERSION;
    // Only segments of the current version are used, because earlier versions of partita refuse to read them. An
    // earlier version would otherwise append to this WAL without updating the head.
    let (spares, released): (Vec<Segment>, Vec<Segment>) =
        found.empty.into_iter().partition(is_current);
    let mut spares = VecDeque::from(spares);
    // A file whose sync failed is not written again. The rest of a torn group may contain whole records, which must
    // never be read after records of a later group.
    let continues =
        resume == Resume::AfterStop && !found.has_remains && sealed.back().is_some_and(is_current);
    let last = if continues { sealed.pop_back() } else { None };
    let (segment, offset) = match last {
        Some(segment) => {
            // Its last record may be only in the page cache: the process may have died before the sync.
            disk.sync(&segment.file)?;
            (segment, found.end)
        }
        None => {
            if let Some(last) = sealed.back() {
                disk.sync(&last.file)?;
            }
            let segment = match spares.pop_front() {
                Some(segment) => segment,
                None => pool.make(disk, 0)?,
            };
            (segment, SECTOR_BYTES)
        }
    };
    pool.add_spares(spares);
    let writer = Writer::new(segment, offset, found.next_group);
    Ok((writer, sealed, released))
}

impl Shared {
    fn make_room(&self, bytes: u64) -> Result<(), RoomError> {
        if bytes > framing::RECORD_BYTES_MAX {
            return Err(RoomError::TooLarge);
        }
        let mut state = self.state.lock();
        if state.writer.has_room(bytes) {
            if !state.spares_requested && state.writer.is_quarter_full() {
                self.request_spares(&mut state);
            }
            return Ok(());
        }
        // A fenced WAL creates no files, because the storage may already be open again. It accepts no records either.
        if self.is_poisoned() {
            return Ok(());
        }
        let next = {
            let mut pool = self.pool.lock();
            pool.set_written(state.writer.written());
            pool.take(&*self.disk, bytes)
        };
        let next = next.map_err(|error| match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => RoomError::Full,
            _ => RoomError::Io(error),
        })?;
        let full = state.writer.roll(next);
        state.sealed.push_back(full);
        self.count_live(&state);
        self.request_spares(&mut state);
        Ok(())
    }

    fn request_spares(&self, state: &mut State) {
        state.spares_requested = true;
        self.wants_maintenance.store(true, Ordering::Relaxed);
    }

    fn append_group(&self) -> Result<(), AppendError> {
        let mut state = self.state.lock();
        let State {
            writer, retention, ..
        } = &mut *state;
        if writer.group_is_empty() {
            return Ok(());
        }
        if self.is_poisoned() {
            return Err(AppendError::Poisoned);
        }
        if let Err(error) = writer.write(&*self.disk) {
            self.poisoned.store(true, Ordering::Release);
            return Err(AppendError::Io(Arc::new(error)));
        }
        self.written_bytes
            .fetch_add(writer.group_bytes(), Ordering::Relaxed);
        writer.end_group(|range, wal_id| retention.add(range, wal_id));
        Ok(())
    }

    /// Moves fully released segments out of the WAL.
    fn release_segments(&self, state: &mut State) {
        let State {
            sealed,
            released,
            retention,
            ..
        } = state;
        while let Some(segment) = sealed.pop_front_if(|first| retention.is_released(first)) {
            released.push(segment);
        }
        self.count_live(state);
    }

    /// Recycles released segments, then creates the configured number of spare segments. A WAL whose first segment is
    /// less than a quarter full gets no spares, so that a small server uses little space. A WAL without writes for a
    /// while has no spares either.
    fn maintain(&self) -> io::Result<()> {
        let wants_spares = {
            let mut state = self.state.lock();
            let State {
                writer, rested_at, ..
            } = &mut *state;
            rested_at.take_if(|position| writer.has_moved_on_since(*position));
            let rests = state.rested_at.is_some();
            !state.sealed.is_empty() || (state.writer.is_quarter_full() && !rests)
        };
        // The pool is unlocked between two segments, because the commit thread may need one.
        for segment in self.take_released()? {
            let recycled =
                self.open_pool()?
                    .recycle(&*self.disk, segment, self.options.recycled_count_max);
            if let Err(error) = recycled {
                tracing::warn!(%error, "failed to recycle a WAL segment");
            }
        }
        let prepare_one = || {
            let mut pool = self.open_pool()?;
            pool.prepare_one(&*self.disk, self.options.spare_count)
        };
        if self.begins_rest() {
            return self.open_pool()?.remove_ready(&*self.disk);
        }
        while wants_spares && prepare_one()? {}
        Ok(())
    }

    /// Whether no group was written for a while and the records of all full segments are released. Then the ready
    /// segments are removed.
    fn begins_rest(&self) -> bool {
        let mut state = self.state.lock();
        let begins = state.sealed.is_empty() && state.idle_calls >= self.options.idle_calls_max;
        if begins {
            state.rested_at = Some(state.writer.position());
        }
        begins
    }

    /// The pool; an error if the WAL is fenced, because its files may already belong to the reopened WAL.
    fn open_pool(&self) -> io::Result<MutexGuard<'_, SegmentPool>> {
        let pool = self.pool.lock();
        if self.is_poisoned() {
            return Err(io::Error::other("the WAL is closed"));
        }
        Ok(pool)
    }

    /// Removes the released segments from the list in the head, and returns them. If no group was written since the
    /// last call, also records in the head how far the WAL is written.
    fn take_released(&self) -> io::Result<Vec<Segment>> {
        let (released, written, is_idle) = {
            let mut state = self.state.lock();
            let written = state.writer.written();
            let before = std::mem::replace(&mut state.written_at_maintenance, written);
            let is_idle = before == written;
            state.idle_calls = if is_idle {
                state.idle_calls.saturating_add(1)
            } else {
                0
            };
            (std::mem::take(&mut state.released), written, is_idle)
        };
        if released.is_empty() && !is_idle {
            return Ok(released);
        }
        let unlisted = self.open_pool().and_then(|mut pool| {
            pool.set_written(written);
            pool.unlist(&*self.disk, &released)
        });
        match unlisted {
            Ok(()) => Ok(released),
            Err(error) => {
                // Puts the segments back, because the head may still list them. The next maintenance tries again.
                drop(self.state.lock().released.splice(0..0, released));
                Err(error)
            }
        }
    }

    /// Records in the head how far the WAL is written.
    fn record_end(&self) -> io::Result<()> {
        let written = self.state.lock().writer.written();
        let mut pool = self.open_pool()?;
        pool.set_written(written);
        pool.record_written(&*self.disk)
    }

    /// See [`Wal::verify_next`]. The head has number 0, and each full segment its own.
    fn verify_next(&self, after: Option<u64>) -> Option<VerifiedFile> {
        let Some(after) = after else {
            let problem = self.pool.lock().head_problem();
            return Some(VerifiedFile {
                number: 0,
                name: "head".to_owned(),
                bytes: 2 * HEAD_SLOT_BYTES as u64,
                problem: problem.filter(|_| !self.is_poisoned()),
            });
        };
        let (number, bytes, contents) = {
            let state = self.state.lock();
            let mut sealed = state.sealed.iter();
            let next = sealed
                .find(|segment| segment.header.number > after && !segment.contents.is_empty())?;
            (next.header.number, next.header.bytes, next.contents.clone())
        };
        let path = self.pool.lock().path_of(number);
        let problem = verify_open::segment_problem(&path, number, &contents);
        // A released file is reused or removed, and the files of a fenced WAL belong to the next one.
        let is_needed = !self.is_poisoned() && {
            let state = self.state.lock();
            let mut sealed = state.sealed.iter();
            sealed.any(|segment| segment.header.number == number)
        };
        Some(VerifiedFile {
            number,
            name: path.file_name()?.to_str()?.to_owned(),
            bytes,
            problem: problem.filter(|_| is_needed),
        })
    }

    fn count_live(&self, state: &State) {
        let sealed: u64 = state.sealed.iter().map(Retained::bytes).sum();
        let bytes = sealed + state.writer.segment().bytes();
        let count = state.sealed.len() as u64 + 1;
        self.live_segments.store(count, Ordering::Relaxed);
        self.live_bytes.store(bytes, Ordering::Relaxed);
    }

    fn is_poisoned(&self) -> bool {
        self.poisoned.load(Ordering::Acquire)
    }
}

impl Wal for LocalWal {
    fn is_new(&self) -> bool {
        self.0.is_new
    }

    fn take_recovered(&self, range: RangeId) -> VecDeque<Record> {
        self.0.recovered.lock().remove(&range).unwrap_or_default()
    }

    fn recovered_ranges(&self) -> Vec<RangeId> {
        self.0.recovered.lock().keys().copied().collect()
    }

    fn make_room(&self, records: RecordSizes<'_>) -> WalFuture<'_, Result<(), RoomError>> {
        let bytes = records.map(format::framed_bytes_max).sum();
        Either::Left(ready(self.0.make_room(bytes)))
    }

    fn add(
        &self,
        header: RecordHeader,
        size: RecordSize,
        rows: &mut dyn Iterator<Item = RowRef<'_>>,
    ) -> Result<(), AppendError> {
        if self.0.is_poisoned() {
            return Err(AppendError::Poisoned);
        }
        let mut state = self.0.state.lock();
        let added = state.writer.add(header, size, rows);
        added.map_err(|_unfit| AppendError::Unfit)
    }

    fn append_group(&self) -> WalFuture<'_, Result<(), AppendError>> {
        Either::Left(ready(self.0.append_group()))
    }

    fn last_of(&self, range: RangeId) -> Option<WalId> {
        self.0.state.lock().retention.last_of(range)
    }

    fn release(&self, range: RangeId, wal_id: WalId) {
        let mut state = self.0.state.lock();
        state.retention.release(range, wal_id);
        self.0.release_segments(&mut state);
    }

    fn retain(&self, known: &BTreeSet<RangeId>) {
        let mut recovered = self.0.recovered.lock();
        recovered.retain(|range, _| known.contains(range));
        drop(recovered);
        let mut state = self.0.state.lock();
        state.retention.retain(known);
        self.0.release_segments(&mut state);
    }

    fn is_due(&self, range: RangeId, flushing_up_to: WalId) -> bool {
        let mut state = self.0.state.lock();
        let State {
            sealed, retention, ..
        } = &mut *state;
        retention.is_due(range, flushing_up_to, sealed.iter())
    }

    fn stragglers(&self) -> Vec<RangeId> {
        let state = self.0.state.lock();
        state.retention.stragglers(state.sealed.iter())
    }

    fn fullness(&self) -> f64 {
        let segments = self.0.live_segments.load(Ordering::Relaxed);
        self.0
            .options
            .limits()
            .fullness(segments, self.live_bytes())
    }

    fn live_bytes(&self) -> u64 {
        self.0.live_bytes.load(Ordering::Relaxed)
    }

    fn segment_bytes(&self) -> u64 {
        self.0.segment_bytes.load(Ordering::Relaxed)
    }

    fn wants_maintenance(&self) -> bool {
        let flag = &self.0.wants_maintenance;
        // Load before swap: this runs for each group, and the flag is rarely set.
        flag.load(Ordering::Relaxed) && flag.swap(false, Ordering::Relaxed)
    }

    /// Runs on a blocking thread.
    fn maintain(&self) -> BoxFuture<'_, io::Result<()>> {
        self.run_blocking(Shared::maintain)
    }

    /// Runs on a blocking thread.
    fn record_end(&self) -> BoxFuture<'_, io::Result<()>> {
        self.run_blocking(Shared::record_end)
    }

    /// Runs on a blocking thread: reads a whole segment.
    fn verify_next(&self, after: Option<u64>) -> BoxFuture<'_, Option<VerifiedFile>> {
        let shared = Arc::clone(&self.0);
        async move {
            let verifying = partita_rt::threads::spawn_blocking(move || shared.verify_next(after));
            verifying.await.ok().flatten()
        }
        .boxed()
    }

    fn poison(&self) {
        self.0.poisoned.store(true, Ordering::Release);
    }
}
