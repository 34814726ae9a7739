//! Splits a range or merges two ranges, on the host that serves them.
//!
//! ```text
//!  1  flush the old ranges                             (before the change: RangeAction::FlushMost)      clients write
//!  2  record N+1: the change was begun                 (by the controller)
//!  3  follow the old ranges: record their writes
//!  4  clone and open the databases of the new ranges   manifests only, no rows
//!  5  catch up: copy the recorded writes               until few are left, at most five rounds
//!  ── freeze: new writes wait, running writes finish, reads continue ────────────────────────────
//!  6  freeze the old ranges
//!  7  copy the rest                                    one write of the WAL
//!  8  record N+2: the new ranges replace the old ones  the point of no return
//!     serving records of the new ranges                one small object each, at the same time
//!  9  serve the new ranges; close each old range after its last reader ends
//! ```
//!
//! Writes wait only for one write of the WAL and two to the store, not for the cloning of a database.
//!
//! Invariants:
//! - the new ranges accept no client writes before step 8 is durable, the old ranges accept none after step 6: no row
//!   is written in two places;
//! - step 4 includes every write acknowledged before it; steps 5 and 7 copy the later writes in order, so the last
//!   value of a row wins;
//! - the serving records are stored before the first client write: if record N+1 is the newest and a new range has a
//!   serving record, a start concludes that record N+2 was lost, and does not delete the new databases;
//! - if a step before step 8 fails, the old ranges accept writes again and the controller deletes the new databases. A
//!   start that finds record N+1 rolls back the same way.

use super::{LocalHost, OpenRange, catch_up};
use crate::error::ChangeRefused;
use crate::host::{ChangeFailed, Leftover, NewRange, RangeChange};
use crate::map::{MapRecord, ServingRecord, save_all_serving, save_and_confirm, save_and_settle};
use futures::future::join_all;
use partita_engine::WriteError;
use partita_range::{Follower, Range};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, timeout};

/// How long freezing the old ranges and copying their last writes may take, because writes wait during that time. A
/// slower change is rolled back.
const TRANSIT_MAX: Duration = Duration::from_millis(900);

/// The deadline for creating a new range. Usually it takes a tenth of a second, but on a full disk SlateDB retries
/// forever while the change lock is held. Shorter than the minute for which the checkpoint protects the files of the
/// old ranges.
pub(crate) const CREATE_MAX: Duration = Duration::from_secs(30);

/// A flush that takes less time leaves few unflushed rows, so no further flush is needed.
const SHORT_FLUSH: Duration = Duration::from_millis(50);
/// The maximum number of flushes before a change.
const FLUSHES_MAX: usize = 4;

/// Why a new range was not created.
enum CreateFailed {
    /// The store or the engine refused.
    Refused(ChangeRefused),
    /// It took longer than [`CREATE_MAX`].
    TimedOut,
}

/// Step 1: flushes until few rows are left, while clients write. The flush of those few, for which clients wait, will not
/// wait for a compaction.
pub(super) async fn flush_most(range: &Range) -> Result<(), WriteError> {
    for _ in 0..FLUSHES_MAX {
        let began = Instant::now();
        range.engine().flush().await?;
        if began.elapsed() < SHORT_FLUSH {
            break;
        }
    }
    range.engine().await_flush_room().await
}

impl LocalHost {
    /// Steps 3 to 9. Returns how long writes waited.
    pub(super) async fn make(
        &self,
        change: &RangeChange,
        decision: &MapRecord,
    ) -> Result<Duration, ChangeFailed> {
        let Some(_busy) = self.begin(&change.old) else {
            let why = "a range is frozen, or being changed or handed over".into();
            return Err(rolled_back(ChangeRefused::Failed(why)));
        };
        let old = change.old.iter().map(|id| self.served(*id));
        let old: Vec<Arc<Range>> = match old.collect() {
            Ok(old) => old,
            Err(why) => return Err(rolled_back(why)),
        };
        let followers: Vec<Follower> = old.iter().map(Range::follow).collect();
        let opened = match self.create(change, &old).await {
            Ok(opened) => opened,
            Err(failed) => {
                drop(followers);
                self.thaw(&old);
                return Err(match failed {
                    CreateFailed::Refused(why) => rolled_back(why),
                    CreateFailed::TimedOut => timed_out(),
                });
            }
        };
        let frozen = match self.switch(decision, &old, &followers, &opened).await {
            Ok(frozen) => frozen,
            Err(why) => {
                drop(followers);
                self.thaw(&old);
                close(opened).await;
                return Err(rolled_back(why));
            }
        };
        let new = change.new.iter();
        let serving: Vec<ServingRecord> = new
            .map(|new| ServingRecord::new(&new.spec, decision.version))
            .collect();
        save_all_serving(&*self.parts.store, &serving).await;
        drop(followers);
        self.serve(&old, opened);
        let transit = frozen.elapsed();
        for old in old {
            self.retire(old);
        }
        Ok(transit)
    }

    /// Step 4: clones and opens the new ranges.
    async fn create(
        &self,
        change: &RangeChange,
        old: &[Arc<Range>],
    ) -> Result<Vec<OpenRange>, CreateFailed> {
        // Clones in parallel, and waits for all of them even if one fails: only a finished clone can be rolled back.
        let creating = change.new.iter().map(|new| self.create_one(new, old));
        let (mut opened, mut failed) = (Vec::new(), None);
        for created in join_all(creating).await {
            match (created, &failed) {
                (Ok(range), _) => opened.push(range),
                (Err(_), Some(CreateFailed::TimedOut)) => {}
                (Err(why), _) => failed = Some(why),
            }
        }
        match failed {
            None => Ok(opened),
            Some(failed) => {
                close(opened).await;
                Err(failed)
            }
        }
    }

    async fn create_one(
        &self,
        new: &NewRange,
        old: &[Arc<Range>],
    ) -> Result<OpenRange, CreateFailed> {
        let creating = async {
            let cloned = self
                .parts
                .engines
                .clone_parts(new.spec.id, &new.parts)
                .await;
            cloned.map_err(ChangeRefused::failed)?;
            let opened = self.open_range(&new.spec, old).await;
            opened.map_err(ChangeRefused::failed)
        };
        match timeout(CREATE_MAX, creating).await {
            Ok(created) => created.map_err(CreateFailed::Refused),
            Err(_elapsed) => Err(CreateFailed::TimedOut),
        }
    }

    /// Steps 5 to 8: copies the remaining writes to the new ranges and decides the change. Returns the time at which
    /// writes began to wait.
    async fn switch(
        &self,
        decision: &MapRecord,
        old: &[Arc<Range>],
        followers: &[Follower],
        opened: &[OpenRange],
    ) -> Result<Instant, ChangeRefused> {
        catch_up::copy_most(followers, opened).await?;
        let began = Instant::now();
        let freezing = async {
            for range in old {
                range.freeze().await;
            }
            #[cfg(feature = "planted-bugs")]
            if partita_engine::planted::is_active("split-drops-tail") {
                return Ok(0);
            }
            catch_up::copy(followers, opened).await
        };
        let frozen = timeout(TRANSIT_MAX, freezing).await;
        frozen.map_err(|_elapsed| transit_too_long())??;
        self.decide(decision, opened).await?;
        Ok(began)
    }

    /// Step 8. In a cluster the manager, or the next one, may decide the change at the same time.
    async fn decide(
        &self,
        decision: &MapRecord,
        opened: &[OpenRange],
    ) -> Result<(), ChangeRefused> {
        if !self.parts.permission.is_valid() {
            return Err(ChangeRefused::Failed(
                "the lease of this server has ended".into(),
            ));
        }
        let store = &*self.parts.store;
        let decided = match self.parts.permission.is_shared() {
            true => {
                let new = opened.iter().map(|new| new.served.range.id());
                save_and_settle(store, decision, &new.collect::<Vec<_>>()).await
            }
            false => save_and_confirm(store, decision).await,
        };
        decided.map_err(ChangeRefused::failed)
    }

    /// Makes the old ranges accept writes again.
    fn thaw(&self, old: &[Arc<Range>]) {
        for range in old {
            range.thaw();
        }
        self.map().notify();
    }
}

async fn close(opened: Vec<OpenRange>) {
    for range in opened {
        range.served.range.engine().close().await;
    }
}

fn rolled_back(why: ChangeRefused) -> ChangeFailed {
    let leftover = Leftover::Closed;
    ChangeFailed { why, leftover }
}

fn timed_out() -> ChangeFailed {
    ChangeFailed {
        why: ChangeRefused::Failed("the store took too long to create the new ranges".into()),
        leftover: Leftover::Unfinished,
    }
}

fn transit_too_long() -> ChangeRefused {
    ChangeRefused::Failed("writes would have waited too long".into())
}
