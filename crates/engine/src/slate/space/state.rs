//! The state of each database that is kept between two rounds of [`super::reclaim`], and the counts of requested
//! compactions.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use parking_lot::Mutex;
use partita_wal::WalId;

use super::counts::Counts;
use super::need::Reason;
use crate::EngineMetric;

/// The state of one database.
#[derive(Debug, Default)]
pub(in crate::slate) struct Space {
    /// See [`Space::deletes`].
    deletes: AtomicU64,
    rounds: Mutex<Rounds>,
    /// Whether a round is running; it has taken the content of `rounds`.
    is_running: AtomicBool,
}

impl Space {
    /// Adds to the number of deletions that were written, or replayed from the WAL.
    pub(in crate::slate) fn count_deletes(&self, count: u64) {
        if count > 0 {
            self.deletes.fetch_add(count, Ordering::Release);
        }
    }

    /// Begins a round; `None` while another one runs.
    pub(super) fn begin_round(&self) -> Option<RunningRound<'_>> {
        let is_first = !self.is_running.swap(true, Ordering::AcqRel);
        is_first.then(|| RunningRound {
            space: self,
            rounds: std::mem::take(&mut *self.rounds.lock()),
        })
    }

    /// The number of deletions that were in memory when the database was opened, or were written since.
    pub(super) fn deletes(&self) -> u64 {
        self.deletes.load(Ordering::Acquire)
    }
}

/// A running round, which ends when this value is dropped.
pub(super) struct RunningRound<'s> {
    space: &'s Space,
    pub(super) rounds: Rounds,
}

impl Drop for RunningRound<'_> {
    fn drop(&mut self) {
        *self.space.rounds.lock() = std::mem::take(&mut self.rounds);
        self.space.is_running.store(false, Ordering::Release);
    }
}

/// The findings of the rounds so far.
#[derive(Debug, Default)]
pub(super) struct Rounds {
    /// The last WAL record of the range, and when a round first found it.
    pub(super) last_record: Option<(WalId, Instant)>,
    /// A WAL record, and the number of deletions written up to it. Once the record is flushed, these deletions are
    /// flushed.
    pub(super) flush_mark: Option<(WalId, u64)>,
    /// How many of the counted deletions are flushed.
    pub(super) deletes_flushed: u64,
    /// The files of the database, and when a round first found them.
    pub(super) files: Option<(Vec<u128>, Instant)>,
    pub(super) counts: Counts,
    /// The files of the last requested compaction, and the time of the request.
    pub(super) requested: Option<(Vec<u128>, Instant)>,
}

/// The numbers of full compactions that were requested, by reason.
#[derive(Debug, Default)]
pub(in crate::slate) struct SpaceCounts([AtomicU64; Reason::ALL.len()]);

impl SpaceCounts {
    pub(super) fn count(&self, reason: Reason) {
        if let Some(count) = self.0.get(reason as usize) {
            count.fetch_add(1, Ordering::Relaxed);
        }
    }

    pub(in crate::slate) fn metrics(&self) -> impl Iterator<Item = EngineMetric> {
        let counts = Reason::ALL.into_iter().zip(&self.0);
        counts.map(|(reason, count)| EngineMetric {
            name: "space.compactions".to_owned(),
            labels: vec![("reason".to_owned(), reason.as_str().to_owned())],
            help: "Full compactions that were requested to return space".to_owned(),
            counter: true,
            value: count.load(Ordering::Relaxed) as f64,
        })
    }
}
