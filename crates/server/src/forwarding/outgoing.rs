//! A request on its way to another server.

use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use partita_peer::forward::ForwardedRequest;
use partita_peer::policy::Kind;
use partita_peer::{Answer, Class};
use partita_rt::Shutdown;

use super::Hosted;

/// A request that is held and sent. Range, tenure and time left are set for each try.
#[derive(Debug)]
pub(crate) struct Outgoing<'a> {
    /// The key whose server executes it.
    pub(crate) key: Bytes,
    pub(crate) kind: Kind,
    pub(crate) class: Class,
    pub(crate) request: ForwardedRequest<'a>,
    pub(crate) body: Bytes,
    /// When the request's time is over.
    pub(crate) deadline: Instant,
    /// For a request without a body that waits for data at its owner: the shutdown that ends its wait.
    pub(crate) wait_end: Option<Shutdown>,
}

/// What became of a request.
#[derive(Debug)]
pub(crate) enum Done {
    /// This server serves its range, now at least.
    Here(Arc<Hosted>),
    /// The owner has answered. The answer is not [`partita_peer::forward::ForwardedAnswer::NotHere`].
    Answered(Answer),
}

/// Why a request has no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NotForwarded {
    /// It was not executed.
    NotExecuted,
    /// It may have been executed.
    Unknown,
}
