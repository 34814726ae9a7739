//! One request, from its head to its answer: the steps that all protocols share, in their order.

use super::answer_body::AnswerBody;
use super::authenticate::authenticate;
use super::body::{BodyEnd, RequestBody};
use super::busy::busy;
use super::cors;
use super::protocol::{Exchange, Outcome, Protocol};
use super::refused::Refused;
use super::reply::{CONTENT_MD5, X_MS_CLIENT_REQUEST_ID};
use super::request_head::{Client, RequestHead};
use crate::connections::Progress;
use crate::logging::REQUESTS;
use crate::metrics::Answered;
use bytes::Bytes;
use hyper::body::Incoming;
use hyper::{Request, Response, header};
use partita_wire::{ErrorCode, Failure, Method, check_content_md5};

/// How far a request has come.
#[derive(Debug, Default)]
struct Stage {
    /// Bytes of the body; 0 until it is read.
    bytes_in: u64,
    /// Whether the service was called. From then on a write can happen.
    is_executing: bool,
}

/// Answers a request. If the future is dropped (the client has disconnected), a write that has started still completes.
pub(super) async fn answer<P: Protocol>(
    protocol: &P,
    request: Request<Incoming>,
    client: Client<'_>,
    progress: &Progress,
) -> Response<AnswerBody> {
    let front = protocol.front();
    let began = front.parts.clock.monotonic();
    let _in_flight = front.parts.metrics.in_flight();
    let (parts, body) = request.into_parts();
    let mut body = RequestBody::new(body, &parts, progress, front);
    let mut call = protocol.begin(RequestHead::new(front, &parts, client));
    let mut stage = Stage::default();
    let time_limit = call.head().time_limit();
    let handling = tokio::time::timeout(time_limit, handle(&mut call, &mut body, &mut stage));
    let reply = match handling.await {
        Ok(Ok(reply)) => reply,
        Ok(Err(Refused(failure))) => call.refuse(&failure),
        // The operation may still complete, so its outcome is unknown.
        Err(_elapsed) if stage.is_executing => call.refuse(&ErrorCode::OperationTimedOut.into()),
        // The operation did not start, most often because the body did not arrive in time.
        Err(_elapsed) => call.refuse(&ErrorCode::ServerBusy.into()),
    };
    let mut reply = call.complete(reply);
    // An executed write has happened, so its answer must not be refused.
    reply.body.reserve_beyond_limit(&front.parts.memory);
    let answered = Answered {
        operation: call.operation(),
        status: reply.status.as_u16(),
        code: reply.code,
        busy: reply.busy,
        latency: front.parts.clock.monotonic() - began,
        bytes_in: stage.bytes_in,
        bytes_out: reply.body.len() as u64,
        entities_out: reply.entities,
    };
    front.parts.metrics.request(&answered);
    log(call.head(), &answered);
    if body.end().await == BodyEnd::Unread {
        reply.close();
    }
    reply.into_response()
}

/// Logs each request at level debug, and a failure of the server at level warn: names and numbers only. Requests that
/// were not executed are logged where they are refused.
fn log(head: &RequestHead<'_>, answered: &Answered) {
    let is_expected = answered.code == Some(ErrorCode::NotImplemented) || answered.busy.is_some();
    if answered.status >= 500 && !is_expected {
        tracing::warn!(
            request_id = &*head.request_id,
            operation = answered.operation.name(),
            code = answered.code.map(ErrorCode::name),
            "a request failed"
        );
    }
    tracing::debug!(
        target: REQUESTS,
        request_id = &*head.request_id,
        client_request_id = head.header(&X_MS_CLIENT_REQUEST_ID),
        method = head.parts.method.as_str(),
        path = head.parts.uri.path(),
        operation = answered.operation.name(),
        status = answered.status,
        code = answered.code.map(ErrorCode::name),
        latency_us = answered.latency.as_micros() as u64,
        bytes_in = answered.bytes_in,
        bytes_out = answered.bytes_out,
        "request answered"
    );
}

async fn handle<'r, E: Exchange<'r>>(
    call: &mut E,
    body: &mut RequestBody<'_>,
    stage: &mut Stage,
) -> Outcome {
    let target = call.head().target()?;
    call.head_mut().read_version(&target)?;
    let method = Method::parse(call.head().parts.method.as_str())?;
    if method == Method::Options {
        return call.preflight(&target).await;
    }
    let (account, access) = authenticate(call, &target).await?;
    target.query.timeout_seconds()?;
    let mut request = call.authorize(target, method, account, access)?;
    if has_body(method) {
        let bytes = read_body(call.head(), body, E::body_bytes_max(&request)).await?;
        stage.bytes_in = bytes.len() as u64;
        E::set_body(&mut request, bytes);
    }
    stage.is_executing = true;
    let mut reply = call.run(&request).await;
    if let Ok(done) = &mut reply
        && !E::is_write(&request)
        && let Err(refused) = done.body.reserve(&call.head().front.parts.memory)
    {
        reply = Err(busy(&refused).into());
    }
    match call.head().header(&header::ORIGIN) {
        Some(origin) => {
            let reply = reply.unwrap_or_else(|Refused(failure)| call.refuse(&failure));
            Ok(match call.service_properties(&account.name).await {
                Ok(properties) => cors::add_headers(call.head(), &properties.cors, origin, reply),
                Err(_) => reply,
            })
        }
        None => reply,
    }
}

const fn has_body(method: Method) -> bool {
    matches!(
        method,
        Method::Post | Method::Put | Method::Merge | Method::Patch
    )
}

async fn read_body(
    head: &RequestHead<'_>,
    body: &mut RequestBody<'_>,
    bytes_max: Option<usize>,
) -> Result<Bytes, Failure> {
    if let Some(bytes_max) = bytes_max {
        body.limit(bytes_max);
    }
    let bytes = body.read().await?;
    let announced = head.header(&CONTENT_MD5).unwrap_or_default();
    check_content_md5(announced, &bytes)?;
    Ok(bytes)
}
