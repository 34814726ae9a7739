//! One request, from its head to its answer.

use super::Front;
use super::authenticate::authenticate;
use super::body::RequestBody;
use super::context::{Asked, Call};
use super::progress::Progress;
use super::reply::{CONTENT_MD5, PREFER, Reply, X_HTTP_METHOD, X_MS_VERSION};
use super::table;
use crate::logging::REQUESTS;
use crate::metrics::Answered;
use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::header::{self, HeaderValue};
use hyper::{Request, Response};
use partita_wire::table::{MetadataLevel, Operation, Prefer, Resource, tunnelled_method};
use partita_wire::{ErrorCode, Failure, Method, Query, Target, Version, check_content_md5};
use std::net::IpAddr;
use std::time::Duration;

impl Front {
    /// Answers a request. Dropped halfway (the client has gone), a write that has begun goes on.
    pub(super) async fn answer(
        &self,
        request: Request<Incoming>,
        peer: Option<IpAddr>,
        progress: &Progress,
    ) -> Response<Full<Bytes>> {
        let began = self.clock().monotonic();
        let _in_flight = self.metrics().in_flight();
        let (head, body) = request.into_parts();
        let mut body = RequestBody::new(body, &head, progress, self.limits().body_bytes_max);
        let mut call = Call::new(self, &head, peer);
        let handling = tokio::time::timeout(time_allowed(&call), handle(&mut call, &mut body));
        let reply = match handling.await {
            Ok(Ok(reply)) => reply,
            Ok(Err(failure)) => call.refuse(&failure),
            // It may have been done: the time ran out, not the work.
            Err(_elapsed) if call.is_executing => call.refuse(&ErrorCode::OperationTimedOut.into()),
            // The body never came whole: nothing was done.
            Err(_elapsed) => call.refuse(&ErrorCode::ServerBusy.into()),
        };
        let reply = call.complete(reply);
        let answered = Answered {
            operation: call.operation,
            status: reply.status.as_u16(),
            code: reply.code,
            busy: reply.busy,
            latency: self.clock().monotonic() - began,
            bytes_in: call.bytes_in,
            bytes_out: reply.body.len() as u64,
            entities_out: reply.entities,
        };
        self.metrics().request(&answered);
        log(&call, &answered);
        body.skip().await;
        let mut response = Response::new(Full::new(reply.body));
        *response.status_mut() = reply.status;
        *response.headers_mut() = reply.headers;
        response
    }
}

/// The server's bound, or the client's, if it is shorter. One that cannot be is refused later, once it is known who asks.
fn time_allowed(call: &Call<'_>) -> Duration {
    let query = Query::new(call.head.uri.query().unwrap_or_default());
    let asked = query.timeout_seconds().ok().flatten();
    let bound = call.front.limits().request_timeout;
    asked.map_or(bound, |seconds| {
        bound.min(Duration::from_secs(u64::from(seconds)))
    })
}

/// One line a request, for who asked for it, and one for each that the server failed: names and figures only. What was not
/// executed has its line from where that was decided.
fn log(call: &Call<'_>, answered: &Answered) {
    let is_expected = answered.code == Some(ErrorCode::NotImplemented) || answered.busy.is_some();
    if answered.status >= 500 && !is_expected {
        tracing::warn!(
            request_id = &*call.request_id,
            operation = call.operation.map(Operation::name),
            code = answered.code.map(ErrorCode::name),
            "a request failed"
        );
    }
    tracing::debug!(
        target: REQUESTS,
        request_id = &*call.request_id,
        client_request_id = call.header(&super::reply::X_MS_CLIENT_REQUEST_ID),
        method = call.head.method.as_str(),
        path = call.head.uri.path(),
        operation = call.operation.map(Operation::name),
        status = answered.status,
        code = answered.code.map(ErrorCode::name),
        latency_us = answered.latency.as_micros() as u64,
        bytes_in = answered.bytes_in,
        bytes_out = answered.bytes_out,
        "request answered"
    );
}

async fn handle(call: &mut Call<'_>, body: &mut RequestBody<'_>) -> Result<Reply, Failure> {
    let target = target(call)?;
    learn_version(call, &target)?;
    let method = Method::parse(call.head.method.as_str())?;
    if method == Method::Options {
        call.operation = Some(Operation::Preflight);
        return table::preflight::run(call, &target).await;
    }
    let asked = authorize(call, target, method).await?;
    let body = if has_body(method) {
        let body = body.read().await?;
        check_content_md5(call.header(&CONTENT_MD5).unwrap_or_default(), &body)?;
        body
    } else {
        Bytes::new()
    };
    call.bytes_in = body.len() as u64;
    call.is_executing = true;
    let reply = table::run(call, &asked, body).await;
    match call.header(&header::ORIGIN) {
        Some(origin) => {
            let reply = reply.unwrap_or_else(|failure| call.refuse(&failure));
            Ok(table::preflight::add_headers(call, &asked, origin, reply).await)
        }
        None => reply,
    }
}

fn target<'r>(call: &Call<'r>) -> Result<Target<'r>, Failure> {
    let uri = &call.head.uri;
    let path = uri.path_and_query().map_or("/", |path| path.as_str());
    let host = uri
        .authority()
        .map(|authority| authority.as_str())
        .or_else(|| call.header(&header::HOST));
    let accounts = call.front.accounts();
    Target::parse(path, host, call.front.hosts(), |name| accounts.has(name))
}

/// The header's version, or for shared access signatures that of the query.
fn learn_version(call: &mut Call<'_>, target: &Target<'_>) -> Result<(), Failure> {
    if let Some(value) = call.head.headers.get(&X_MS_VERSION) {
        call.version_text = Some(value.clone());
        call.version = Some(Version::parse_header(value.to_str().unwrap_or_default())?);
        return Ok(());
    }
    for name in ["api-version", "sv"] {
        if let Some(text) = target.query.get(name)? {
            call.version = Version::parse(&text);
            call.version_text = call.version.and_then(|_| HeaderValue::from_str(&text).ok());
            return Ok(());
        }
    }
    Ok(())
}

/// What is asked, by whom, and whether they may.
async fn authorize<'r>(
    call: &mut Call<'r>,
    target: Target<'r>,
    sent: Method,
) -> Result<Asked<'r>, Failure> {
    let (account, access) = authenticate(call, &target).await?;
    target.query.timeout_seconds()?;
    let resource = Resource::of(&target)?;
    let tunnelled = call.head.headers.get_all(&X_HTTP_METHOD).iter();
    // One that cannot be read is no verb: left out, the request would run as the POST that it is not.
    let method = tunnelled_method(
        sent,
        tunnelled.map(|value| value.to_str().unwrap_or_default()),
    )?;
    let if_match = call.if_match();
    let has_if_match = !matches!(if_match, Ok(None));
    let operation = Operation::of(&target, method, &resource, has_if_match)?;
    call.operation = Some(operation);
    access.check(operation, resource.table())?;
    let if_match = if_match?;
    if !operation.answers_xml() {
        call.prefer = call.header(&PREFER).and_then(Prefer::parse);
        let format = target.query.get("$format")?;
        let version = call.version.unwrap_or(Version::CLIENT_REQUEST_ID);
        // A batch is multipart whatever Accept says; its parts have their own.
        if operation != Operation::EntityGroupTransaction {
            call.level =
                MetadataLevel::choose(call.header(&header::ACCEPT), format.as_deref(), version)?;
        }
    }
    Ok(Asked {
        target,
        account,
        access,
        resource,
        operation,
        if_match,
    })
}

const fn has_body(method: Method) -> bool {
    matches!(
        method,
        Method::Post | Method::Put | Method::Merge | Method::Patch
    )
}
