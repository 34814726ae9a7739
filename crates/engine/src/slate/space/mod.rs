//! Returns space: compacts databases with many deleted or overwritten rows as a whole, and flushes databases at rest.
//!
//! A deletion is a stored row that hides the older rows of its key. A scan reads deletions and hidden rows too, about a
//! microsecond each, until it finds a row to return. Only a compaction that includes the oldest file of a key may drop
//! its deletion. Otherwise a remaining older file would show the row again. SlateDB's own policy merges files of
//! similar size and not the oldest and largest, so deletions and overwritten rows could stay forever.
//!
//! Each maintenance round calls [`reclaim`] for each open database:
//!
//! | Finding | Action |
//! | --- | --- |
//! | A stretch of many deletions | Flush of the deletions in memory, full compaction |
//! | At rest, and much of the space is unused | Full compaction |
//! | At rest, with rows in memory | Flush, so that the WAL releases its segments |
//!
//! The finding comes from the statistics in the files ([`counts`]), not from rows that scans skipped: SlateDB does not
//! report skipped rows. With the statistics, even the first scan of a stretch is fast.
//!
//! A full compaction costs time in proportion to all rows. So a pause follows each. The fewer rows the next compaction
//! would remove, the longer the pause ([`need`]). A database at rest causes no work: after a full compaction it has one
//! sorted run, and a flush leaves nothing to flush.
//!
//! # When the space is free
//! Suppose that writing stops at 0s. The last flush is at most 50s later, and the full compaction begins at most 50s
//! after that, because each waits until the database is at rest, and for the next round. A compaction moves tens of
//! megabytes a second. The replaced files stay for 30s after it, plus the time to the next collection of 30s. That is
//! within six minutes if the compaction takes less than two.
//!
//! This module deletes no files. It only requests compactions, and garbage collection deletes the replaced files. A
//! file stays while a checkpoint lists it: each compaction creates a checkpoint of the state before it, which lasts for
//! the age of unused data files; the checkpoints of pins and clones last until these end. Partita's reader keeps the
//! files that it reads.

mod counts;
mod need;
mod state;

use std::time::{Duration, Instant};

use slatedb::{SstReader, VersionedManifest};

use self::need::Need;
use self::state::Rounds;
use super::core::Core;
use super::database::Database;
use super::names::database_path;
use super::wal_adapter::WalAdapter;
use super::{FLUSH_DEADLINE, store_error, within_store_deadline};
use crate::{ChangeError, RangeId};

pub(super) use self::state::{Space, SpaceCounts};

/// How long after a request the same files may be requested again: the compaction failed, or the database has not
/// loaded its result.
const RETRY: Duration = Duration::from_secs(600);

/// Bytes that a compaction must leave free on the disk for the WAL and for flushes.
const FREE_BYTES_MIN: u64 = 256 << 20;

/// One round for one database. Requests at most one compaction, and does not wait for it.
pub(super) async fn reclaim(core: &Core, database: &Database) -> Result<(), ChangeError> {
    let Some(mut running) = database.space.begin_round() else {
        return Ok(());
    };
    let wal = core.wal().ok_or(ChangeError::Unavailable)?;
    let round = Round {
        core,
        database,
        now: core.context.home.clock.monotonic(),
    };
    // With a damaged file, flushes and compactions may fail until it is repaired.
    if core.context.damage.is_in(database.range) {
        return Ok(());
    }
    round.flush_at_rest(&wal, &mut running.rounds).await?;
    round.compact(&wal, &mut running.rounds).await
}

struct Round<'c> {
    core: &'c Core,
    database: &'c Database,
    now: Instant,
}

impl Round<'_> {
    /// Flushes the rows in memory if none was written for the time `SpaceSettings::rest`. Does nothing if no row was
    /// written since the last flush.
    async fn flush_at_rest(
        &self,
        wal: &WalAdapter,
        rounds: &mut Rounds,
    ) -> Result<(), ChangeError> {
        let range = self.database.range;
        let Some(last) = wal.wal.last_of(range) else {
            return Ok(());
        };
        let since = match rounds.last_record {
            Some((record, since)) if record == last => since,
            _ => {
                rounds.last_record = Some((last, self.now));
                self.now
            }
        };
        let flushed = self.database.flushed_up_to();
        if last > flushed && self.is_rested(since) {
            self.flush().await?;
        }
        Ok(())
    }

    async fn compact(&self, wal: &WalAdapter, rounds: &mut Rounds) -> Result<(), ChangeError> {
        let deletes_in_memory = self.deletes_in_memory(wal, rounds);
        let manifest = self.database.db.manifest();
        let files = files(&manifest);
        let since = match &rounds.files {
            Some((known, since)) if *known == files => *since,
            _ => {
                rounds.files = Some((files.clone(), self.now));
                self.now
            }
        };
        let mut sources = manifest.external_dbs().iter();
        // A detach is due, or a full compaction is running: both remove the deletions.
        if sources.any(|source| !source.sst_ids.is_empty())
            || !self.database.detach.is_idle()
            || self.was_requested(rounds, &files)
        {
            return Ok(());
        }
        let reader = reader(self.core, self.database.range);
        within_store_deadline(rounds.counts.update(&reader, &manifest)).await?;
        let sources = rounds.counts.sources(&manifest);
        let at_rest = self.is_rested(since);
        let settings = &self.core.context.settings.space;
        match need::need(&sources, deletes_in_memory, at_rest, settings) {
            Some(need) if self.is_due(&need) && self.has_free_space(&manifest) => {
                self.request(&need, deletes_in_memory, rounds).await
            }
            _ => Ok(()),
        }
    }

    /// Flushes the deletions in memory, and requests a compaction of all files.
    async fn request(
        &self,
        need: &Need,
        deletes_in_memory: u64,
        rounds: &mut Rounds,
    ) -> Result<(), ChangeError> {
        if deletes_in_memory > 0 {
            self.flush().await?;
        }
        let manifest = self.database.db.manifest();
        if self.database.detach.request(&manifest) {
            let (range, reason) = (self.database.range, need.reason.as_str());
            tracing::info!(%range, reason, "compacting a range as a whole to return space");
            self.core.context.space_counts.count(need.reason);
            rounds.requested = Some((files(&manifest), self.now));
        }
        Ok(())
    }

    /// An upper bound of the deletions that are only in memory.
    fn deletes_in_memory(&self, wal: &WalAdapter, rounds: &mut Rounds) -> u64 {
        // `written` is read before `last`, so that the record `last` or an earlier one has every deletion in `written`.
        let written = self.database.space.deletes();
        let last = wal.wal.last_of(self.database.range).unwrap_or_default();
        let flushed = self.database.flushed_up_to();
        let mark = &mut rounds.flush_mark;
        if let Some((_, deletes)) = mark.take_if(|(record, _)| *record <= flushed) {
            rounds.deletes_flushed = deletes;
        }
        if last <= flushed {
            rounds.deletes_flushed = written;
        } else if rounds.flush_mark.is_none() {
            rounds.flush_mark = Some((last, written));
        }
        written.saturating_sub(rounds.deletes_flushed)
    }

    fn is_rested(&self, since: Instant) -> bool {
        self.now.saturating_duration_since(since) >= self.core.context.settings.space.rest
    }

    /// Whether a compaction of exactly these files was requested less than [`RETRY`] ago.
    fn was_requested(&self, rounds: &Rounds, files: &[u128]) -> bool {
        rounds.requested.as_ref().is_some_and(|(requested, at)| {
            requested == files && self.now.saturating_duration_since(*at) < RETRY
        })
    }

    /// Whether the pause after the last full compaction is over.
    fn is_due(&self, need: &Need) -> bool {
        let last = self.database.detach.last();
        last.is_none_or(|last| {
            self.now.saturating_duration_since(last.ended) >= need.pause_after(last.took)
        })
    }

    /// Whether the disk has room for the result of the compaction, which is at most as large as all files together.
    fn has_free_space(&self, manifest: &VersionedManifest) -> bool {
        let Some(free) = self.core.context.home.free_bytes() else {
            return true;
        };
        let views = manifest.all_sst_views();
        let needed: u64 = views.map(|view| view.estimate_size()).sum();
        let is_enough = free >= needed.saturating_add(FREE_BYTES_MIN);
        if !is_enough {
            let range = self.database.range;
            tracing::debug!(%range, free, needed, "the disk has no room for a full compaction");
        }
        is_enough
    }

    async fn flush(&self) -> Result<(), ChangeError> {
        let flushing = tokio::time::timeout(FLUSH_DEADLINE, self.database.flush());
        let flushed = flushing.await.map_err(|_elapsed| ChangeError::Late)?;
        flushed.map_err(store_error)
    }
}

/// A reader for the statistics of the files of a range's database.
fn reader(core: &Core, range: RangeId) -> SstReader {
    let store = core.context.store_of(range);
    SstReader::new(database_path(range), store, None, None)
}

/// The ids by which the manifest lists its files, in the order of the manifest.
fn files(manifest: &VersionedManifest) -> Vec<u128> {
    let views = manifest.all_sst_views();
    views.map(|view| view.id.0).collect()
}

#[cfg(test)]
mod tests;
