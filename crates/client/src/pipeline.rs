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

use crate::observer::{AttemptEvent, Decision, GiveUp, RetryReason};
use crate::request::Request;
use crate::retry::{Bucket, is_retried_status, outcome_of_status, retry_after};
use crate::transport::{Answer, SendError, Transport};
use crate::{ClientOptions, Credential, Endpoint, Error, ErrorKind, Outcome, clock};
use futures::future::BoxFuture;
use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use http_body_util::Full;
use partita_model::Guid;
use partita_wire::{
    ErrorBody, HttpDate, Method, Operation, Query, SignedRequest, Style, Target, read_batch_answer,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tracing::Instrument as _;

/// The version of the Table SDKs; tokens need a newer one (protocol: "Authorize access to tables using Microsoft Entra ID").
const VERSION: &str = "2019-02-02";
const VERSION_OF_TOKENS: &str = "2020-12-06";

/// What every client of an account stands on.
#[derive(Debug)]
pub(crate) struct Pipeline {
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
    operation: Operation,
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
                *operation,
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

/// One attempt that failed.
struct Attempt {
    error: Error,
    /// Why it may be tried again; `None` if never.
    reason: Option<RetryReason>,
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
            operation = request.operation.name(),
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
                let error = settled(error, request.operation, ambiguous);
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
    ) -> (Result<Answer, Attempt>, Seen) {
        let signed = match self.signed(request, id).await {
            Ok(signed) => signed,
            Err(error) => {
                return (
                    Err(Attempt {
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
                return (Err(Attempt { error, reason }), Seen::default());
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
        (judged(request.operation, answer), seen)
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

    /// The request as it is sent: dated, signed, with an id of its own.
    async fn signed(
        &self,
        request: &Request,
        id: &str,
    ) -> Result<http::Request<Full<bytes::Bytes>>, Error> {
        let endpoint = self.endpoint_of(request);
        let signature = match &self.credential {
            Credential::Sas(query) => Some(query.as_str()),
            _ => None,
        };
        let target = request.target(endpoint, signature);
        let date = HttpDate::new(clock::now());
        let version = match &self.credential {
            Credential::Token(_) => VERSION_OF_TOKENS,
            _ => VERSION,
        };
        let authorization = self.authorization(request, &target, &date).await?;
        let scheme = if endpoint.is_https() { "https" } else { "http" };
        let mut built = http::Request::new(Full::new(request.body.clone()));
        *built.method_mut() = http::Method::from_bytes(request.method.name().as_bytes())
            .map_err(|error| Error::input("the method cannot be sent").caused_by(error))?;
        *built.uri_mut() = http::Uri::builder()
            .scheme(scheme)
            .authority(endpoint.authority())
            .path_and_query(target)
            .build()
            .map_err(|error| {
                Error::input("the request's URL is longer than can be sent, or malformed")
                    .caused_by(error)
            })?;
        let headers = Headers {
            request,
            id,
            date: &date,
            version,
            authorization: authorization.as_deref(),
        };
        headers.write(self.user_agent.clone(), built.headers_mut())?;
        Ok(built)
    }

    /// The value of `Authorization`, for all credentials but a signature in the query.
    async fn authorization(
        &self,
        request: &Request,
        target: &str,
        date: &str,
    ) -> Result<Option<String>, Error> {
        let (account, key) = match &self.credential {
            Credential::Sas(_) => return Ok(None),
            Credential::Token(provider) => {
                let failed =
                    |error| Error::new(ErrorKind::Credential, "there is no token").caused_by(error);
                let token =
                    tokio::time::timeout(self.options.attempt_timeout, provider.token()).await;
                let token = token.map_err(|late| failed(late.into()))?.map_err(failed)?;
                return Ok(Some(format!("Bearer {token}")));
            }
            Credential::SharedKey { account, key } => (account, key),
        };
        let endpoint = self.endpoint_of(request);
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let target = Target {
            account: account.as_str().into(),
            secondary: request.secondary,
            style: if endpoint.path().is_empty() {
                Style::Host
            } else {
                Style::Path
            },
            host: endpoint.authority(),
            path,
            rest: path,
            query: Query::new(query),
        };
        let signed = SignedRequest {
            method: request.method.name(),
            content_md5: "",
            content_type: &request.content_type,
            date,
            target: &target,
        };
        let failed = |error| Error::input("the request cannot be signed").caused_by(error);
        signed.authorization(key, false).map(Some).map_err(failed)
    }

    fn endpoint_of(&self, request: &Request) -> &Endpoint {
        if request.secondary {
            &self.secondary
        } else {
            &self.endpoint
        }
    }
}

/// What goes into the headers of an attempt.
struct Headers<'a> {
    request: &'a Request,
    id: &'a str,
    date: &'a str,
    version: &'static str,
    authorization: Option<&'a str>,
}

impl Headers<'_> {
    fn write(&self, user_agent: HeaderValue, out: &mut HeaderMap) -> Result<(), Error> {
        let request = self.request;
        let is_json = !request.operation.answers_xml();
        let has_body = matches!(request.method, Method::Post | Method::Put | Method::Patch);
        let given = |text: &'static str, given: bool| given.then_some(text);
        out.insert(header::USER_AGENT, user_agent);
        let values: [(HeaderName, Option<&str>); 10] = [
            (HeaderName::from_static("x-ms-version"), Some(self.version)),
            (HeaderName::from_static("x-ms-date"), Some(self.date)),
            (
                HeaderName::from_static("x-ms-client-request-id"),
                Some(self.id),
            ),
            (header::ACCEPT, Some(request.accept())),
            (
                HeaderName::from_static("dataserviceversion"),
                given("3.0", is_json),
            ),
            (
                HeaderName::from_static("prefer"),
                given("return-no-content", request.quiet),
            ),
            (header::IF_MATCH, request.if_match.as_deref()),
            (
                header::CONTENT_TYPE,
                Some(request.content_type.as_str()).filter(|text| !text.is_empty()),
            ),
            // Some front ends want a length on every write, even where nothing is sent.
            (
                header::CONTENT_LENGTH,
                given("0", has_body && request.body.is_empty()),
            ),
            (header::AUTHORIZATION, self.authorization),
        ];
        for (name, value) in values {
            let Some(value) = value else { continue };
            let mut value = HeaderValue::from_str(value).map_err(|_| {
                Error::input(format!("the value of {name} cannot stand in a header"))
            })?;
            value.set_sensitive(name == header::AUTHORIZATION);
            out.insert(name, value);
        }
        Ok(())
    }
}

/// A failed read has changed nothing. What an earlier attempt has left open stays so, whatever the last one says.
fn settled(error: Error, operation: Operation, ambiguous: bool) -> Error {
    if !operation.is_write() {
        error.with_outcome(Outcome::DidNotHappen)
    } else if ambiguous {
        error.with_outcome(Outcome::MayHaveHappened)
    } else {
        error
    }
}

fn not_answered(SendError { kind, source }: SendError) -> Attempt {
    let (message, reason, outcome) = match kind {
        ErrorKind::Connect => (
            "no connection",
            Some(RetryReason::Connect),
            Outcome::DidNotHappen,
        ),
        ErrorKind::Tls => ("no trust in the server", None, Outcome::DidNotHappen),
        ErrorKind::Broken => (
            "the connection broke",
            Some(RetryReason::Broken),
            Outcome::MayHaveHappened,
        ),
        _ => ("the answer cannot be read", None, Outcome::MayHaveHappened),
    };
    let error = Error::new(kind, message)
        .with_outcome(outcome)
        .caused_by(source);
    Attempt { error, reason }
}

/// Takes an answer for a success or a failure. A batch answers 202 even for the failure of one of its operations.
fn judged(operation: Operation, answer: Answer) -> Result<Answer, Attempt> {
    if answer.status >= 300 {
        return Err(refused(answer.status, &answer.headers, &answer.body, false));
    }
    if operation != Operation::EntityGroupTransaction {
        return Ok(answer);
    }
    let content_type = header_text(&answer.headers, "content-type").unwrap_or_default();
    let Some(parts) = read_batch_answer(content_type, &answer.body) else {
        let error = Error::new(
            ErrorKind::Unreadable,
            "the answer to the batch cannot be read",
        );
        return Err(Attempt {
            error: error.with_outcome(Outcome::MayHaveHappened),
            reason: None,
        });
    };
    match parts.iter().find(|part| part.status >= 300) {
        Some(part) => Err(refused(part.status, &answer.headers, part.body, true)),
        None => Ok(answer),
    }
}

/// The error that a status of 300 or above says, with its body.
fn refused(status: u16, headers: &HeaderMap, body: &[u8], in_batch: bool) -> Attempt {
    let body = ErrorBody::read(body);
    let header = header_text(headers, "x-ms-error-code");
    let code = body
        .as_ref()
        .map(|body| body.code.as_str())
        .or(header)
        .unwrap_or_default();
    let (index, message) = match &body {
        None => (None, format!("the server answered with status {status}")),
        // The only operation's error has no index.
        Some(body) if in_batch => {
            let (index, text) = body.split_index();
            (Some(index.unwrap_or(0)), text.to_owned())
        }
        Some(body) => (None, body.message.clone()),
    };
    let reason = is_retried_status(status).then_some(RetryReason::Status(status));
    let error = Error::new(ErrorKind::Service, message)
        .answered(status, code, index)
        .with_outcome(outcome_of_status(status))
        .with_retry_after(retry_after(headers, clock::now()));
    Attempt { error, reason }
}

fn header_text<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    headers.get(name)?.to_str().ok()
}
