//! What the clients of remote stores differ in: the runtime of their connections, their timeouts and their retries.

use std::time::Duration;

use object_store::client::SpawnedReqwestConnector;
use object_store::{BackoffConfig, RetryConfig};
use tokio::runtime::Handle;

/// The maximum total time of a request's retries: an unreachable store must fail soon.
const TRYING_MAX: Duration = Duration::from_secs(20);
/// The longest pause before a retry.
const PAUSE_MAX: Duration = Duration::from_secs(3);

/// What a client of a store is for. The connections of a client with a [`Handle`] live on that runtime, which needs I/O.
/// Then each thread of the process may use the client, also one whose runtime has no I/O.
#[derive(Debug, Clone)]
pub enum Client {
    /// Backups and other copies: large objects over slow links.
    Copies,
    /// The files of a server.
    Files(Handle),
    /// The write-ahead log of a server, which repeats requests itself, because it knows which are safe to repeat.
    Log(Handle),
}

impl Client {
    /// The HTTP connections; `None` for those of the runtime that makes a request.
    pub(super) fn connector(&self) -> Option<SpawnedReqwestConnector> {
        match self {
            Self::Copies => None,
            Self::Files(runtime) | Self::Log(runtime) => {
                Some(SpawnedReqwestConnector::new(runtime.clone()))
            }
        }
    }

    /// The timeout of one request. `AWS_TIMEOUT` and `AZURE_TIMEOUT` override it.
    pub(super) fn timeout(&self) -> &'static str {
        match self {
            // Enough for an object of 16 MiB over a link of 0.5 Mbit/s.
            Self::Copies => "300 seconds",
            // Enough for a file of level 0 at 0.5 MiB/s. A request whose connection broke silently is repeated sooner.
            Self::Files(_) => "60 seconds",
            // The log has deadlines that follow the bytes; this one bounds an object of 160 MiB.
            Self::Log(_) => "200 seconds",
        }
    }

    /// How often a request is repeated.
    pub(super) fn retries(&self) -> RetryConfig {
        RetryConfig {
            backoff: BackoffConfig {
                max_backoff: PAUSE_MAX,
                ..BackoffConfig::default()
            },
            max_retries: match self {
                Self::Copies | Self::Files(_) => 6,
                Self::Log(_) => 0,
            },
            retry_timeout: TRYING_MAX,
        }
    }
}
