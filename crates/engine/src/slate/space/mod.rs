//! Returns space: compacts databases with many deleted or overwritten rows as a whole, and flushes databases at rest.
//!
//! A deletion is a stored row that hides the older rows of its key. A scan reads deletions and hidden rows too, about a
//! microsecond each, until it finds a row to return. Only a compaction that includes the oldest file of a key may drop
//! its deletion: an older file would show the row again. SlateDB's own policy merges files of similar size and leaves
//! the oldest and largest alone, so deleted stretches and overwritten rows could stay for ever.
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
//! report these, and so the first scan of a stretch is fast too.
//!
//! A full compaction costs time in proportion to all rows. So after each there is a pause, which is longer the fewer
//! rows a compaction would remove ([`need`]). A database at rest causes no work: after a full compaction it has one
//! sorted run, and a flush leaves nothing to flush.
//!
//! # When the space is free
//! Writing stops at 0s. The last flush is at most 50s later, and the full compaction begins at most 50s after that: each
//! waits for the rest and for a round. A compaction moves tens of megabytes a second. The replaced files stay for the
//! garbage age of 300s after it, plus the time to the next collection of 60s. That is within ten minutes if the compaction
//! takes less than two.
//!
//! Nothing that is needed is deleted: this module deletes nothing. It only requests compactions, and garbage collection
//! deletes replaced files as before. A file stays while a checkpoint lists it: the checkpoint that each compaction
//! creates of the state before it, for the garbage age; those of pins and clones, until they end. So a scan that is
//! younger than the garbage age finds all its files.

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

/// When a compaction of the same files is tried again: it failed, or the database was slow to load its result.
const RETRY: Duration = Duration::from_secs(600);

/// Bytes that a compaction leaves free on the disk: the WAL and flushes need them.
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
    // Neither a flush nor a compaction may succeed before the file is repaired.
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
    /// Flushes rows in memory if none was written for a while. Each such flush needs an earlier write, so a server
    /// without writes stops flushing.
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

    /// Requests a compaction of all files, with the deletions in memory.
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
        // In this order, so that all deletions in `written` are in the record `last` or an earlier one.
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

    /// Whether these files were to be compacted already.
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

    /// Whether the disk has room for the result of the compaction, which is at most as long as all files together.
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

/// Reads the statistics of a database's own files.
fn reader(core: &Core, range: RangeId) -> SstReader {
    let store = core.context.store_of(range);
    SstReader::new(database_path(range), store, None, None)
}

/// The names of all files, in the order of the manifest.
fn files(manifest: &VersionedManifest) -> Vec<u128> {
    let views = manifest.all_sst_views();
    views.map(|view| view.id.0).collect()
}

#[cfg(test)]
mod tests;
