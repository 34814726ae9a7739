//! How a client behaves: retries, timeouts, trust, what may watch.

use crate::{Proxy, RetryBudget, RetryObserver, RetryPolicy};
use std::sync::Arc;
use std::time::Duration;

/// Settings of a client; every combination is valid. `..ClientOptions::default()` fills the rest.
#[derive(Debug, Clone)]
pub struct ClientOptions {
    /// When a failed attempt is tried again.
    pub retry: RetryPolicy,
    /// How many retries all requests of the client may make together.
    pub retry_budget: RetryBudget,
    /// The longest wait that a server's `Retry-After` can ask for; where it asks for more, the request fails at once.
    pub retry_after_max: Duration,
    /// How long one attempt may take, connecting included. The default of 35 s is longer than the service's own 30 s, so
    /// that its answer is heard.
    pub attempt_timeout: Duration,
    /// How long a connection may take to be made, TLS included only in the attempt's own time.
    pub connect_timeout: Duration,
    /// For how long to try until a first connection is made, whatever the policy: so a server that is not there is told soon, and one
    /// that goes away later is waited for. None to try as often as the policy says.
    pub first_connection_timeout: Option<Duration>,
    /// How long a request may take with all its attempts and waits. No attempt begins that it leaves no time for.
    pub operation_timeout: Option<Duration>,
    /// For how long an idle connection is kept. Servers and load balancers drop them after some minutes, unseen.
    pub idle_timeout: Duration,
    /// How many idle connections are kept.
    pub idle_connections_max: usize,
    /// Certificates in PEM of authorities to trust besides the machine's: a server's own authority, or a company's.
    pub authorities_pem: Vec<Vec<u8>>,
    /// Through which HTTP proxy requests go. The default is what the environment says.
    pub proxy: Proxy,
    /// What the client is, before its own name in `User-Agent`.
    pub application: String,
    /// Sees every attempt.
    pub observer: Option<Arc<dyn RetryObserver>>,
}

impl Default for ClientOptions {
    fn default() -> Self {
        Self {
            retry: RetryPolicy::default(),
            retry_budget: RetryBudget::default(),
            retry_after_max: Duration::from_secs(60),
            attempt_timeout: Duration::from_secs(35),
            connect_timeout: Duration::from_secs(5),
            first_connection_timeout: None,
            operation_timeout: None,
            idle_timeout: Duration::from_secs(60),
            idle_connections_max: 256,
            authorities_pem: Vec::new(),
            proxy: Proxy::default(),
            application: String::new(),
            observer: None,
        }
    }
}
