//! One request of a client, from its head to its answer: the steps that all protocols share, in their order.

use super::answer_body::AnswerBody;
use super::authenticate::authenticate;
use super::body::{BodyEnd, RequestBody};
use super::execute::{Stage, execute, finish, pass_gate};
use super::forward::{self, Resolved};
use super::owner_hint;
use super::protocol::{Exchange, Outcome, Protocol};
use super::reply::{CONTENT_MD5, X_MS_CLIENT_REQUEST_ID};
use super::request_head::{Client, RequestHead};
use crate::connections::Progress;
use crate::logging::REQUESTS;
use crate::metrics::Answered;
use bytes::Bytes;
use hyper::body::Incoming;
use hyper::{Request, Response};
use partita_wire::{ErrorCode, Failure, Method, check_content_md5};

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
    let time_limit = call.head().time_limit();
    let mut stage = Stage::until(began + time_limit);
    let handling = async {
        let outcome = handle(&mut call, &mut body, &mut stage).await;
        pass_gate(&call, &stage, outcome).await
    };
    let handled = tokio::time::timeout(time_limit, handling).await;
    let mut reply = finish(&call, &stage, handled);
    owner_hint::add::<P::Exchange<'_>>(call.head(), &mut reply);
    let answered = Answered {
        operation: call.operation(),
        status: reply.status.as_u16(),
        code: reply.code,
        busy: reply.busy,
        latency: front.parts.clock.monotonic() - began,
        bytes_in: stage.bytes_in,
        bytes_out: reply.body.len(),
        entities_out: reply.entities,
    };
    front.parts.metrics.request(&answered);
    log(call.head(), &answered, reply.is_passed_on);
    if body.end().await == BodyEnd::Unread {
        reply.close();
    }
    reply.into_response()
}

/// Logs each request at level debug, and a failure of the server at level warn: names and numbers only. Requests that
/// were not executed are logged where they are refused.
fn log(head: &RequestHead<'_>, answered: &Answered, was_forwarded: bool) {
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
        forwarded = was_forwarded,
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
    owner_hint::check(call.head())?;
    let method = Method::parse(call.head().parts.method.as_str())?;
    let front = call.head().front;
    let membership = front.parts.membership.as_deref();
    if method == Method::Options {
        call.begin_preflight();
        if let Some(membership) = membership
            && let Some(reply) = forward::preflight(call, membership, &target, stage).await?
        {
            return Ok(reply);
        }
        return call.preflight(&target).await;
    }
    let (account, access) = authenticate(call, &target).await?;
    let access = match access {
        Some(access) => access,
        None => match forward::resolve(call, &target, account, stage).await? {
            Resolved::Access(access) => access,
            Resolved::Refused(reply) => return Ok(*reply),
        },
    };
    target.query.timeout_seconds()?;
    let rights = membership.map(|membership| (membership, access.rights().clone()));
    let mut request = call.authorize(target, method, account, access)?;
    if has_body(method) {
        let bytes = read_body(call.head(), body, E::body_bytes_max(&request)).await?;
        stage.bytes_in = bytes.len() as u64;
        request.body = bytes;
    }
    if let Some((membership, rights)) = rights
        && let Some(reply) = forward::request(call, membership, &request, &rights, stage).await?
    {
        return Ok(reply);
    }
    execute(call, account, &request, stage).await
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
