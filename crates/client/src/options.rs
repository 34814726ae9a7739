//! Settings of a client: timeouts, retries, connections, trust, proxy, observer.

use crate::{Proxy, RetryBudget, RetryObserver, RetryPolicy};
use std::sync::Arc;
use std::time::Duration;

/// Settings of a client. Every combination is valid. `..ClientOptions::default()` fills the rest.
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
            retry_after_max: Duration::from_secs(60),
            idle_timeout: Duration::from_secs(60),
            idle_connections_max: 256,
            authorities_pem: Vec::new(),
            proxy: Proxy::default(),
            application: String::new(),
            observer: None,
        }
    }
}
