//! The open WAL of a [`super::MemoryStorage`].

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io;
use std::sync::Arc;

use futures::FutureExt;
use futures::future::{BoxFuture, Either, ready};
use parking_lot::Mutex;

use super::{Kept, Options, Segment};
use crate::retention::{Retained, Retention};
use crate::row::{ROW_HEADER_BYTES_MAX, encode_rows};
use crate::{
    AppendError, AppendFault, RangeId, Record, RecordHeader, RecordSize, RecordSizes, RoomError,
    RowRef, Wal, WalFuture, WalId,
};

/// An open WAL. Lock order: `state`, then the storage.
pub(super) struct MemoryWal {
    options: Options,
    kept: Arc<Mutex<Kept>>,
    /// Which opening of the storage this WAL is, counted from 1. The WAL is fenced once `Kept::life` is greater.
    life: u64,
    state: Mutex<State>,
}

struct State {
    retention: Retention,
    recovered: BTreeMap<RangeId, VecDeque<Record>>,
    group: Vec<Record>,
    /// Bytes that [`Wal::make_room`] reserved for the group.
    room_bytes: u64,
    poisoned: bool,
}

impl MemoryWal {
    pub(super) fn open(options: Options, kept: Arc<Mutex<Kept>>) -> Self {
        let mut storage = kept.lock();
        storage.life += 1;
        let life = storage.life;
        let mut recovered: BTreeMap<RangeId, VecDeque<Record>> = BTreeMap::new();
        for record in storage.segments.iter().flat_map(|segment| &segment.records) {
            let of_range = recovered.entry(record.header.range).or_default();
            of_range.push_back(record.clone());
        }
        if storage.segments.is_empty() {
            storage
                .segments
                .push_back(Segment::new(options.segment_bytes));
        }
        drop(storage);
        let last = recovered.iter();
        let last =
            last.filter_map(|(range, records)| Some((*range, records.back()?.header.wal_id)));
        let retention = Retention::new(options.limits(), last);
        Self {
            options,
            kept,
            life,
            state: Mutex::new(State {
                retention,
                recovered,
                group: Vec::new(),
                room_bytes: 0,
                poisoned: false,
            }),
        }
    }

    fn try_make_room(&self, records: RecordSizes<'_>) -> Result<(), RoomError> {
        let bytes: u64 = records.map(encoded_bytes_max).sum();
        if bytes > u64::from(u32::MAX) {
            return Err(RoomError::TooLarge);
        }
        let mut state = self.state.lock();
        let mut kept = self.kept.lock();
        if kept.full {
            return Err(RoomError::Full);
        }
        let mut free_bytes = kept.segments.back().map_or(0, Segment::free_bytes);
        if bytes > free_bytes {
            free_bytes = bytes.max(self.options.segment_bytes);
            kept.segments.push_back(Segment::new(free_bytes));
        }
        state.room_bytes = free_bytes;
        Ok(())
    }

    fn try_append(&self) -> Result<(), AppendError> {
        let mut state = self.state.lock();
        if state.group.is_empty() {
            return Ok(());
        }
        let mut kept = self.kept.lock();
        if state.poisoned || kept.life != self.life {
            return Err(AppendError::Poisoned);
        }
        let mut group = std::mem::take(&mut state.group);
        let fault = kept.next_fault.take();
        match fault {
            None | Some(AppendFault::Durable) => {}
            Some(AppendFault::Lost) => group.clear(),
            Some(AppendFault::Torn) => group.truncate(group.len() / 2),
        }
        let Kept {
            segments,
            written_bytes,
            ..
        } = &mut *kept;
        let Some(segment) = segments.back_mut() else {
            return Err(AppendError::Poisoned);
        };
        for record in group {
            *written_bytes += record.bytes() as u64;
            state
                .retention
                .add(record.header.range, record.header.wal_id);
            segment.add(record);
        }
        if fault.is_some() {
            state.poisoned = true;
            return Err(AppendError::Io(Arc::new(io::Error::other("planted"))));
        }
        Ok(())
    }

    /// Removes fully released segments, except the open segment. A fenced WAL removes nothing.
    fn remove_released(&self, state: &State) {
        let mut kept = self.kept.lock();
        while kept.life == self.life
            && kept.segments.len() > 1
            && let Some(first) = kept.segments.front()
            && state.retention.is_released(first)
        {
            kept.segments.pop_front();
        }
    }
}

fn encoded_bytes_max(size: RecordSize) -> u64 {
    (size.rows * ROW_HEADER_BYTES_MAX + size.payload_bytes) as u64
}

/// All segments except the open one, which is the last.
fn sealed(kept: &Kept) -> impl DoubleEndedIterator<Item = &Segment> {
    kept.segments
        .iter()
        .take(kept.segments.len().saturating_sub(1))
}

impl Wal for MemoryWal {
    fn is_new(&self) -> bool {
        self.life == 1
    }

    fn take_recovered(&self, range: RangeId) -> VecDeque<Record> {
        let mut state = self.state.lock();
        state.recovered.remove(&range).unwrap_or_default()
    }

    fn recovered_ranges(&self) -> Vec<RangeId> {
        self.state.lock().recovered.keys().copied().collect()
    }

    fn make_room(&self, records: RecordSizes<'_>) -> WalFuture<'_, Result<(), RoomError>> {
        Either::Left(ready(self.try_make_room(records)))
    }

    fn add(
        &self,
        header: RecordHeader,
        size: RecordSize,
        rows: &mut dyn Iterator<Item = RowRef<'_>>,
    ) -> Result<(), AppendError> {
        let mut state = self.state.lock();
        if state.poisoned {
            return Err(AppendError::Poisoned);
        }
        let mut body = Vec::with_capacity(size.payload_bytes + size.rows * ROW_HEADER_BYTES_MAX);
        let row_count = encode_rows(&mut body, rows).map_err(|_too_long| AppendError::Unfit)?;
        let used: usize = state.group.iter().map(Record::bytes).sum();
        if (used + body.len()) as u64 > state.room_bytes {
            return Err(AppendError::Unfit);
        }
        let record = Record::new(header, row_count, body.into());
        state.group.push(record);
        Ok(())
    }

    fn append_group(&self) -> WalFuture<'_, Result<(), AppendError>> {
        Either::Left(ready(self.try_append()))
    }

    fn last_of(&self, range: RangeId) -> Option<WalId> {
        self.state.lock().retention.last_of(range)
    }

    fn release(&self, range: RangeId, wal_id: WalId) {
        let mut state = self.state.lock();
        state.retention.release(range, wal_id);
        self.remove_released(&state);
    }

    fn retain(&self, known: &BTreeSet<RangeId>) {
        let mut state = self.state.lock();
        state.recovered.retain(|range, _| known.contains(range));
        state.retention.retain(known);
        self.remove_released(&state);
    }

    fn is_due(&self, range: RangeId, flushing_up_to: WalId) -> bool {
        let mut state = self.state.lock();
        let kept = self.kept.lock();
        state.retention.is_due(range, flushing_up_to, sealed(&kept))
    }

    fn stragglers(&self) -> Vec<RangeId> {
        let state = self.state.lock();
        let kept = self.kept.lock();
        state.retention.stragglers(sealed(&kept))
    }

    fn fullness(&self) -> f64 {
        let segments = self.kept.lock().segments.len() as u64;
        self.options.limits().fullness(segments, self.live_bytes())
    }

    fn live_bytes(&self) -> u64 {
        self.kept.lock().segments.iter().map(Retained::bytes).sum()
    }

    fn segment_bytes(&self) -> u64 {
        self.live_bytes()
    }

    /// Returns `false`: released segments are removed immediately, without maintenance.
    fn wants_maintenance(&self) -> bool {
        false
    }

    /// Fails while the storage is full, so that the caller continues to refuse writes.
    fn maintain(&self) -> BoxFuture<'_, io::Result<()>> {
        let full = self.kept.lock().full;
        let result = if full {
            Err(io::ErrorKind::StorageFull.into())
        } else {
            Ok(())
        };
        ready(result).boxed()
    }

    /// Does nothing: a test cannot lose a part of this storage.
    fn record_end(&self) -> BoxFuture<'_, io::Result<()>> {
        ready(Ok(())).boxed()
    }

    fn poison(&self) {
        self.state.lock().poisoned = true;
    }
}
