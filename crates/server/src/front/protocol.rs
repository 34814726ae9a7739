//! A storage protocol behind a listener, and what all protocols of a server share.

use super::progress::Progress;
use crate::config::Limits;
use crate::metrics::Metrics;
use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::header::HeaderValue;
use hyper::{Request, Response};
use partita_rt::Clock;
use partita_service::Accounts;
use partita_wire::{AccountKeys, BearerRules, Hosts};
use rustls::ServerConfig;
use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

/// Answers the requests of one storage protocol.
pub(super) trait Protocol: Send + Sync + 'static {
    /// What it shares with other protocols.
    fn front(&self) -> &Front;

    /// Answers a request. Dropped halfway (the client has disconnected), a write that has started still completes.
    fn answer(
        &self,
        request: Request<Incoming>,
        peer: Option<IpAddr>,
        progress: &Progress,
    ) -> impl Future<Output = Response<Full<Bytes>>> + Send;
}

/// The parts of a front.
pub struct FrontParts {
    /// The accounts, with their keys.
    pub accounts: Accounts<AccountKeys>,
    /// How host names name accounts.
    pub hosts: Hosts,
    /// The rules for bearer tokens; without them none is accepted.
    pub bearer: Option<BearerRules>,
    /// Where clients get bearer tokens: the `authorization_uri` of the challenge.
    pub authorization_uri: String,
    /// Bounds of time and size.
    pub limits: Limits,
    /// The time that the `Keep-Alive` header promises.
    pub keep_alive: Duration,
    /// For HTTPS; without it the listener speaks HTTP.
    pub tls: Option<Arc<ServerConfig>>,
    /// The counts of requests and connections.
    pub metrics: Arc<Metrics>,
    /// The clock.
    pub clock: Arc<dyn Clock>,
}

/// What a protocol's front needs besides its service.
pub struct Front {
    parts: FrontParts,
    keep_alive: HeaderValue,
    challenge: HeaderValue,
}

impl fmt::Debug for Front {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Front").finish_non_exhaustive()
    }
}

/// A setting cannot be sent in a header.
#[derive(Debug, thiserror::Error)]
#[error("{0} has characters that a header cannot carry")]
pub struct InvalidSetting(&'static str);

impl Front {
    /// A front of its parts.
    ///
    /// # Errors
    /// [`InvalidSetting`] for an authorization URI that a header cannot carry.
    pub fn new(parts: FrontParts) -> Result<Self, InvalidSetting> {
        let keep_alive = format!("timeout={}", parts.keep_alive.as_secs());
        let keep_alive =
            HeaderValue::try_from(keep_alive).map_err(|_| InvalidSetting("keep-alive"))?;
        let challenge = partita_wire::challenge(&parts.authorization_uri);
        let challenge = HeaderValue::try_from(challenge)
            .map_err(|_| InvalidSetting("the authorization URI"))?;
        Ok(Self {
            parts,
            keep_alive,
            challenge,
        })
    }

    pub(super) fn accounts(&self) -> &Accounts<AccountKeys> {
        &self.parts.accounts
    }

    pub(super) fn hosts(&self) -> &Hosts {
        &self.parts.hosts
    }

    pub(super) fn bearer(&self) -> Option<&BearerRules> {
        self.parts.bearer.as_ref()
    }

    pub(super) fn limits(&self) -> &Limits {
        &self.parts.limits
    }

    pub(super) fn metrics(&self) -> &Metrics {
        &self.parts.metrics
    }

    pub(super) fn clock(&self) -> &dyn Clock {
        &*self.parts.clock
    }

    pub(super) fn tls(&self) -> Option<&Arc<ServerConfig>> {
        self.parts.tls.as_ref()
    }

    pub(super) fn scheme(&self) -> &'static str {
        if self.tls().is_some() {
            "https"
        } else {
            "http"
        }
    }

    pub(super) fn keep_alive(&self) -> &HeaderValue {
        &self.keep_alive
    }

    pub(super) fn challenge(&self) -> &HeaderValue {
        &self.challenge
    }
}
