//! What a tool can see of a client's attempts.

use crate::Error;
use std::fmt;
use std::time::Duration;

/// Sees every attempt of a client. It is called on the request's path, so it has to be quick; it must not block.
pub trait RetryObserver: fmt::Debug + Send + Sync {
    /// An attempt has ended.
    fn attempt(&self, event: &AttemptEvent<'_>);
}

/// An attempt that has ended.
#[derive(Debug)]
pub struct AttemptEvent<'a> {
    /// The name of the operation, such as `InsertEntity`.
    pub operation: &'static str,
    /// Which attempt of the request it was, from 1.
    pub attempt: u32,
    /// `x-ms-client-request-id`: one for each attempt.
    pub client_request_id: &'a str,
    /// `x-ms-request-id`, if the server answered with one.
    pub request_id: Option<&'a str>,
    /// How long it took, from building the request to the last byte of the answer.
    pub took: Duration,
    /// The status, if there was an answer.
    pub status: Option<u16>,
    /// Bytes of the bodies, sent and received.
    pub bytes: (usize, usize),
    /// Why a server like Partita was busy, in a word: its header `x-partita-reason`, such as `partition-target`.
    pub busy_reason: Option<&'a str>,
    /// What went wrong; `None` for a success.
    pub error: Option<&'a Error>,
    /// What happens next.
    pub decision: Decision,
}

/// What follows an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// Nothing: it succeeded.
    Done,
    /// Another one.
    Retry {
        /// Why.
        reason: RetryReason,
        /// After this wait.
        wait: Duration,
        /// Whether the server asked for the wait.
        asked: bool,
    },
    /// Nothing: the error is the request's.
    GiveUp(GiveUp),
}

/// What a retry answers to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RetryReason {
    /// No connection was made.
    Connect,
    /// The connection broke before the whole answer was there.
    Broken,
    /// The attempt took too long.
    TimedOut,
    /// The server answered with this status: 408, 429, 500, 502, 503 or 504.
    Status(u16),
}

/// Why there is no further attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum GiveUp {
    /// The error is of a kind that another attempt would meet again.
    NotRetried,
    /// The policy allows no more.
    AttemptsUsedUp,
    /// The client's retry budget is empty: the service is in trouble, and more requests would make it worse.
    BudgetUsedUp,
    /// `Retry-After` asks for more than the options allow.
    AskedTooLong,
    /// The operation's time would be over before the next attempt.
    OutOfTime,
}
