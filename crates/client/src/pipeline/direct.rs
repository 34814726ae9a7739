//! Attempts at the server of a cluster that has the data, instead of the given address.

use super::judge::{FailedAttempt, judge};
use super::sign::Recipient;
use super::time_limit::TimeLimit;
use super::{Pipeline, check_transport};
use crate::owners::{Found, Owner};
use crate::request::Request;
use crate::transport::{Answer, header_text};
use crate::{Error, ErrorKind};
use bytes::Bytes;
use futures::future::{Either, select};
use http::header::USER_AGENT;
use http_body_util::Full;
use partita_wire::{OWNER_HEADER, OwnerHint};
use std::pin::pin;
use std::time::{Duration, Instant};

/// How long a probe waits for its answer.
const PROBE_TIMEOUT: Duration = Duration::from_secs(1);

/// After this time without an answer, and again and again, the server is probed. So a request at a server that is dead
/// ends about as early as a server of the cluster would notice it.
const WATCH_INTERVAL: Duration = Duration::from_secs(2);

/// What becomes of a request that was sent to its server.
pub(super) enum Direct {
    /// The attempt has ended.
    Ended(Result<Answer, FailedAttempt>),
    /// It was not executed there, or is a read: the given address answers it.
    NotAnswered,
}

impl Pipeline {
    /// Whether the answers to a request are to have owner hints.
    pub(super) fn asks_owner(&self, request: &Request) -> bool {
        self.options.owner_hints && !request.secondary && request.place.is_some()
    }

    /// The server that has the data of a request, if it is known and a member of the cluster.
    pub(super) async fn owner_of(&self, request: &Request) -> Option<Owner> {
        let place = request.place.as_ref();
        let place = place.filter(|_| self.asks_owner(request))?;
        let probe = match self.owners.find(place)? {
            Found::Member(owner) => return Some(owner),
            Found::Unproven(probe) => probe,
        };
        let is_member = self.probe(&probe.owner).await;
        let owner = probe.owner.clone();
        probe.ended(is_member);
        is_member.then_some(owner)
    }

    /// Notes the hint of an answer.
    pub(super) fn learn(&self, request: &Request, answer: &Answer) {
        let given = &self.account.endpoint;
        if let Some(place) = &request.place
            && let Some(hint) = hint_of(answer)
        {
            self.owners.learn(place, &hint, given);
        }
    }

    /// Makes an attempt at the server of the data.
    pub(super) async fn attempt_at(
        &self,
        owner: &Owner,
        request: &Request,
        id: &str,
        begun: Instant,
    ) -> Direct {
        // The credential is of the account, but the address may be in plain text on another machine.
        if check_transport(&owner.endpoint, &self.account.credential.current()).is_err() {
            return Direct::NotAnswered;
        }
        let recipient = Recipient {
            endpoint: &owner.endpoint,
            owner: Some(&owner.cluster),
        };
        let signed = match self.signed(request, recipient, id).await {
            Ok(signed) => signed,
            Err(error) => return Direct::Ended(Err(error.into())),
        };
        let limit = TimeLimit::of(&self.options, begun.elapsed());
        let sent = tokio::time::timeout(limit.left, self.send_watched(signed, owner)).await;
        match sent.unwrap_or_else(|_| Err(limit.error())) {
            Ok(answer) if is_of(&answer, owner) => {
                self.learn(request, &answer);
                if answer.status().is_server_error() {
                    // It may have lost its range without knowing by whom it is served.
                    self.owners.failed(owner);
                }
                Direct::Ended(judge(request, answer))
            }
            // Another server has the address now. It has refused the request, or has no data of this cluster.
            Ok(_) => {
                self.owners.failed(owner);
                Direct::NotAnswered
            }
            Err(error) => {
                self.owners.failed(owner);
                match error.kind() {
                    ErrorKind::Connect | ErrorKind::Tls => Direct::NotAnswered,
                    ErrorKind::Broken if !request.is_write => Direct::NotAnswered,
                    _ => Direct::Ended(Err(error.into())),
                }
            }
        }
    }

    /// Sends a request, and probes the server while it does not answer.
    async fn send_watched(
        &self,
        signed: http::Request<Full<Bytes>>,
        owner: &Owner,
    ) -> Result<Answer, Error> {
        let watching = async {
            loop {
                tokio::time::sleep(WATCH_INTERVAL).await;
                if !self.probe(owner).await {
                    break;
                }
            }
        };
        let sending = pin!(self.transport.send(signed));
        match select(sending, pin!(watching)).await {
            Either::Left((sent, _)) => sent,
            Either::Right(((), _)) => {
                let message = format!("the server at {} does not answer", owner.endpoint);
                Err(Error::new(ErrorKind::Broken, message))
            }
        }
    }

    /// Whether a server answers as a member of its cluster. The request has no credentials: it is refused by any server.
    async fn probe(&self, owner: &Owner) -> bool {
        let endpoint = &owner.endpoint;
        let request = http::Request::builder()
            .uri(endpoint.to_string())
            .header(USER_AGENT, self.user_agent.clone())
            .header(OWNER_HEADER, &*owner.cluster);
        let Ok(request) = request.body(Full::default()) else {
            return false;
        };
        let sent = tokio::time::timeout(PROBE_TIMEOUT, self.transport.send(request)).await;
        matches!(sent, Ok(Ok(answer)) if is_of(&answer, owner))
    }
}

fn hint_of(answer: &Answer) -> Option<OwnerHint<'_>> {
    OwnerHint::parse(header_text(answer.headers(), OWNER_HEADER)?)
}

/// Whether an answer is from the cluster of the hint.
fn is_of(answer: &Answer, owner: &Owner) -> bool {
    hint_of(answer).is_some_and(|hint| *hint.cluster == *owner.cluster)
}
