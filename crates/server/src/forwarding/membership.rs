//! The part of a server in its cluster.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use parking_lot::{Mutex, RwLock};
use partita_cluster::{Manager, RangeServer};
use partita_peer::forward::{ForwardedAnswer, ForwardedRequest, RangeId, Tenure};
use partita_peer::policy::{Action, Event, Forwarding, Holds, Kind, Route};
use partita_peer::{Answer, Peer, SendError};
use partita_rt::Clock;
use tokio::time::Instant;

use super::{AnswerGate, Done, Hosted, Hosting, NotForwarded, Outgoing, Owner, Routing};
use crate::metrics::{ForwardOutcome, Metrics};

/// The part of a server in its cluster: the map, the store that it serves, and the requests that it holds and forwards.
pub struct Membership {
    routing: Arc<dyn Routing>,
    hosting: Hosting,
    gate: Arc<dyn AnswerGate>,
    holds: Mutex<Holds>,
    ranges: RwLock<Option<Arc<RangeServer>>>,
    manager: RwLock<Option<Arc<Manager>>>,
    metrics: Arc<Metrics>,
    clock: Arc<dyn Clock>,
}

impl fmt::Debug for Membership {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Membership")
            .field("routing", &self.routing)
            .finish_non_exhaustive()
    }
}

/// Where a request belongs now.
#[derive(Debug)]
pub(super) enum Found {
    Here(Arc<Hosted>),
    There(Peer, RangeId, Tenure),
    Unserved,
}

impl Found {
    pub(super) fn route(&self) -> Route {
        match self {
            Self::There(_, _, tenure) => Route::Owner(*tenure),
            Self::Here(_) | Self::Unserved => Route::Unserved,
        }
    }
}

impl Membership {
    /// A member that serves nothing yet.
    pub(crate) fn new(
        routing: Arc<dyn Routing>,
        gate: Arc<dyn AnswerGate>,
        metrics: Arc<Metrics>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self {
            routing,
            hosting: Hosting::default(),
            gate,
            holds: Mutex::default(),
            ranges: RwLock::default(),
            manager: RwLock::default(),
            metrics,
            clock,
        }
    }

    /// Serves the ranges of these services from now on.
    pub(crate) fn serve(
        &self,
        tables: Arc<partita_table::Service>,
        queues: Arc<partita_queue::Service>,
    ) {
        self.hosting.serve(Hosted {
            tables,
            queues,
            gate: Arc::clone(&self.gate),
        });
    }

    /// The map.
    pub(crate) fn routing(&self) -> &dyn Routing {
        &*self.routing
    }

    /// The gate of the lease of this server.
    pub(crate) fn gate(&self) -> &Arc<dyn AnswerGate> {
        &self.gate
    }

    /// What this server serves.
    #[must_use]
    pub fn hosting(&self) -> &Hosting {
        &self.hosting
    }

    /// Whether it has a map by which it can route.
    pub(crate) fn has_map(&self) -> bool {
        self.routing.has_map()
    }

    /// The services, if this server serves the key now.
    pub(crate) fn hosted(&self, key: &[u8]) -> Option<Arc<Hosted>> {
        match self.find(key) {
            Found::Here(hosted) => Some(hosted),
            Found::There(..) | Found::Unserved => None,
        }
    }

    /// The services, if this server serves the range now; else the newest tenure of the range that it knows.
    pub(crate) fn hosted_range(&self, range: RangeId) -> Result<Arc<Hosted>, Tenure> {
        let (newest, is_own) = self.routing.newest(range);
        let hosted = self.hosting.current();
        let served = hosted.and_then(|hosted| {
            let served = hosted.ranges().find(partita_range::RangeId(range.0))?;
            Some((hosted, Tenure(served.tenure)))
        });
        match served {
            Some((hosted, tenure)) if is_own || tenure >= newest => Ok(hosted),
            Some((_, tenure)) => Err(newest.max(tenure)),
            None => Err(newest),
        }
    }

    /// Waits until the map, or what this server serves, is another one than at this call. Cancel safe.
    pub(super) fn changed(&self) -> BoxFuture<'static, ()> {
        let (map, hosting) = (self.routing.changed(), self.hosting.changed());
        Box::pin(async move {
            tokio::select! {
                () = map => {}
                () = hosting => {}
            }
        })
    }

    /// The ranges of this server, which answers the requests of the manager while it has them.
    pub(crate) fn range_server(&self) -> Option<Arc<RangeServer>> {
        self.ranges.read().clone()
    }

    /// Begins or ends to answer the requests of the manager.
    pub(crate) fn set_range_server(&self, server: Option<Arc<RangeServer>>) {
        *self.ranges.write() = server;
    }

    /// The manager, if this server is elected.
    pub(crate) fn manager(&self) -> Option<Arc<Manager>> {
        self.manager.read().clone()
    }

    /// Begins or ends a term.
    pub(crate) fn set_manager(&self, manager: Option<Arc<Manager>>) {
        *self.manager.write() = manager;
    }

    /// The first key after the range that has `key`, by the map.
    pub(crate) fn range_end(&self, key: &[u8]) -> Option<Vec<u8>> {
        self.routing.place(key).end
    }

    /// The map may be behind what this server serves, and the other way round: the later tenure counts. A range that a
    /// split or merge has created here has no tenure of its own until the map has it.
    pub(super) fn find(&self, key: &[u8]) -> Found {
        let place = self.routing.place(key);
        if let Some(hosted) = self.hosting.current()
            && let Ok(route) = hosted.ranges().route(key)
            && (Tenure(route.tenure) >= place.tenure || matches!(place.owner, Owner::Here))
        {
            return Found::Here(hosted);
        }
        match (place.owner, place.range) {
            (Owner::There(peer), Some(range)) => Found::There(peer, range, place.tenure),
            _ => Found::Unserved,
        }
    }

    /// Holds a request until its range is served, and sends it to the owner. `is_sent` says at any time whether it may be
    /// executed. If the future is dropped, the owner drops the request too, unless its write has begun.
    pub(crate) async fn forward(
        &self,
        outgoing: &Outgoing<'_>,
        is_sent: &mut bool,
    ) -> Result<Done, NotForwarded> {
        let mut held = HeldRequest::new(self, outgoing);
        // Most requests are sent at once. Only one that must wait watches for changes.
        let mut watches = false;
        loop {
            // Before the look at the map, so that no change is missed.
            let changed = watches.then(|| self.changed());
            let found = self.find(&outgoing.key);
            if let Found::Here(hosted) = found {
                held.outcome = Some(ForwardOutcome::Here);
                return Ok(Done::Here(hosted));
            }
            let mut action = held.step(Event::Map(found.route()));
            if let (Action::Send(tenure), Found::There(peer, range, _)) = (action, found) {
                *is_sent = true;
                let sent = self.send(&peer, range, tenure, outgoing).await;
                let event = match sent {
                    Ok(answer) => {
                        held.outcome = Some(ForwardOutcome::Answered);
                        let _passed_on = held.step(Event::Answered);
                        return Ok(Done::Answered(answer));
                    }
                    Err(event) => event,
                };
                action = held.step(event);
                *is_sent = action == Action::Unknown;
            }
            match action {
                Action::Wait(until) => match changed {
                    Some(changed) => held.wait(until, changed).await,
                    None => watches = true,
                },
                Action::Unknown => {
                    held.outcome = Some(ForwardOutcome::Unknown);
                    return Err(NotForwarded::Unknown);
                }
                // Only `Refuse` can occur here.
                Action::Refuse | Action::Send(_) | Action::PassOn | Action::Drop => {
                    held.outcome = Some(ForwardOutcome::Refused);
                    return Err(NotForwarded::NotExecuted);
                }
            }
        }
    }

    /// Sends a request once.
    async fn send(
        &self,
        peer: &Peer,
        range: RangeId,
        tenure: Tenure,
        outgoing: &Outgoing<'_>,
    ) -> Result<Answer, Event> {
        let left = outgoing.deadline.duration_since(self.clock.monotonic());
        let request = ForwardedRequest {
            range,
            tenure,
            time_left: left,
            ..outgoing.request.clone()
        };
        let (head, class) = (request.encode(), outgoing.class);
        let answer = match &outgoing.wait_end {
            None => peer.send(class, &head, outgoing.body.clone()).await,
            Some(shutdown) => peer.send_waiting(class, &head, shutdown.requested()).await,
        };
        let answer = answer.map_err(|error| {
            tracing::debug!(peer = %peer.name(), %error, "a request was not answered by its owner");
            match error {
                SendError::NotProcessed(_) => Event::NotProcessed,
                #[cfg(feature = "planted-bugs")]
                SendError::Unknown(_)
                    if partita_engine::planted::is_active("cluster-repeats-write") =>
                {
                    Event::NotProcessed
                }
                SendError::Unknown(_) => Event::Broken,
            }
        })?;
        match ForwardedAnswer::decode(&answer.head) {
            Ok(ForwardedAnswer::NotHere(newest)) => Err(Event::NotHere(newest)),
            Ok(_) => Ok(answer),
            Err(error) => {
                tracing::warn!(peer = %peer.name(), %error, "a peer sent a malformed answer");
                Err(Event::Broken)
            }
        }
    }
}

/// A request while it is held or sent. When dropped, it gives its place back.
pub(super) struct HeldRequest<'a> {
    membership: &'a Membership,
    forwarding: Forwarding,
    began: Instant,
    /// What it is counted as when it ends; nothing for a request that the server makes itself.
    outcome: Option<ForwardOutcome>,
}

impl<'a> HeldRequest<'a> {
    fn new(membership: &'a Membership, outgoing: &Outgoing<'_>) -> Self {
        let mut held = Self::of_server(membership, outgoing.kind, outgoing.body.len());
        held.outcome = Some(ForwardOutcome::Abandoned);
        held
    }

    /// A request that the server makes itself, for rows.
    pub(super) fn of_server(membership: &'a Membership, kind: Kind, bytes: usize) -> Self {
        Self {
            membership,
            forwarding: Forwarding::new(kind, bytes),
            began: Instant::now(),
            outcome: None,
        }
    }

    /// Waits until the time that [`Action::Wait`] names, or until `changed` completes.
    pub(super) async fn wait(&self, until: Duration, changed: BoxFuture<'static, ()>) {
        tokio::select! {
            () = changed => {}
            () = tokio::time::sleep_until(self.began + until) => {}
        }
    }

    pub(super) fn step(&mut self, event: Event) -> Action {
        let now = self.began.elapsed();
        let mut holds = self.membership.holds.lock();
        let action = self.forwarding.step(event, now, &mut holds);
        self.membership.metrics.forwarding.hold(holds.requests());
        // `Wait` has no end while the request is sent, which this driver does not wait for.
        match action {
            Action::Wait(until) => Action::Wait(until.min(now + Duration::from_secs(60))),
            other => other,
        }
    }
}

impl Drop for HeldRequest<'_> {
    fn drop(&mut self) {
        let _given_back = self.step(Event::Abandoned);
        if let Some(outcome) = self.outcome {
            self.membership.metrics.forwarding.ended(outcome);
        }
    }
}
