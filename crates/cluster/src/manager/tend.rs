//! The work that changes leave behind: rewriting shared files, removing old databases, learning keys.

use super::Manager;
use crate::map::ChangeRecord;
use futures::future::BoxFuture;
use partita_engine::{ChangeError, Collected, ReadError, Removal};
use partita_range::{Range, RangeId};
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

/// How often it is looked for.
const PERIOD: Duration = Duration::from_secs(10);

/// How many old databases are removed before somebody else has a turn.
const REMOVED_IN_A_TURN: usize = 8;

impl Manager {
    pub(super) fn start_tending(self: &Arc<Self>) {
        let (manager, shutdown) = (Arc::clone(self), self.tasks.shutdown());
        self.tasks.spawn("tend ranges", async move {
            loop {
                tokio::select! {
                    () = shutdown.requested() => return,
                    () = tokio::time::sleep(PERIOD) => manager.tend_here().await,
                }
            }
        });
    }

    /// One round: ranges that share files are asked to rewrite them, what they have let go of is collected, and old databases that
    /// nobody needs are removed. Runs to its end also when the caller goes away.
    pub fn tend(self: &Arc<Self>) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            let manager = Arc::clone(self);
            let tending = async move { manager.tend_here().await };
            if let Err(error) = self.tasks.spawn("tend ranges once", tending).await {
                tracing::error!(%error, "a round of tending broke off");
            }
        })
    }

    async fn tend_here(&self) {
        for served in self.map.ranges().iter() {
            let (range, id) = (&served.range, served.range.id());
            let shape = range.engine().file_layout();
            if shape.sources > 0 {
                // Nothing comes of it where a rewrite is under way already.
                if let Err(error) = range.engine().detach().await {
                    tracing::debug!(%error, range = %id, "the files of a range are not being rewritten");
                }
            }
            let done = (shape.kept == 0).then_some(shape.newest_rewritten);
            if done.is_some() && self.collected.lock().get(&id) == done.as_ref() {
                continue;
            }
            match Self::collect(range).await {
                Ok(()) => {
                    if let Some(done) = done {
                        self.collected.lock().insert(id, done);
                    }
                }
                Err(error) => {
                    tracing::debug!(error, range = %id, "the garbage of a range was not collected");
                }
            }
        }
        let there: HashSet<RangeId> = self
            .map
            .ranges()
            .iter()
            .map(|served| served.range.id())
            .collect();
        self.collected
            .lock()
            .retain(|range, _| there.contains(range));
        self.delete_left_over().await;
        self.unpin_strays().await;
        self.remove_orphans().await;
    }

    /// Removes the files of a range that nobody needs. Those that the engine only removes once it has flushed something newer are
    /// left to the next time, and something is flushed.
    async fn collect(range: &Range) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
        if range.engine().collect().await? == Collected::UntilFlush {
            range.mark().await?;
        }
        Ok(())
    }

    /// Asks a range in the background to rewrite the files it shares.
    pub(super) fn detach(&self, range: &Arc<Range>) {
        let range = Arc::clone(range);
        self.tasks.spawn("rewrite a range", async move {
            if let Err(error) = range.engine().detach().await {
                tracing::debug!(%error, range = %range.id(), "the files of a range are not being rewritten");
            }
        });
    }

    /// Removes the databases of ranges that are no more, as far as nobody needs their files; those of a change too that is still to be
    /// undone. Changes leave some for every one of their ranges, for minutes: most rounds find that all are needed, and take nobody's turn.
    pub(super) async fn remove_orphans(&self) {
        self.undo_unfinished().await;
        self.remove_strays().await;
        let orphans: Vec<RangeId> = self.record().orphans.into_iter().map(RangeId).collect();
        if orphans.is_empty() {
            return;
        }
        let removable = match self.databases.removable(&orphans).await {
            Ok(removable) => removable,
            Err(error) => {
                tracing::debug!(%error, "old databases stay for now");
                return;
            }
        };
        for some in removable.chunks(REMOVED_IN_A_TURN) {
            if !self.remove_some(some).await {
                break;
            }
        }
    }

    /// Removes databases that no record names: a compaction of one that was removed may have been writing a file still.
    async fn remove_strays(&self) {
        // In this order: what is begun after the first record has a higher number.
        let next_range = self.record().next_range;
        let there = match self.databases.list().await {
            Ok(there) => there,
            Err(error) => return tracing::debug!(%error, "databases were not listed"),
        };
        let record = self.record();
        let served = record.ranges.iter().map(|range| range.id);
        let made = record.change.iter().flat_map(ChangeRecord::makes);
        let known: HashSet<RangeId> = (served.chain(record.orphans.iter().copied()).map(RangeId))
            .chain(made)
            .collect();
        let is_stray = |id: &RangeId| id.0 < next_range && !known.contains(id);
        let strays: Vec<RangeId> = there.into_iter().filter(is_stray).collect();
        if !strays.is_empty() {
            self.remove_some(&strays).await;
        }
    }

    /// Undoes a change that was let go of and could not be recorded as undone: whoever makes one has the turn.
    async fn undo_unfinished(&self) {
        if self.record().change.is_none() {
            return;
        }
        let Ok(_turn) = self.changing.acquire().await else {
            return;
        };
        if let Some(unfinished) = self.record().change
            && let Err(error) = self.finish_undoing(&unfinished).await
        {
            tracing::warn!(%error, "a change that was undone is still recorded");
        }
    }

    /// Removes old databases, with the turn: only then nothing is being made that may come to need them. `false` when others would be
    /// late too.
    async fn remove_some(&self, orphans: &[RangeId]) -> bool {
        let Ok(_turn) = self.changing.acquire().await else {
            return false;
        };
        let (mut gone, mut late) = (Vec::new(), false);
        for orphan in orphans {
            match self.databases.remove(*orphan).await {
                Ok(Removal::Gone) => gone.push(orphan.0),
                Ok(Removal::Needed) => {}
                Err(error) => {
                    tracing::debug!(%error, %orphan, "an old database stays for now");
                    late = matches!(error, ChangeError::Late);
                    if late {
                        break;
                    }
                }
            }
        }
        // Strays are not recorded.
        if (self.record().orphans.iter()).any(|orphan| gone.contains(orphan)) {
            let removed = self.save(|next| next.orphans.retain(|id| !gone.contains(id)));
            if let Err(error) = removed.await {
                tracing::warn!(%error, "removed databases are still recorded");
            }
        }
        !late
    }

    /// Has a range learn its keys in the background, unless it knows them.
    pub(super) fn build_key_filter(&self, range: &Arc<Range>) {
        if range.is_key_filter_complete() {
            return;
        }
        let (range, shutdown) = (Arc::clone(range), self.tasks.shutdown());
        self.tasks.spawn("learn keys", async move {
            let id = range.id();
            let learned = tokio::select! {
                learned = range.build_key_filter() => learned,
                () = shutdown.requested() => return,
            };
            match learned {
                Ok(()) => tracing::debug!(range = %id, "all keys are known"),
                Err(ReadError::Closed) => {}
                Err(error) => {
                    let error: &dyn std::error::Error = &error;
                    tracing::warn!(error, range = %id, "the keys were not read; inserts search for absent keys");
                }
            }
        });
    }
}
