//! The open WAL of a process in an object store: its own log, and the logs that it inherited.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use futures::FutureExt;
use futures::future::{BoxFuture, Either, ready};
use parking_lot::Mutex;

use super::Life;
use super::group;
use super::object::GROUP_BYTES_MIN;
use super::own_log::OwnLog;
use super::requests::Requests;
use super::segments::Segments;
use super::{collector, sealer};
use crate::framing::RECORD_BYTES_MAX;
use crate::retention::Retention;
use crate::{
    AppendError, RangeId, Record, RecordHeader, RecordSize, RecordSizes, RoomError, RowRef, Wal,
    WalFuture, WalId,
};

/// An open WAL.
pub(super) struct RemoteWal {
    requests: Requests,
    log: OwnLog,
    is_new: bool,
    recovered: Mutex<BTreeMap<RangeId, VecDeque<Record>>>,
    old: Mutex<OldLogs>,
    shared: Arc<Shared>,
}

/// What a storage shares with the WALs that it opened.
#[derive(Default)]
pub(super) struct Shared {
    /// See [`crate::WalStorage::written_bytes`].
    pub(super) written_bytes: AtomicU64,
    /// Whether the newest WAL ended by a clean stop, which seals its log.
    pub(super) has_ended: AtomicBool,
}

/// The logs of earlier lives.
#[derive(Default)]
pub(super) struct OldLogs {
    /// Sealed logs that have records, oldest first.
    pub(super) inherited: VecDeque<Life>,
    /// Collected logs whose seals are not needed any more.
    pub(super) expired: Vec<Life>,
}

/// What an open found.
#[derive(Default)]
pub(super) struct Found {
    /// Whether there was no log.
    pub(super) is_new: bool,
    pub(super) records: BTreeMap<RangeId, VecDeque<Record>>,
    pub(super) old: OldLogs,
}

impl RemoteWal {
    /// The WAL of `life`, whose first object exists, after the logs in `segments`.
    pub(super) fn new(
        requests: Requests,
        mut segments: Segments,
        life: Life,
        found: Found,
        shared: Arc<Shared>,
    ) -> Self {
        let last = found.records.iter();
        let last =
            last.filter_map(|(range, records)| Some((*range, records.back()?.header.wal_id)));
        let retention = Retention::new(requests.options.limits(), last);
        segments.continue_in(life, 0);
        segments.release(&retention);
        // The first object, which has no records.
        segments.add(GROUP_BYTES_MIN, std::iter::empty());
        Self {
            log: OwnLog::new(requests.clone(), life, segments, retention),
            requests,
            is_new: found.is_new,
            recovered: Mutex::new(found.records),
            old: Mutex::new(found.old),
            shared,
        }
    }

    async fn append(&self) -> Result<(), AppendError> {
        let bytes = self.log.append().await?;
        let written_bytes = &self.shared.written_bytes;
        written_bytes.fetch_add(bytes, Ordering::Relaxed);
        Ok(())
    }

    async fn try_maintain(&self) -> io::Result<()> {
        self.log.maintain().await?;
        self.collect().await.map_err(io::Error::other)
    }

    /// Collects inherited logs whose records are all released, and deletes the seals of old ones.
    async fn collect(&self) -> Result<(), crate::OpenWalError> {
        loop {
            let first = self.old.lock().inherited.front().copied();
            let Some(life) = first.filter(|life| !self.log.needs(*life)) else {
                break;
            };
            collector::collect(&self.requests, life).await?;
            self.old.lock().inherited.pop_front_if(|it| *it == life);
        }
        loop {
            let last = self.old.lock().expired.last().copied();
            let Some(life) = last else { break };
            collector::expire(&self.requests, life).await?;
            self.old.lock().expired.retain(|it| *it != life);
        }
        Ok(())
    }
}

impl Wal for RemoteWal {
    fn is_new(&self) -> bool {
        self.is_new
    }

    fn take_recovered(&self, range: RangeId) -> VecDeque<Record> {
        self.recovered.lock().remove(&range).unwrap_or_default()
    }

    fn recovered_ranges(&self) -> Vec<RangeId> {
        self.recovered.lock().keys().copied().collect()
    }

    /// Bounds the size of the group. An object store has no space that can be reserved.
    fn make_room(&self, records: RecordSizes<'_>) -> WalFuture<'_, Result<(), RoomError>> {
        let bytes: u64 = records.map(group::record_bytes_max).sum();
        let made = if bytes > RECORD_BYTES_MAX {
            Err(RoomError::TooLarge)
        } else {
            self.log.with_group(|group| group.room_bytes = bytes);
            Ok(())
        };
        Either::Left(ready(made))
    }

    fn add(
        &self,
        header: RecordHeader,
        size: RecordSize,
        rows: &mut dyn Iterator<Item = RowRef<'_>>,
    ) -> Result<(), AppendError> {
        if self.log.is_closed() {
            return Err(AppendError::Poisoned);
        }
        self.log.with_group(|group| group.add(header, size, rows))
    }

    /// Waits for the store. Dropping the future poisons the WAL, because the group may be durable or not.
    fn append_group(&self) -> WalFuture<'_, Result<(), AppendError>> {
        if self.log.with_group(|group| group.is_empty()) {
            return Either::Left(ready(Ok(())));
        }
        Either::Right(self.append().boxed())
    }

    fn prove(&self) -> BoxFuture<'_, Result<(), AppendError>> {
        self.log.prove().boxed()
    }

    fn last_of(&self, range: RangeId) -> Option<WalId> {
        self.log
            .with_retention(|retention, _| retention.last_of(range))
    }

    fn release(&self, range: RangeId, wal_id: WalId) {
        self.log.with_retention(|retention, segments| {
            retention.release(range, wal_id);
            segments.release(retention);
        });
    }

    fn retain(&self, known: &BTreeSet<RangeId>) {
        let mut recovered = self.recovered.lock();
        recovered.retain(|range, _| known.contains(range));
        drop(recovered);
        self.log.with_retention(|retention, segments| {
            retention.retain(known);
            segments.release(retention);
        });
    }

    fn is_due(&self, range: RangeId, flushing_up_to: WalId) -> bool {
        self.log.with_retention(|retention, segments| {
            segments.end_if_old();
            retention.is_due(range, flushing_up_to, segments.sealed())
        })
    }

    fn stragglers(&self) -> Vec<RangeId> {
        self.log.with_retention(|retention, segments| {
            segments.end_if_old();
            retention.stragglers(segments.sealed())
        })
    }

    fn fullness(&self) -> f64 {
        let limits = self.requests.options.limits();
        self.log
            .with_retention(|_, segments| limits.fullness(segments.count(), segments.live_bytes()))
    }

    fn live_bytes(&self) -> u64 {
        self.log.with_retention(|_, segments| segments.live_bytes())
    }

    fn segment_bytes(&self) -> u64 {
        self.log
            .with_retention(|_, segments| segments.stored_bytes())
    }

    /// Returns `false`: no group waits for maintenance.
    fn wants_maintenance(&self) -> bool {
        false
    }

    /// Deletes released objects of the own log, and collects inherited logs. If the log is at rest, first puts a group
    /// without records whose floor allows the deletion.
    fn maintain(&self) -> BoxFuture<'_, io::Result<()>> {
        self.try_maintain().boxed()
    }

    /// Seals the own log, so that its end is known. It takes no more groups.
    fn record_end(&self) -> BoxFuture<'_, io::Result<()>> {
        async {
            let life = self.log.end().await?;
            self.shared.has_ended.store(true, Ordering::Release);
            let sealed = sealer::seal(&self.requests, life, "clean stop").await;
            sealed.map(drop).map_err(io::Error::other)
        }
        .boxed()
    }

    fn poison(&self) {
        self.log.close();
    }
}
