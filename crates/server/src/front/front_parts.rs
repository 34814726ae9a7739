//! The parts of a front that do not depend on its service, and those that the fronts of all protocols share.

use super::connections::Connections;
use crate::config::Limits;
use crate::forwarding::Membership;
use crate::metrics::Metrics;
use hyper::header::HeaderValue;
use partita_rt::Clock;
use partita_service::{Accounts, MemoryBudget};
use partita_wire::{AccountKeys, BearerRules, Hosts};
use rustls::ServerConfig;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// The parts that the fronts of all protocols share.
pub struct FrontParts {
    /// The accounts, with their keys.
    pub accounts: Accounts<AccountKeys>,
    /// The rules for bearer tokens; `None` refuses all tokens.
    pub bearer: Option<BearerRules>,
    /// Where clients get bearer tokens: the `authorization_uri` of the challenge.
    pub authorization_uri: String,
    /// Bounds of time and size.
    pub limits: Limits,
    /// The memory for bodies and answers of all connections.
    pub memory: Arc<MemoryBudget>,
    /// The TLS settings of HTTPS; `None` for HTTP.
    pub tls: Option<Arc<ServerConfig>>,
    /// The open connections of all protocols.
    pub connections: Connections,
    /// The counts of requests and connections.
    pub metrics: Arc<Metrics>,
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// The cluster; `None` for an embedded server, which executes every request itself.
    pub membership: Option<Arc<Membership>>,
}

/// The parts of a protocol's front that do not depend on its service.
pub struct Front {
    pub(super) parts: Arc<FrontParts>,
    /// Which host names select an account.
    pub(super) hosts: Hosts,
    /// The value of the `Keep-Alive` header.
    pub(super) keep_alive: HeaderValue,
    /// The value of the `WWW-Authenticate` header.
    pub(super) challenge: HeaderValue,
}

impl fmt::Debug for Front {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Front").finish_non_exhaustive()
    }
}

/// A setting has characters that are not allowed in a header.
#[derive(Debug, thiserror::Error)]
#[error("{0} has characters that are not allowed in a header")]
pub struct InvalidSetting(&'static str);

impl Front {
    /// Assembles a front. `keep_alive` is the timeout in the `Keep-Alive` header.
    ///
    /// # Errors
    /// [`InvalidSetting`] for an authorization URI with characters that are not allowed in a header.
    pub fn new(
        parts: Arc<FrontParts>,
        hosts: Hosts,
        keep_alive: Duration,
    ) -> Result<Self, InvalidSetting> {
        let header =
            |text: String, name| HeaderValue::try_from(text).map_err(|_| InvalidSetting(name));
        let keep_alive = format!("timeout={}", keep_alive.as_secs());
        let keep_alive = header(keep_alive, "keep-alive")?;
        let challenge = partita_wire::challenge(&parts.authorization_uri);
        let challenge = header(challenge, "the authorization URI")?;
        Ok(Self {
            parts,
            hosts,
            keep_alive,
            challenge,
        })
    }
}
