//! Settings of a client: timeouts, retries, unknown outcomes, connections, trust, proxy, observer.

use crate::retry::DURATION_MAX;
use crate::{Proxy, RetryBudget, RetryObserver, RetryPolicy, UnknownOutcome};
use std::sync::Arc;
use std::time::Duration;

/// Settings of a client. Every combination is valid; durations count as at most a year. `..ClientOptions::default()`
/// fills the rest, and is required, because a later version may have more settings.
#[derive(Debug, Clone)]
pub struct ClientOptions {
    /// Timeout of a request with all its attempts and waits. Default: `None`, no timeout.
    pub operation_timeout: Option<Duration>,
    /// Timeout of one attempt, connecting included. Default: 35 s, longer than the service's own 30 s, so that its
    /// answer arrives.
    pub attempt_timeout: Duration,
    /// Timeout for opening a TCP connection. The TLS handshake counts only towards `attempt_timeout`. Default: 5 s.
    pub connect_timeout: Duration,
    /// How long a request is retried while the client has never connected. So a request to a wrong address fails soon,
    /// but all retries of the policy apply if the server restarts later. Default: `None`, the retry policy alone
    /// decides.
    pub first_connection_timeout: Option<Duration>,
    /// How often failed attempts are retried. Default: [`RetryPolicy::MODERN`].
    pub retry: RetryPolicy,
    /// The retry budget that all requests of the client share. Default: 500 tokens, 0.2 per success.
    pub retry_budget: RetryBudget,
    /// The shortest wait before a retry when a server requests a wait with `Retry-After`, which may be 0. The client adds
    /// up to 20 % to the wait, so that clients that were refused together do not return together. Default: 100 ms.
    pub retry_after_min: Duration,
    /// The longest wait that a server can request with `Retry-After`. A request fails at once if the server requests
    /// more. Default: 60 s.
    pub retry_after_max: Duration,
    /// How long an idle connection stays open. Servers and load balancers close idle connections after some minutes.
    /// Default: 60 s.
    pub idle_timeout: Duration,
    /// The maximum number of idle connections per host. Default: 256.
    pub idle_connections_max: usize,
    /// Additional trusted certificate authorities, each a PEM text with one or more certificates. The machine's
    /// authorities are always trusted. Default: empty.
    pub authorities_pem: Vec<Vec<u8>>,
    /// The HTTP proxy. Default: [`Proxy::Environment`].
    pub proxy: Proxy,
    /// The application's name and version, which precede `partita-client/…` in `User-Agent`. Visible ASCII. Default:
    /// empty.
    pub application: String,
    /// Observes every attempt. Default: `None`.
    pub observer: Option<Arc<dyn RetryObserver>>,
    /// What a table client does if a write fails after an attempt that may have happened. Default:
    /// [`UnknownOutcome::Report`].
    pub unknown_outcome: UnknownOutcome,
    /// Whether the client asks the servers of a Partita cluster which of them has the data, and sends requests there
    /// directly: this saves a hop between two servers. Requests that such a server does not answer go to the given
    /// endpoint again. Servers outside a cluster, Azurite and Azure ignore the question. Default: `false`.
    pub owner_hints: bool,
    /// Only [`Self::default`] sets it, so that new fields do not break programs.
    #[doc(hidden)]
    pub more: (),
}

impl ClientOptions {
    /// The same options, with durations that no timer overflows.
    pub(crate) fn clamped(mut self) -> Self {
        for duration in [
            &mut self.attempt_timeout,
            &mut self.connect_timeout,
            &mut self.retry_after_min,
            &mut self.retry_after_max,
            &mut self.idle_timeout,
        ] {
            *duration = (*duration).min(DURATION_MAX);
        }
        for duration in [
            &mut self.operation_timeout,
            &mut self.first_connection_timeout,
        ] {
            *duration = duration.map(|duration| duration.min(DURATION_MAX));
        }
        self
    }
}

impl Default for ClientOptions {
    fn default() -> Self {
        Self {
            operation_timeout: None,
            attempt_timeout: Duration::from_secs(35),
            connect_timeout: Duration::from_secs(5),
            first_connection_timeout: None,
            retry: RetryPolicy::default(),
            retry_budget: RetryBudget::default(),
            retry_after_min: Duration::from_millis(100),
            retry_after_max: Duration::from_secs(60),
            idle_timeout: Duration::from_secs(60),
            idle_connections_max: 256,
            authorities_pem: Vec::new(),
            proxy: Proxy::default(),
            application: String::new(),
            observer: None,
            unknown_outcome: UnknownOutcome::Report,
            owner_hints: false,
            more: (),
        }
    }
}
