//! Takes a request through its attempts: sign, send, judge, wait.
//!
//! ```text
//! attempt 1 ── 2xx ─────────────────────────────────────────▶ answer
//!           ── 4xx, 501, 505 ───────────────────────────────▶ error
//!           ── broken, timeout, 408 429 500 502 503 504
//!                 └─ attempts left? a token in the budget? time left? ── no ──▶ error
//!                        └─ wait: Retry-After, else the policy's ── attempt 2 …
//! ```
//! Retries live here and nowhere else. (The pool below may send a request on a second connection when the first was closed
//! before a byte of it was written.)

mod judge;
mod sign;

pub(crate) use judge::{AttemptError, header_text, refused};
pub(crate) use sign::{Protocol, Unsigned};

use crate::observer::{AttemptEvent, Decision, GiveUp, RetryReason};
use crate::request::Request;
use crate::retry::Bucket;
use crate::transport::{Answer, SendError, Transport};
use crate::{ClientOptions, Credential, Endpoint, Error, ErrorKind, Outcome};
use futures::future::BoxFuture;
use http::header::HeaderValue;
use judge::{judged, not_answered, settled};
use partita_model::Guid;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tracing::Instrument as _;

/// The state that all clients of an account share.
#[derive(Debug)]
pub(crate) struct Pipeline {
    protocol: &'static Protocol,
    pub(crate) endpoint: Endpoint,
    pub(crate) secondary: Endpoint,
    pub(crate) credential: Credential,
    options: ClientOptions,
    user_agent: HeaderValue,
    transport: Transport,
    bucket: Bucket,
    /// Whether a connection was ever made.
    was_connected: AtomicBool,
}

/// An answer with a status below 300.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) answer: Answer,
    /// What an error that the answer leads to still has to say.
    about: About,
}

/// What is known of a request after its attempts.
#[derive(Debug)]
pub(crate) struct About {
    operation: &'static str,
    attempts: u32,
    client_request_id: String,
    /// Whether some attempt before the last one may have changed something.
    ambiguous: bool,
}

/// A failure with what the operation has to know to judge it.
#[derive(Debug)]
pub(crate) struct Failed {
    pub(crate) error: Error,
    /// Whether an attempt before the last one may have changed something: the last answer may speak of its own first success.
    pub(crate) ambiguous: bool,
}

impl From<Failed> for Error {
    fn from(failed: Failed) -> Self {
        failed.error
    }
}

impl Reply {
    /// The value of a header, if it is text.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        header_text(&self.answer.headers, name)
    }

    /// An error that was found in the answer: of a batch, or of what cannot be read.
    pub(crate) fn failed(&self, error: Error, outcome: Outcome) -> Failed {
        let About {
            operation,
            attempts,
            client_request_id,
            ambiguous,
        } = &self.about;
        let outcome = if *ambiguous {
            Outcome::MayHaveHappened
        } else {
            outcome
        };
        let error = error
            .of_attempt(
                operation,
                *attempts,
                client_request_id,
                self.header("x-ms-request-id"),
            )
            .with_outcome(outcome);
        Failed {
            error,
            ambiguous: *ambiguous,
        }
    }
}

/// What an observer is told besides the error and the decision.
#[derive(Default)]
struct Seen {
    request_id: Option<String>,
    busy_reason: Option<String>,
    status: Option<u16>,
    received_bytes: usize,
}

impl Pipeline {
    pub(crate) fn new(
        protocol: &'static Protocol,
        endpoint: Endpoint,
        secondary: Endpoint,
        credential: Credential,
        options: ClientOptions,
    ) -> Result<Arc<Self>, Error> {
        let plain = !endpoint.is_https() && !endpoint.is_loopback();
        if matches!(credential, Credential::Token(_)) && plain {
            let message = "bearer tokens are sent over HTTPS only, but to this machine";
            return Err(Error::new(ErrorKind::Credential, message));
        }
        let tls = endpoint.is_https() || secondary.is_https();
        let application = options.application.as_str();
        let blank = if application.is_empty() { "" } else { " " };
        let agent = format!(
            "{application}{blank}partita-client/{}",
            env!("CARGO_PKG_VERSION")
        );
        Ok(Arc::new(Self {
            user_agent: HeaderValue::from_str(&agent)
                .map_err(|_| Error::input("the application's name cannot stand in a header"))?,
            transport: Transport::new(&options, tls)?,
            bucket: Bucket::new(options.retry_budget),
            was_connected: AtomicBool::new(false),
            protocol,
            endpoint,
            secondary,
            credential,
            options,
        }))
    }

    /// Sends a request until it succeeds, or is given up. Dropped halfway, a write may have happened. Boxed, so that whoever awaits it
    /// compiles no HTTP client of its own.
    pub(crate) fn send<'a>(&'a self, request: &'a Request) -> BoxFuture<'a, Result<Reply, Failed>> {
        let span = tracing::debug_span!(
            "table_request",
            operation = request.operation,
            path = request.path
        );
        Box::pin(self.attempts(request).instrument(span))
    }

    async fn attempts(&self, request: &Request) -> Result<Reply, Failed> {
        let begun = Instant::now();
        let mut ambiguous = false;
        for attempt in 1_u32.. {
            let attempt_begun = Instant::now();
            let id = Guid(fastrand::u128(..).to_be_bytes()).to_string();
            let (outcome, seen) = self.attempt(request, &id, begun).await;
            let result = outcome.map_err(|failed| {
                let error = failed.error.of_attempt(
                    request.operation,
                    attempt,
                    &id,
                    seen.request_id.as_deref(),
                );
                let error = settled(error, request.is_write, ambiguous);
                (error, failed.reason)
            });
            let decision = match &result {
                Ok(_) => Decision::Done,
                Err((error, reason)) => self.decide(attempt, error, *reason, begun),
            };
            let error = result.as_ref().err().map(|(error, _)| error);
            self.observe(&AttemptEvent {
                operation: request.operation,
                attempt,
                client_request_id: &id,
                request_id: seen.request_id.as_deref(),
                took: attempt_begun.elapsed(),
                status: seen.status,
                bytes: (request.body.len(), seen.received_bytes),
                busy_reason: seen.busy_reason.as_deref(),
                error,
                decision,
            });
            match (result, decision) {
                (Ok(answer), _) => {
                    if attempt == 1 {
                        self.bucket.refill();
                    }
                    let about = About {
                        operation: request.operation,
                        attempts: attempt,
                        client_request_id: id,
                        ambiguous,
                    };
                    return Ok(Reply { answer, about });
                }
                (Err((error, _)), Decision::Retry { wait, .. }) => {
                    ambiguous = error.outcome() == Outcome::MayHaveHappened;
                    tokio::time::sleep(wait).await;
                }
                (Err((error, _)), _) => return Err(Failed { error, ambiguous }),
            }
        }
        unreachable!("there are fewer attempts than numbers for them")
    }

    /// One attempt, within its time.
    async fn attempt(
        &self,
        request: &Request,
        id: &str,
        begun: Instant,
    ) -> (Result<Answer, AttemptError>, Seen) {
        let signed = match self.signed(request, id).await {
            Ok(signed) => signed,
            Err(error) => {
                return (
                    Err(AttemptError {
                        error,
                        reason: None,
                    }),
                    Seen::default(),
                );
            }
        };
        let left = self
            .options
            .operation_timeout
            .map(|all| all.saturating_sub(begun.elapsed()));
        let limit = self
            .options
            .attempt_timeout
            .min(left.unwrap_or(Duration::MAX));
        let sent = tokio::time::timeout(limit, self.transport.send(signed)).await;
        if !matches!(
            &sent,
            Err(_)
                | Ok(Err(SendError {
                    kind: ErrorKind::Connect,
                    ..
                }))
        ) {
            self.was_connected.store(true, Ordering::Relaxed);
        }
        let answer = match sent {
            Err(_) => {
                let message = format!("no answer within {} ms", limit.as_millis());
                let error =
                    Error::new(ErrorKind::TimedOut, message).with_outcome(Outcome::MayHaveHappened);
                let reason = Some(RetryReason::TimedOut);
                return (Err(AttemptError { error, reason }), Seen::default());
            }
            Ok(Err(error)) => return (Err(not_answered(error)), Seen::default()),
            Ok(Ok(answer)) => answer,
        };
        let seen = Seen {
            request_id: header_text(&answer.headers, "x-ms-request-id").map(str::to_owned),
            busy_reason: header_text(&answer.headers, "x-partita-reason").map(str::to_owned),
            status: Some(answer.status),
            received_bytes: answer.body.len(),
        };
        (judged(request, answer), seen)
    }

    fn decide(
        &self,
        attempt: u32,
        error: &Error,
        reason: Option<RetryReason>,
        begun: Instant,
    ) -> Decision {
        let Some(reason) = reason else {
            return Decision::GiveUp(GiveUp::NotRetried);
        };
        let policy = self.options.retry;
        if attempt > policy.retries() {
            return Decision::GiveUp(GiveUp::AttemptsUsedUp);
        }
        let asked = error.retry_after();
        if asked.is_some_and(|wait| wait > self.options.retry_after_max) {
            return Decision::GiveUp(GiveUp::AskedTooLong);
        }
        let wait = asked.unwrap_or_else(|| policy.random_wait(attempt));
        let is_not_there =
            error.kind() == ErrorKind::Connect && !self.was_connected.load(Ordering::Relaxed);
        let first = self.options.first_connection_timeout;
        let limits = [
            self.options.operation_timeout,
            first.filter(|_| is_not_there),
        ];
        let ends = begun.elapsed() + wait;
        if limits.into_iter().flatten().any(|limit| ends >= limit) {
            return Decision::GiveUp(GiveUp::OutOfTime);
        }
        if !self.bucket.take() {
            return Decision::GiveUp(GiveUp::BudgetUsedUp);
        }
        Decision::Retry {
            reason,
            wait,
            asked: asked.is_some(),
        }
    }

    fn observe(&self, event: &AttemptEvent<'_>) {
        let AttemptEvent {
            attempt,
            client_request_id,
            request_id,
            status,
            took,
            decision,
            ..
        } = *event;
        let took_ms = took.as_millis();
        match event.error {
            None => tracing::debug!(
                attempt,
                client_request_id,
                request_id,
                status,
                took_ms,
                "answered"
            ),
            Some(error) => {
                tracing::debug!(attempt, client_request_id, request_id, status, took_ms, %error, ?decision, "failed");
            }
        }
        if let Some(observer) = &self.options.observer {
            observer.attempt(event);
        }
    }
}
