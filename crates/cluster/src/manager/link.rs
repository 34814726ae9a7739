//! How the manager reaches the hosts of other processes.

use async_trait::async_trait;
use std::fmt::Debug;

/// Why a host did not answer.
#[derive(Debug, Clone, thiserror::Error)]
pub enum LinkError {
    /// The request was not executed.
    #[error("the server cannot be reached: {0}")]
    NotSent(String),
    /// The request may have been executed.
    #[error("the server did not answer: {0}")]
    Unknown(String),
}

/// Sends requests to the hosts of other processes. Used as `Arc<dyn HostLink>`.
#[async_trait]
pub trait HostLink: Debug + Send + Sync + 'static {
    /// Sends a request to the server with this name, which answers it with
    /// [`RangeServer::answer`](crate::RangeServer::answer).
    ///
    /// # Errors
    /// [`LinkError`].
    async fn ask(&self, server: &str, request: Vec<u8>) -> Result<Vec<u8>, LinkError>;
}
