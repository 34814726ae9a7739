//! The log that this process writes: one PUT at a time, in the order of the numbers.
//!
//! # A group
//! 1. The next number is free: only this process puts groups into the log, and a seal of another process ends it.
//! 2. The object is put with put-if-absent, at least [`super::Options::gap`] after the previous PUT began.
//! 3. After a time-out or an ambiguous error the same bytes are put again under the same name, until the store answers,
//!    the WAL is closed, or [`super::Options::patience`] is over.
//! 4. "Already exists" is a success if the object there has the own nonce. Otherwise it is a seal, and the log is fenced
//!    for ever.
//!
//! # Deletion
//! Objects below the floor of a group that was acknowledged are deleted. That group stays, so the highest group of the
//! log always says which numbers may be missing.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use futures::future::{Either, select};
use object_store::PutPayload;
use parking_lot::Mutex;
use tokio::sync::{Semaphore, watch};
use tokio::time::{Instant, sleep_until};

use super::Life;
use super::group::{PendingGroup, Position};
use super::planted::{Rule, keeps};
use super::requests::{CreateError, Created, Requests};
use super::segments::Segments;
use crate::AppendError;
use crate::retention::Retention;

/// How long an acknowledged group proves that the log is not sealed, for a caller that can bear to be wrong.
const PROVED_FOR: Duration = Duration::from_secs(1);

/// The own log.
pub(super) struct OwnLog {
    requests: Requests,
    life: Life,
    /// One PUT is in flight at a time.
    sending: Semaphore,
    /// Whether the log takes no more groups.
    closed: watch::Sender<bool>,
    state: Mutex<State>,
}

struct State {
    group: PendingGroup,
    segments: Segments,
    retention: Retention,
    /// The floor of the last acknowledged group.
    acknowledged_floor: u64,
    /// Every object below is deleted.
    deleted_below: u64,
    /// When the last PUT began, and when the last group with records was acknowledged.
    last_put: Option<Instant>,
    last_append: Instant,
    /// When a group was last acknowledged, with records or without.
    acknowledged: Option<Instant>,
}

/// Closes the log unless the PUT ended well: a dropped append leaves an unknown outcome.
struct CloseOnDrop<'l>(Option<&'l OwnLog>);

impl Drop for CloseOnDrop<'_> {
    fn drop(&mut self) {
        if let Some(log) = self.0 {
            log.close();
        }
    }
}

impl OwnLog {
    pub(super) fn new(
        requests: Requests,
        life: Life,
        segments: Segments,
        retention: Retention,
    ) -> Self {
        Self {
            requests,
            life,
            sending: Semaphore::new(1),
            closed: watch::Sender::new(false),
            state: Mutex::new(State {
                group: PendingGroup::new(life),
                segments,
                retention,
                acknowledged_floor: 0,
                deleted_below: 0,
                last_put: None,
                last_append: Instant::now(),
                acknowledged: None,
            }),
        }
    }

    pub(super) fn with_group<T>(&self, use_group: impl FnOnce(&mut PendingGroup) -> T) -> T {
        use_group(&mut self.state.lock().group)
    }

    pub(super) fn with_retention<T>(
        &self,
        use_them: impl FnOnce(&mut Retention, &mut Segments) -> T,
    ) -> T {
        let state = &mut *self.state.lock();
        use_them(&mut state.retention, &mut state.segments)
    }

    /// Whether an object of this log is needed.
    pub(super) fn needs(&self, life: Life) -> bool {
        self.state.lock().segments.needs(life)
    }

    pub(super) fn is_closed(&self) -> bool {
        *self.closed.borrow()
    }

    /// Refuses every further group. A PUT in flight ends with an unknown outcome.
    pub(super) fn close(&self) {
        self.closed.send_replace(true);
    }

    /// Closes the log after the PUT in flight, and returns its life.
    pub(super) async fn end(&self) -> io::Result<Life> {
        let _permit = self.sending.acquire().await.map_err(io::Error::other)?;
        if self.is_closed() {
            return Err(io::Error::other("the WAL is closed"));
        }
        self.close();
        Ok(self.life)
    }

    /// Appends the group, and returns the length of its object.
    pub(super) async fn append(&self) -> Result<u64, AppendError> {
        let group = self.with_group(|group| std::mem::replace(group, PendingGroup::new(self.life)));
        let bytes = self.send(group).await?;
        self.state.lock().last_append = Instant::now();
        Ok(bytes)
    }

    /// Makes sure that the log is not sealed, by a group without records unless the last group is recent.
    pub(super) async fn prove(&self) -> Result<(), AppendError> {
        let acknowledged = self.state.lock().acknowledged;
        let is_recent = |at: Instant| at.elapsed() < PROVED_FOR;
        if !self.is_closed() && acknowledged.is_some_and(is_recent) {
            return Ok(());
        }
        self.send(PendingGroup::new(self.life)).await.map(drop)
    }

    async fn send(&self, mut group: PendingGroup) -> Result<u64, AppendError> {
        let mut guard = CloseOnDrop(Some(self));
        let permit = self.sending.acquire().await;
        let _permit = permit.map_err(|_closed| AppendError::Poisoned)?;
        self.wait_for_gap().await;
        if self.is_closed() {
            return Err(AppendError::Poisoned);
        }
        let position = {
            let mut state = self.state.lock();
            state.last_put = Some(Instant::now());
            let number = state.segments.next();
            Position {
                number,
                floor: state.segments.floor(),
                created_below: number,
            }
        };
        let object = PutPayload::from_iter(group.encode(position));
        let bytes = object.content_length() as u64;
        self.create(position.number, object, group.nonce).await?;
        let state = &mut *self.state.lock();
        let ids = group.ids();
        for (range, wal_id) in &ids {
            state.retention.add(*range, *wal_id);
        }
        state.segments.add(bytes, ids.into_iter());
        state.acknowledged_floor = position.floor;
        state.acknowledged = Some(Instant::now());
        guard.0 = None;
        Ok(bytes)
    }

    async fn wait_for_gap(&self) {
        let last_put = self.state.lock().last_put;
        let gap = self.requests.options.gap;
        if let Some(last_put) = last_put.filter(|_| !gap.is_zero()) {
            sleep_until(last_put + gap).await;
        }
    }

    /// Creates the object, unless the log is closed meanwhile.
    async fn create(&self, number: u64, object: PutPayload, nonce: u64) -> Result<(), AppendError> {
        let path = self.life.path(number);
        let mut closed = self.closed.subscribe();
        let closing = std::pin::pin!(async {
            let _ = closed.wait_for(|closed| *closed).await;
        });
        let creating = std::pin::pin!(self.requests.create(&path, object, nonce));
        let failed = |error: io::Error| AppendError::Io(Arc::new(error));
        match select(creating, closing).await {
            Either::Left((Ok(Created::Own), _)) => Ok(()),
            Either::Left((Ok(Created::Other(seal)), _)) => {
                tracing::warn!(life = %self.life, number, kind = ?seal.kind, "the log is fenced");
                Err(AppendError::Poisoned)
            }
            Either::Left((Err(CreateError::Store(error)), _)) => {
                Err(failed(io::Error::other(error)))
            }
            Either::Left((Err(CreateError::Damaged(fault)), _)) => Err(failed(io::Error::other(
                format!("{path} is damaged: {fault:?}"),
            ))),
            Either::Right(_) => Err(failed(io::Error::other(
                "the WAL was closed while a group was put",
            ))),
        }
    }

    /// Deletes the objects that are released. If the log is at rest, first puts a group whose floor allows it.
    pub(super) async fn maintain(&self) -> io::Result<()> {
        if self.wants_floor() {
            let empty = PendingGroup::new(self.life);
            self.send(empty).await.map_err(io::Error::other)?;
        }
        let (first, end) = {
            let state = self.state.lock();
            let end = if keeps(Rule::DeletedBelowFloor) {
                state.acknowledged_floor
            } else {
                state.segments.floor()
            };
            (state.deleted_below, end)
        };
        if self.is_closed() {
            return Err(io::Error::other("the WAL is closed"));
        }
        let released = (first..end).map(|number| self.life.path(number));
        let deleting = self.requests.delete(released.collect());
        deleting.await.map_err(io::Error::other)?;
        let mut state = self.state.lock();
        state.deleted_below = end;
        if end == state.segments.floor() {
            state.segments.forget_released();
        }
        Ok(())
    }

    /// Whether objects can be deleted only after another group, and the log is at rest. A busy log writes such a group
    /// anyway.
    fn wants_floor(&self) -> bool {
        let state = &mut *self.state.lock();
        if self.is_closed() || state.last_append.elapsed() < self.requests.options.rest {
            return false;
        }
        state.segments.end_if_released(&state.retention);
        state.segments.release(&state.retention);
        state.segments.floor() > state.acknowledged_floor
    }
}
