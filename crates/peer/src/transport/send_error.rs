//! What is known about a request that has no answer.

use std::sync::Arc;

use h2::Reason;

use super::ConnectError;
use super::framing::HeadError;

/// A request has no answer.
#[derive(Debug, thiserror::Error)]
pub enum SendError {
    /// No handler has seen the request, and none will: it can be sent again.
    #[error("the request was not processed: {0}")]
    NotProcessed(#[from] NotProcessed),
    /// The request was sent, at least in part: it may have been processed, or may still be.
    #[error("the request may have been processed: {0}")]
    Unknown(#[from] Unknown),
}

/// Why a request was not processed.
#[derive(Clone, Debug, thiserror::Error)]
pub enum NotProcessed {
    /// The peer could not be connected to.
    #[error(transparent)]
    Connect(Arc<ConnectError>),
    /// The peer is shutting down.
    #[error("the peer is shutting down")]
    GoingAway,
    /// The peer refused the request.
    #[error("the peer refused it")]
    Refused,
    /// The connection closed before the request was sent.
    #[error("the connection closed before it was sent")]
    Closed,
    /// The connection has as many requests under way as it may have.
    #[error("too many requests are under way to the peer")]
    Streams,
    /// The bodies under way have as many bytes as they may have.
    #[error("too many bytes of request bodies are under way")]
    Bytes,
}

/// What happened after a request was sent.
#[derive(Debug, thiserror::Error)]
pub enum Unknown {
    /// The connection broke, or the peer broke off the answer.
    #[error("the connection broke after it was sent ({0})")]
    Broken(h2::Error),
    /// The answer is not a message.
    #[error("the answer is malformed: {0}")]
    Malformed(String),
}

impl SendError {
    /// The meaning of the error of a stream that was opened. h2 gives streams above the last one of the peer's GOAWAY an
    /// error of that kind, and all others one of another kind. The peer promises with GOAWAY and REFUSED_STREAM that it
    /// did not process the request.
    pub(super) fn of_stream(error: h2::Error) -> Self {
        if error.is_remote() && error.is_go_away() {
            return NotProcessed::GoingAway.into();
        }
        if error.is_remote() && error.is_reset() && error.reason() == Some(Reason::REFUSED_STREAM) {
            return NotProcessed::Refused.into();
        }
        Unknown::Broken(error).into()
    }
}

impl From<HeadError> for SendError {
    fn from(error: HeadError) -> Self {
        match error {
            HeadError::Stream(error) => Unknown::Broken(error).into(),
            other => Unknown::Malformed(other.to_string()).into(),
        }
    }
}
