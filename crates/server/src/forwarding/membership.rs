//! The part of a server in its cluster.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use partita_peer::forward::{ForwardedAnswer, ForwardedRequest, RangeId, Tenure};
use partita_peer::policy::{Action, Event, Forwarding, Holds, Route};
use partita_peer::{Answer, Peer, SendError};
use partita_rt::Clock;
use tokio::time::Instant;

use super::{Done, Hosted, Hosting, NotForwarded, Outgoing, Owner, Routing, RoutingKey};
use crate::metrics::{ForwardOutcome, Metrics};

/// The part of a server in its cluster: the map, the store that it serves, and the requests that it holds and forwards.
pub struct Membership {
    routing: Arc<dyn Routing>,
    hosting: Hosting,
    holds: Mutex<Holds>,
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
enum Found {
    Here(Arc<Hosted>),
    There(Peer, RangeId, Tenure),
    Unserved,
}

impl Found {
    fn route(&self) -> Route {
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
        metrics: Arc<Metrics>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self {
            routing,
            hosting: Hosting::default(),
            holds: Mutex::default(),
            metrics,
            clock,
        }
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

    /// The store, if this server serves the key now.
    pub(crate) fn hosted(&self, key: &RoutingKey<'_>) -> Option<Arc<Hosted>> {
        match self.find(key) {
            Found::Here(hosted) => Some(hosted),
            Found::There(..) | Found::Unserved => None,
        }
    }

    /// The newest tenure of a range that this server knows.
    pub(crate) fn newest(&self, range: RangeId) -> Tenure {
        let hosted = self.hosting.current();
        let hosted = hosted.filter(|hosted| hosted.range == range);
        let hosted = hosted.map_or(Tenure::default(), |hosted| hosted.tenure);
        hosted.max(self.routing.newest(range))
    }

    /// The map may be behind what this server serves: the later tenure counts.
    fn find(&self, key: &RoutingKey<'_>) -> Found {
        let place = self.routing.place(key);
        if let Some(hosted) = self.hosting.current()
            && hosted.tenure >= place.tenure
            && place.range.is_none_or(|range| range == hosted.range)
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
        loop {
            // Before the look at the map, so that no change is missed.
            let (map, hosting) = (self.routing.changed(), self.hosting.changed());
            let found = self.find(&outgoing.key);
            if let Found::Here(hosted) = found {
                held.outcome = ForwardOutcome::Here;
                return Ok(Done::Here(hosted));
            }
            let mut action = held.step(Event::Map(found.route()));
            if let (Action::Send(tenure), Found::There(peer, range, _)) = (action, found) {
                *is_sent = true;
                let sent = self.send(&peer, range, tenure, outgoing).await;
                let event = match sent {
                    Ok(answer) => {
                        held.outcome = ForwardOutcome::Answered;
                        let _passed_on = held.step(Event::Answered);
                        return Ok(Done::Answered(answer));
                    }
                    Err(event) => event,
                };
                action = held.step(event);
                *is_sent = action == Action::Unknown;
            }
            match action {
                Action::Wait(until) => {
                    tokio::select! {
                        () = map => {}
                        () = hosting => {}
                        () = tokio::time::sleep_until(held.began + until) => {}
                    }
                }
                Action::Unknown => {
                    held.outcome = ForwardOutcome::Unknown;
                    return Err(NotForwarded::Unknown);
                }
                // Only `Refuse` can occur here.
                Action::Refuse | Action::Send(_) | Action::PassOn | Action::Drop => {
                    held.outcome = ForwardOutcome::Refused;
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
        let (head, body) = (request.encode(), outgoing.body.clone());
        let answer = peer.send(outgoing.class, &head, body).await;
        let answer = answer.map_err(|error| {
            tracing::debug!(peer = %peer.name(), %error, "a request was not answered by its owner");
            match error {
                SendError::NotProcessed(_) => Event::NotProcessed,
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
struct HeldRequest<'a> {
    membership: &'a Membership,
    forwarding: Forwarding,
    began: Instant,
    outcome: ForwardOutcome,
}

impl<'a> HeldRequest<'a> {
    fn new(membership: &'a Membership, outgoing: &Outgoing<'_>) -> Self {
        Self {
            membership,
            forwarding: Forwarding::new(outgoing.kind, outgoing.body.len()),
            began: Instant::now(),
            outcome: ForwardOutcome::Abandoned,
        }
    }

    fn step(&mut self, event: Event) -> Action {
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
        self.membership.metrics.forwarding.ended(self.outcome);
    }
}
