//! Makes the attempts of a request: sign, send, judge, wait.
//!
//! ```text
//! attempt 1 ── 2xx ─────────────────────────────────────────▶ answer
//!           ── 4xx, 501, 505 ───────────────────────────────▶ error
//!           ── broken, timeout, 408 429 500 502 503 504
//!                 └─ attempts left? a token in the budget? time left? ── no ──▶ error
//!                        └─ wait: Retry-After, else the policy's ── attempt 2 …
//! ```
//! The client retries here and nowhere else. (The connection pool may send a request on a second connection if the
//! first one closed before a byte of it was written.)

mod direct;
mod judge;
mod service_operations;
mod sign;
mod time_limit;

pub(crate) use judge::refused;
pub(crate) use sign::{Protocol, Unsigned};

use crate::error::Attempts;
use crate::observer::{AttemptEvent, Decision, GiveUp};
use crate::owners::Owners;
use crate::request::Request;
use crate::retry::{Bucket, DURATION_MAX, requested_wait};
use crate::transport::{Answer, Transport, header_text};
use crate::{ClientOptions, ConnectionString, Credential, Error, ErrorKind, Outcome};
use bytes::Bytes;
use direct::Direct;
use futures::future::BoxFuture;
use http::header::{HeaderMap, HeaderValue};
use judge::{FailedAttempt, judge, retry_reason};
use partita_model::Guid;
use partita_wire::ASKS_FOR_OWNER;
use partita_wire::AccountKey;
use sign::{Recipient, check_transport};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use time_limit::TimeLimit;
use tracing::Instrument as _;

/// The state that a service client, its clones and its table clients share.
pub(crate) struct Pipeline {
    protocol: &'static Protocol,
    pub(crate) account: ConnectionString,
    pub(crate) options: ClientOptions,
    user_agent: HeaderValue,
    transport: Transport,
    bucket: Bucket,
    /// The servers that have the data, if the options allow it.
    owners: Owners,
    /// Whether a connection has succeeded: an attempt ended otherwise than by a failed connection or a timeout.
    was_connected: AtomicBool,
}

/// An answer with a status below 300.
#[derive(Debug)]
pub(crate) struct Reply {
    answer: Answer,
    attempts: Attempts,
}

impl Reply {
    /// The value of a header; `None` if it is absent or not visible ASCII.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        header_text(self.answer.headers(), name)
    }

    /// All headers.
    pub(crate) fn headers(&self) -> &HeaderMap {
        self.answer.headers()
    }

    /// The status, below 300.
    pub(crate) fn status(&self) -> u16 {
        self.answer.status().as_u16()
    }

    /// The body of the answer.
    pub(crate) fn body(&self) -> &Bytes {
        self.answer.body()
    }

    /// The error of a request whose answer cannot be used because of `error`: adds the attempts and the outcome. After
    /// an ambiguous attempt the outcome is [`Outcome::MayHaveHappened`].
    pub(crate) fn failed(&self, error: Error, outcome: Outcome) -> Error {
        let outcome = match self.attempts.ambiguous {
            true => Outcome::MayHaveHappened,
            false => outcome,
        };
        error.after(self.attempts.clone(), outcome)
    }

    /// The error of a read whose answer cannot be decoded.
    pub(crate) fn unreadable(
        &self,
        source: impl std::error::Error + Send + Sync + 'static,
    ) -> Error {
        self.failed(Error::unreadable(source), Outcome::DidNotHappen)
    }
}

impl Pipeline {
    pub(crate) fn new(
        protocol: &'static Protocol,
        account: ConnectionString,
        options: ClientOptions,
    ) -> Result<Arc<Self>, Error> {
        let endpoint = &account.endpoint;
        check_transport(endpoint, &account.credential.current())?;
        let options = options.clamped();
        let tls = endpoint.is_https() || account.secondary.is_https();
        let own = concat!("partita-client/", env!("CARGO_PKG_VERSION"));
        let agent = format!("{} {own}", options.application);
        Ok(Arc::new(Self {
            user_agent: HeaderValue::from_str(agent.trim_start_matches(' '))
                .map_err(|error| Error::input("invalid application name").caused_by(error))?,
            transport: Transport::new(&options, tls)?,
            bucket: Bucket::new(options.retry_budget),
            owners: Owners::default(),
            was_connected: AtomicBool::new(false),
            protocol,
            account,
            options,
        }))
    }

    /// The longest time that a server may wait before it answers, such that the answer arrives in time: half of the
    /// shortest timeout.
    pub(crate) fn server_wait_max(&self) -> Duration {
        let options = &self.options;
        let operation = options.operation_timeout.unwrap_or(Duration::MAX);
        options.attempt_timeout.min(operation) / 2
    }

    /// The account's name and key, to make shared access signatures.
    pub(crate) fn shared_key(&self) -> Result<(String, AccountKey), Error> {
        match self.account.credential.current().into_owned() {
            Credential::SharedKey { account, key } => Ok((account, key)),
            _ => Err(Error::new(
                ErrorKind::Credential,
                "a shared access signature needs a shared key",
            )),
        }
    }

    /// Sends a request until it succeeds or the client gives up. Cancellation: a write may have happened. The future is
    /// boxed, so that its callers do not each compile an HTTP client.
    pub(crate) fn send<'a>(&'a self, request: &'a Request) -> BoxFuture<'a, Result<Reply, Error>> {
        let span = tracing::debug_span!(
            "storage_request",
            operation = request.operation,
            path = request.path
        );
        Box::pin(self.attempts(request).instrument(span))
    }

    async fn attempts(&self, request: &Request) -> Result<Reply, Error> {
        let begun = Instant::now();
        let subject: Arc<str> = request.subject().into();
        let mut ambiguous = false;
        for attempt in 1_u32.. {
            let attempt_begun = Instant::now();
            let id = Guid(fastrand::u128(..).to_be_bytes()).to_string();
            let result = self.attempt(request, &id, begun).await;
            let request_id = header_of(&result, "x-ms-request-id");
            let attempts = Attempts {
                operation: request.operation,
                subject: Arc::clone(&subject),
                count: attempt,
                request_id: request_id.map(str::to_owned),
                client_request_id: id,
                ambiguous,
            };
            let settle = |failed: FailedAttempt| failed.settle(request, attempts.clone());
            let result = result.map_err(settle);
            let error = result.as_ref().err().map(|failed| &failed.error);
            let decision = error.map_or(Decision::Done, |error| self.decide(attempt, error, begun));
            let answer = answer_of(&result);
            self.observe(&AttemptEvent {
                operation: request.operation,
                attempt,
                client_request_id: &attempts.client_request_id,
                request_id: attempts.request_id.as_deref(),
                took: attempt_begun.elapsed(),
                status: answer.map(|answer| answer.status().as_u16()),
                bytes: (
                    request.body.len(),
                    answer.map_or(0, |answer| answer.body().len()),
                ),
                busy_reason: header_of(&result, "x-partita-reason"),
                error,
                decision,
            });
            match (result, decision) {
                (Ok(answer), _) => {
                    if attempt == 1 {
                        self.bucket.refill();
                    }
                    return Ok(Reply { answer, attempts });
                }
                (Err(FailedAttempt { error, .. }), Decision::Retry { wait, .. }) => {
                    ambiguous = error.outcome() == Outcome::MayHaveHappened;
                    tokio::time::sleep(wait).await;
                }
                (Err(FailedAttempt { error, .. }), _) => return Err(error),
            }
        }
        unreachable!("a policy allows fewer attempts than u32::MAX")
    }

    /// Makes one attempt, bounded by the attempt's and the operation's timeouts.
    async fn attempt(
        &self,
        request: &Request,
        id: &str,
        begun: Instant,
    ) -> Result<Answer, FailedAttempt> {
        if let Some(owner) = self.owner_of(request).await
            && let Direct::Ended(result) = self.attempt_at(&owner, request, id, begun).await
        {
            return result;
        }
        let recipient = Recipient {
            endpoint: match request.secondary {
                true => &self.account.secondary,
                false => &self.account.endpoint,
            },
            owner: self.asks_owner(request).then_some(ASKS_FOR_OWNER),
        };
        let signed = self.signed(request, recipient, id).await?;
        let limit = TimeLimit::of(&self.options, begun.elapsed());
        let sent = tokio::time::timeout(limit.left, self.transport.send(signed)).await;
        let sent = sent.unwrap_or_else(|_| Err(limit.error()));
        let kind = sent.as_ref().err().map(Error::kind);
        if !matches!(kind, Some(ErrorKind::Connect | ErrorKind::TimedOut)) {
            self.was_connected.store(true, Ordering::Relaxed);
        }
        let answer = sent?;
        self.learn(request, &answer);
        judge(request, answer)
    }

    fn decide(&self, attempt: u32, error: &Error, begun: Instant) -> Decision {
        let options = &self.options;
        let asked = error.retry_after();
        let wait = match asked {
            Some(asked) => requested_wait(asked, options.retry_after_min, fastrand::f64()),
            None => options
                .retry
                .wait(attempt, fastrand::f64())
                .min(DURATION_MAX),
        };
        let ends = begun.elapsed().saturating_add(wait);
        let never_connected =
            error.kind() == ErrorKind::Connect && !self.was_connected.load(Ordering::Relaxed);
        let limits = [
            options.operation_timeout,
            options.first_connection_timeout.filter(|_| never_connected),
        ];
        Decision::GiveUp(match retry_reason(error) {
            None => GiveUp::NotRetried,
            Some(_) if attempt > options.retry.retries() => GiveUp::AttemptsUsedUp,
            Some(_) if asked.is_some_and(|wait| wait > options.retry_after_max) => {
                GiveUp::AskedTooLong
            }
            Some(_) if limits.into_iter().flatten().any(|limit| ends >= limit) => GiveUp::OutOfTime,
            Some(_) if !self.bucket.take() => GiveUp::BudgetUsedUp,
            Some(reason) => {
                return Decision::Retry {
                    reason,
                    wait,
                    asked: asked.is_some(),
                };
            }
        })
    }

    fn observe(&self, event: &AttemptEvent<'_>) {
        tracing::debug!(
            attempt = event.attempt,
            client_request_id = event.client_request_id,
            request_id = event.request_id,
            status = event.status,
            took_ms = event.took.as_millis(),
            error = event.error.map(tracing::field::display),
            decision = ?event.decision,
            "attempt ended"
        );
        if let Some(observer) = &self.options.observer {
            observer.attempt(event);
        }
    }
}

impl fmt::Debug for Pipeline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {:?}", self.account.endpoint, self.account.credential)
    }
}

/// The answer of an attempt, of any status.
fn answer_of(result: &Result<Answer, FailedAttempt>) -> Option<&Answer> {
    match result {
        Ok(answer) => Some(answer),
        Err(failed) => failed.answer.as_deref(),
    }
}

fn header_of<'r>(result: &'r Result<Answer, FailedAttempt>, name: &str) -> Option<&'r str> {
    header_text(answer_of(result)?.headers(), name)
}
