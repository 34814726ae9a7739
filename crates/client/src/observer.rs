//! Observation of a client's attempts, for metrics and logs.

use crate::Error;
use std::fmt;
use std::time::Duration;

/// Observes every attempt of a client. The client calls it while the request waits, so it must be quick and must not
/// block.
pub trait RetryObserver: fmt::Debug + Send + Sync {
    /// Called after each attempt, before the wait for the next one.
    fn attempt(&self, event: &AttemptEvent<'_>);
}

/// A completed attempt.
#[derive(Debug)]
pub struct AttemptEvent<'a> {
    /// The name of the operation, such as `InsertEntity`.
    pub operation: &'static str,
    /// The number of the attempt within its request, from 1.
    pub attempt: u32,
    /// `x-ms-client-request-id`, unique for each attempt.
    pub client_request_id: &'a str,
    /// `x-ms-request-id` of the answer.
    pub request_id: Option<&'a str>,
    /// Duration from building the request to the last byte of the answer.
    pub took: Duration,
    /// The HTTP status of the answer.
    pub status: Option<u16>,
    /// Body sizes in bytes: sent, received.
    pub bytes: (usize, usize),
    /// Why a Partita server was busy: its header `x-partita-reason`, such as `partition-target`.
    pub busy_reason: Option<&'a str>,
    /// The error; `None` after a success.
    pub error: Option<&'a Error>,
    /// The next step.
    pub decision: Decision,
}

/// The client's decision after an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Decision {
    /// The attempt succeeded.
    Done,
    /// The client retries the request.
    Retry {
        /// The reason for the retry.
        reason: RetryReason,
        /// The wait before the next attempt.
        wait: Duration,
        /// Whether the server requested this wait.
        asked: bool,
    },
    /// The request fails with the attempt's error.
    GiveUp(GiveUp),
}

/// The reason for a retry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RetryReason {
    /// Cannot connect to the server.
    Connect,
    /// The connection broke before the answer was complete.
    Broken,
    /// The attempt timed out.
    TimedOut,
    /// The status of the answer: 408, 429, 500, 502, 503 or 504.
    Status(u16),
}

/// Why the client gave up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum GiveUp {
    /// A retry would fail with the same error.
    NotRetried,
    /// The retry policy allows no further retry.
    AttemptsUsedUp,
    /// The retry budget of the client is empty.
    BudgetUsedUp,
    /// The server requested a wait longer than [`crate::ClientOptions::retry_after_max`].
    AskedTooLong,
    /// The operation's timeout, or [`crate::ClientOptions::first_connection_timeout`], would end before the next
    /// attempt.
    OutOfTime,
}
