//! Splitting a range, and merging two.
//!
//! ```text
//!  record what is begun ─▶ follow the old ranges ─▶ derive and open the new ones ─▶ copy what was written meanwhile
//!                     writes wait: ─▶ freeze the old ranges ─▶ copy the rest ─▶ record what is done ─▶ serve the new ones
//! ```
//!
//! So writers wait for one write of the log and one of the map, however long it takes to make a database. Until the second
//! record is there the new ranges are nobody's: whatever fails, and at the next start after a kill, they are removed. An undo that
//! cannot be recorded, on a disk that is full, is begun again by whoever has the turn next: tending, or another change.

use super::catch_up;
use super::{ChangeRefused, LINEAGE_MAX, Manager, RANGES_MAX, open_range, readable};
use crate::map::{ChangeRecord, MapError, MapRecord, RangeRecord};
use crate::map::{Epoch, Served};
use bytes::Bytes;
use futures::future::BoxFuture;
use partita_engine::{KeyPart, Removal};
use partita_model::indivisible_prefix;
use partita_range::{Bounds, Follower, Range, RangeId};
use partita_rt::{Bug, is_planted};
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::time::Instant;

/// How long writes may wait for a change before it is given up and undone.
pub(super) const TRANSIT_MAX: Duration = Duration::from_millis(900);

/// How long a new range may take to be made, and so keep the turn from others: on a disk that fills meanwhile SlateDB tries again
/// without end. It is a tenth of a second, and must be less than the minute for which the files it is made of are kept for it.
pub(super) const MAKING_MAX: Duration = Duration::from_secs(30);

/// A flush that takes no longer than this leaves little for the next one.
const SHORT_FLUSH: Duration = Duration::from_millis(50);
const FLUSHES_BEFORE_MAX: usize = 4;

/// A range was split.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Split {
    /// The range before the key.
    pub left: RangeId,
    /// The range from the key on.
    pub right: RangeId,
    /// The key: the first one a partition can have.
    pub at: Bytes,
    /// How long writes waited.
    pub transit: Duration,
}

/// Two ranges were merged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Merged {
    /// The range in their place.
    pub into: RangeId,
    /// How long writes waited.
    pub transit: Duration,
}

/// A range to be made.
struct New {
    id: RangeId,
    epoch: Epoch,
    bounds: Bounds,
    pieces: Vec<KeyPart>,
}

/// A change under way: what is replaced, by what, and how it is recorded.
struct Change {
    record: ChangeRecord,
    old: Vec<Arc<Range>>,
    new: Vec<New>,
}

/// Why new ranges were not made.
enum NotMade {
    /// Each came to its end.
    Refused(ChangeRefused),
    /// One took longer than [`MAKING_MAX`].
    CutShort,
}

/// The new ranges, with who is told that nobody holds them any more.
pub(super) type Opened = Vec<(Served, oneshot::Receiver<Infallible>)>;

impl Manager {
    /// Splits a range at a key, or, without one, in the middle of its bytes. The key is moved to the start of its partition.
    /// Runs to its end also when the caller goes away.
    ///
    /// # Errors
    /// [`ChangeRefused`]; everything is as it was.
    pub fn split(
        self: &Arc<Self>,
        range: RangeId,
        at: Option<Bytes>,
    ) -> BoxFuture<'_, Result<Split, ChangeRefused>> {
        Box::pin(async move {
            let manager = Arc::clone(self);
            let splitting = async move { manager.split_here(range, at).await };
            finished(self.tasks.spawn("split a range", splitting).await)
        })
    }

    /// Merges two neighbours. Runs to its end also when the caller goes away.
    ///
    /// # Errors
    /// [`ChangeRefused`]; everything is as it was.
    pub fn merge(
        self: &Arc<Self>,
        left: RangeId,
        right: RangeId,
    ) -> BoxFuture<'_, Result<Merged, ChangeRefused>> {
        Box::pin(async move {
            let manager = Arc::clone(self);
            let merging = async move { manager.merge_here(left, right).await };
            finished(self.tasks.spawn("merge ranges", merging).await)
        })
    }

    async fn split_here(
        self: &Arc<Self>,
        id: RangeId,
        at: Option<Bytes>,
    ) -> Result<Split, ChangeRefused> {
        let _turn = self.turn().await?;
        let range = self.served(id)?.range;
        if self.map.ranges().len() >= RANGES_MAX {
            return Err(ChangeRefused::TooManyRanges);
        }
        self.check_lineage(&range)?;
        let at = match at {
            Some(key) => cut_at(&range, &key).ok_or(ChangeRefused::KeyOutside(id))?,
            None => self.middle(&range).await?,
        };
        let (left, right) = self.next_ids();
        let (epoch, bounds) = (self.record().next_epoch, range.bounds());
        let below = Bounds {
            start: bounds.start.clone(),
            end: Some(at.clone()),
        };
        let above = Bounds {
            start: at.clone(),
            end: bounds.end.clone(),
        };
        let new = [(left, below), (right, above)].map(|(new, bounds)| New {
            id: new,
            epoch,
            pieces: vec![piece(id, &bounds)],
            bounds,
        });
        let record = ChangeRecord::Split {
            range: id.0,
            at: at.clone(),
            left: left.0,
            right: right.0,
        };
        let transit = self
            .make(Change {
                record,
                old: vec![range],
                new: Vec::from(new),
            })
            .await?;
        tracing::info!(range = %id, %left, %right, at = readable(&at), ?transit, "split a range");
        Ok(Split {
            left,
            right,
            at,
            transit,
        })
    }

    async fn merge_here(
        self: &Arc<Self>,
        left: RangeId,
        right: RangeId,
    ) -> Result<Merged, ChangeRefused> {
        let _turn = self.turn().await?;
        let (a, b) = (self.served(left)?.range, self.served(right)?.range);
        if a.bounds().end.as_ref() != Some(&b.bounds().start) {
            return Err(ChangeRefused::NotNeighbours(left, right));
        }
        self.check_lineage(&a)?;
        self.check_lineage(&b)?;
        let (into, _) = self.next_ids();
        let new = New {
            id: into,
            epoch: self.record().next_epoch,
            bounds: Bounds {
                start: a.bounds().start.clone(),
                end: b.bounds().end.clone(),
            },
            pieces: vec![piece(left, a.bounds()), piece(right, b.bounds())],
        };
        let record = ChangeRecord::Merge {
            left: left.0,
            right: right.0,
            into: into.0,
        };
        let transit = self
            .make(Change {
                record,
                old: vec![a, b],
                new: vec![new],
            })
            .await?;
        tracing::info!(%left, %right, %into, ?transit, "merged two ranges");
        Ok(Merged { into, transit })
    }

    /// Keeps a range's writes waiting for a while, as a change would: to see what clients make of it.
    ///
    /// # Errors
    /// [`ChangeRefused::NoSuchRange`].
    pub fn hold(
        self: &Arc<Self>,
        id: RangeId,
        time: Duration,
    ) -> BoxFuture<'_, Result<(), ChangeRefused>> {
        Box::pin(async move {
            let manager = Arc::clone(self);
            let holding = async move {
                let _turn = manager.turn().await?;
                let range = manager.served(id)?.range;
                // What does not freeze in time is let go again like the rest.
                let _ = tokio::time::timeout(time, async {
                    range.freeze().await;
                    std::future::pending::<()>().await;
                })
                .await;
                range.thaw();
                manager.map.turn();
                Ok(())
            };
            finished(self.tasks.spawn("hold a range", holding).await)
        })
    }

    pub(super) async fn turn(&self) -> Result<tokio::sync::SemaphorePermit<'_>, ChangeRefused> {
        self.changing.acquire().await.map_err(failed)
    }

    /// A range that shares too many files is not changed but asked to rewrite them.
    fn check_lineage(&self, range: &Arc<Range>) -> Result<(), ChangeRefused> {
        let kept = range.engine().file_layout().kept;
        if kept < LINEAGE_MAX {
            return Ok(());
        }
        self.detach(range);
        let range = range.id();
        Err(ChangeRefused::Lineage { range, kept })
    }

    fn next_ids(&self) -> (RangeId, RangeId) {
        let next = self.record().next_range;
        (RangeId(next), RangeId(next + 1))
    }

    /// Makes a change, or undoes what was begun of it. Says how long writes waited.
    async fn make(self: &Arc<Self>, change: Change) -> Result<Duration, ChangeRefused> {
        // A new change in its place would make one that is still to be undone forgotten, and its databases nobody's.
        if let Some(unfinished) = self.record().change {
            self.finish_undoing(&unfinished).await.map_err(failed)?;
        }
        for range in &change.old {
            flush_most(range).await?;
        }
        let record = change.record.clone();
        self.save(|next| begin(next, record, &change.new))
            .await
            .map_err(failed)?;
        let followers: Vec<Follower> = change.old.iter().map(Range::follow).collect();
        let opened = match self.open_new(&change).await {
            Ok(opened) => opened,
            Err(NotMade::Refused(why)) => {
                drop(followers);
                self.undo(&change, Vec::new()).await;
                return Err(why);
            }
            Err(NotMade::CutShort) => {
                drop(followers);
                self.abandon(&change).await;
                return Err(ChangeRefused::Failed(
                    "the store took too long to make the new ranges".into(),
                ));
            }
        };
        let frozen = match self.switch(&change, &followers, &opened).await {
            Ok(frozen) => frozen,
            Err(why) => {
                drop(followers);
                self.undo(&change, opened).await;
                return Err(why);
            }
        };
        drop(followers);
        let (served, watchers): (Vec<Served>, Vec<_>) = opened.into_iter().unzip();
        for (served, gone) in served.iter().zip(watchers) {
            self.watchers.lock().insert(served.range.id(), gone);
            self.build_key_filter(&served.range);
        }
        self.map
            .replace(&change.old, served)
            .expect("new ranges lie where the old ones lay");
        let transit = frozen.elapsed();
        for old in change.old {
            self.retire(old);
        }
        Ok(transit)
    }

    /// Makes the new ranges, while the old ones are served.
    async fn open_new(&self, change: &Change) -> Result<Opened, NotMade> {
        let key_filter_complete = change
            .old
            .iter()
            .all(|range| range.is_key_filter_complete());
        // At the same time, and each to its end: what was begun must come to one before it can be undone.
        let making = change
            .new
            .iter()
            .map(|new| self.open_one(new, key_filter_complete));
        let made = futures::future::join_all(making).await;
        let (mut opened, mut not_made) = (Vec::new(), None);
        for made in made {
            match (made, &not_made) {
                (Ok(range), _) => opened.push(range),
                (Err(_), Some(NotMade::CutShort)) => {}
                (Err(why), _) => not_made = Some(why),
            }
        }
        if let Some(why) = not_made {
            close(opened).await;
            return Err(why);
        }
        Ok(opened)
    }

    /// Brings the new ranges up to date with the old ones, and records that they are served. Writes wait from the moment on that is
    /// returned.
    async fn switch(
        &self,
        change: &Change,
        followers: &[Follower],
        opened: &Opened,
    ) -> Result<Instant, ChangeRefused> {
        catch_up::copy_most(followers, opened).await?;
        let began = Instant::now();
        let freezing = async {
            for range in &change.old {
                range.freeze().await;
            }
            if is_planted(Bug::SplitDropsTail) {
                return Ok(0);
            }
            catch_up::copy(followers, opened).await
        };
        let frozen = tokio::time::timeout(TRANSIT_MAX, freezing).await;
        frozen.map_err(|_elapsed| late())??;
        self.save(|next| end(next, change)).await.map_err(failed)?;
        Ok(began)
    }

    async fn open_one(
        &self,
        new: &New,
        key_filter_complete: bool,
    ) -> Result<(Served, oneshot::Receiver<Infallible>), NotMade> {
        let making = async {
            let derived = self.databases.clone_parts(new.id, &new.pieces).await;
            derived.map_err(failed)?;
            let place = (new.id, new.epoch, new.bounds.clone());
            let opened =
                open_range(&*self.databases, &self.memory, place, key_filter_complete).await;
            opened.map_err(failed)
        };
        match tokio::time::timeout(MAKING_MAX, making).await {
            Ok(made) => made.map_err(NotMade::Refused),
            Err(_elapsed) => Err(NotMade::CutShort),
        }
    }

    /// The old ranges take writes again: what was made from them is not served.
    fn let_go(&self, change: &Change) {
        for range in &change.old {
            range.thaw();
        }
        self.map.turn();
    }

    /// Takes a change back: the old ranges take writes again, and what was made is removed.
    async fn undo(&self, change: &Change, opened: Opened) {
        self.let_go(change);
        close(opened).await;
        if let Err(error) = self.finish_undoing(&change.record).await {
            tracing::error!(%error, "a change that was undone is still recorded; tending the ranges undoes it again");
        }
    }

    /// The same for one that was cut short. What it makes is left to tending: its last write may still be under way, and whatever is
    /// asked of a store that is late is late too.
    async fn abandon(&self, change: &Change) {
        self.let_go(change);
        let made = change.new.iter().map(|new| new.id.0).collect();
        if let Err(error) = self.record_undone(made).await {
            tracing::error!(%error, "a change that was cut short is still recorded; tending the ranges undoes it");
        }
    }

    /// Removes what a change that was let go of had begun to make, and records that it is undone. What cannot be removed is an orphan
    /// then. Who calls it has the turn.
    pub(super) async fn finish_undoing(&self, change: &ChangeRecord) -> Result<(), MapError> {
        let made = change.makes();
        let removing = made.iter().map(|id| self.databases.remove(*id));
        let removed = futures::future::join_all(removing).await;
        let is_left = |removed: &Result<Removal, _>| !matches!(removed, Ok(Removal::Gone));
        let left: Vec<u64> = made
            .iter()
            .zip(&removed)
            .filter_map(|(id, removed)| is_left(removed).then_some(id.0))
            .collect();
        if !left.is_empty() {
            self.databases.drop_unknown().await;
        }
        self.record_undone(left).await
    }

    /// Records that the change that was begun is undone, and which of its databases are still to be removed.
    async fn record_undone(&self, left: Vec<u64>) -> Result<(), MapError> {
        let undone = |next: &mut MapRecord| {
            next.change = None;
            next.orphans.extend(left);
        };
        self.save(undone).await.map(drop)
    }

    /// Closes the engine of a range that was replaced, once nobody holds the range.
    fn retire(self: &Arc<Self>, old: Arc<Range>) {
        let (id, engine) = (old.id(), Arc::clone(old.engine()));
        let gone = self.watchers.lock().remove(&id);
        let (manager, shutdown) = (Arc::clone(self), self.tasks.shutdown());
        old.retire();
        self.keep_last_window(&old);
        drop(old);
        self.tasks.spawn("retire a range", async move {
            if let Some(gone) = gone {
                tokio::select! {
                    // An error is what it waits for: the range and its end of the channel are gone.
                    _ = gone => {}
                    // All databases are closed then.
                    () = shutdown.requested() => return,
                }
            }
            engine.close().await;
            // One that was closed without a flush would keep the log full until its files are removed.
            manager.databases.drop_unknown().await;
            manager.remove_orphans().await;
        });
    }
}

/// Flushes until little is left, while writes go on.
pub(super) async fn flush_most(range: &Range) -> Result<(), ChangeRefused> {
    for _ in 0..FLUSHES_BEFORE_MAX {
        let began = Instant::now();
        range.engine().flush().await.map_err(failed)?;
        if began.elapsed() < SHORT_FLUSH {
            break;
        }
    }
    Ok(())
}

/// The first record of a change: it gives out the ids.
fn begin(next: &mut MapRecord, change: ChangeRecord, new: &[New]) {
    debug_assert!(next.change.is_none(), "one change at a time");
    next.change = Some(change);
    next.next_range += new.len() as u64;
    next.next_epoch = Epoch(next.next_epoch.0 + 1);
}

/// The second record of a change: the new ranges in the place of the old ones.
fn end(next: &mut MapRecord, change: &Change) {
    next.change = None;
    let is_old = |id: u64| change.old.iter().any(|old| old.id().0 == id);
    next.ranges.retain(|range| !is_old(range.id));
    next.ranges.extend(change.new.iter().map(|new| RangeRecord {
        id: new.id.0,
        epoch: new.epoch,
        start: new.bounds.start.clone(),
    }));
    next.ranges.sort_by(|a, b| a.start.cmp(&b.start));
    next.orphans.extend(change.old.iter().map(|old| old.id().0));
}

async fn close(opened: Opened) {
    for (served, _) in opened {
        served.range.engine().close().await;
    }
}

fn piece(source: RangeId, bounds: &Bounds) -> KeyPart {
    let range = bounds.keys();
    KeyPart { source, range }
}

/// The start of the partition that holds `key`, if it cuts the range in two.
fn cut_at(range: &Range, key: &Bytes) -> Option<Bytes> {
    let start = key.slice_ref(indivisible_prefix(key)?);
    let bounds = range.bounds();
    (start > bounds.start && bounds.contains(&start)).then_some(start)
}

fn late() -> ChangeRefused {
    ChangeRefused::Failed("writes would have had to wait too long".into())
}

pub(super) fn failed(error: impl std::error::Error) -> ChangeRefused {
    ChangeRefused::Failed(chain(&error))
}

/// An error and its causes in one text.
pub(super) fn chain(error: &dyn std::error::Error) -> Arc<str> {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text.into()
}

/// What a task of ours answered; one that panicked has failed.
fn finished<T>(
    ended: Result<Result<T, ChangeRefused>, tokio::task::JoinError>,
) -> Result<T, ChangeRefused> {
    ended.map_err(failed)?
}
