//! One request to the Table service, from its head to its answer.

use super::super::Protocol;
use super::super::answer_body::AnswerBody;
use super::super::body::{BodyEnd, RequestBody};
use super::super::busy::busy;
use super::super::reply::{CONTENT_MD5, X_MS_CLIENT_REQUEST_ID};
use super::super::request_head::RequestHead;
use super::authenticate::authenticate;
use super::call::{AuthorizedRequest, Call};
use super::headers::{PREFER, X_HTTP_METHOD};
use super::{Outcome, Refused, TableFront, preflight};
use crate::connections::Progress;
use crate::front::Front;
use crate::logging::REQUESTS;
use crate::metrics::Answered;
use bytes::Bytes;
use hyper::body::Incoming;
use hyper::{Request, Response, header};
use partita_wire::table::{
    MetadataLevel, Operation, Prefer, Resource, check_content_type, tunnelled_method,
};
use partita_wire::{ErrorCode, Method, Target, Version, check_content_md5};
use std::net::IpAddr;

impl Protocol for TableFront {
    fn front(&self) -> &Front {
        &self.front
    }

    async fn answer(
        &self,
        request: Request<Incoming>,
        peer: Option<IpAddr>,
        progress: &Progress,
    ) -> Response<AnswerBody> {
        let front = &self.front;
        let began = front.parts.clock.monotonic();
        let _in_flight = front.parts.metrics.in_flight();
        let (parts, body) = request.into_parts();
        let mut body = RequestBody::new(body, &parts, progress, front);
        let mut call = Call::new(self, RequestHead::new(front, &parts, peer));
        let handling = tokio::time::timeout(call.head.time_limit(), handle(&mut call, &mut body));
        let reply = match handling.await {
            Ok(Ok(reply)) => reply,
            Ok(Err(Refused(failure))) => call.refuse(&failure),
            // The operation may still complete, so its outcome is unknown.
            Err(_elapsed) if call.is_executing => call.refuse(&ErrorCode::OperationTimedOut.into()),
            // The operation did not start, most often because the body did not arrive in time.
            Err(_elapsed) => call.refuse(&ErrorCode::ServerBusy.into()),
        };
        let mut reply = call.complete(reply);
        // An executed write has happened, so its answer must not be refused.
        reply.body.reserve_beyond_limit(&front.parts.memory);
        let answered = Answered {
            operation: call.operation,
            status: reply.status.as_u16(),
            code: reply.code,
            busy: reply.busy,
            latency: front.parts.clock.monotonic() - began,
            bytes_in: call.bytes_in,
            bytes_out: reply.body.len() as u64,
            entities_out: reply.entities,
        };
        front.parts.metrics.request(&answered);
        log(&call, &answered);
        if body.end().await == BodyEnd::Unread {
            reply.close();
        }
        reply.into_response()
    }
}

/// Logs each request at level debug, and a failure of the server at level warn: names and numbers only. Requests that
/// were not executed are logged where they are refused.
fn log(call: &Call<'_>, answered: &Answered) {
    let head = &call.head;
    let is_expected = answered.code == Some(ErrorCode::NotImplemented) || answered.busy.is_some();
    if answered.status >= 500 && !is_expected {
        tracing::warn!(
            request_id = &*head.request_id,
            operation = call.operation.map(Operation::name),
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
        operation = call.operation.map(Operation::name),
        status = answered.status,
        code = answered.code.map(ErrorCode::name),
        latency_us = answered.latency.as_micros() as u64,
        bytes_in = answered.bytes_in,
        bytes_out = answered.bytes_out,
        "request answered"
    );
}

async fn handle(call: &mut Call<'_>, body: &mut RequestBody<'_>) -> Outcome {
    let target = call.head.target()?;
    call.head.read_version(&target)?;
    let method = Method::parse(call.head.parts.method.as_str())?;
    if method == Method::Options {
        call.operation = Some(Operation::Preflight);
        return preflight::run(call, &target).await;
    }
    let mut request = authorize(call, target, method).await?;
    if has_body(method) {
        request.body = body.read().await?;
        let announced = call.head.header(&CONTENT_MD5).unwrap_or_default();
        check_content_md5(announced, &request.body)?;
    }
    call.bytes_in = request.body.len() as u64;
    call.is_executing = true;
    let mut reply = super::run(call, &request).await;
    if let Ok(done) = &mut reply
        && !request.operation.is_write()
        && let Err(refused) = done.body.reserve(&call.head.front.parts.memory)
    {
        reply = Err(busy(&refused).into());
    }
    match call.head.header(&header::ORIGIN) {
        Some(origin) => {
            let reply = reply.unwrap_or_else(|Refused(failure)| call.refuse(&failure));
            Ok(preflight::add_headers(call, &request, origin, reply).await)
        }
        None => reply,
    }
}

/// Finds the operation, and checks that the caller may perform it.
async fn authorize<'r>(
    call: &mut Call<'r>,
    target: Target<'r>,
    sent: Method,
) -> Result<AuthorizedRequest<'r>, Refused> {
    let (account, access) = authenticate(call, &target).await?;
    target.query.timeout_seconds()?;
    let resource = Resource::of(&target)?;
    resource.check_table()?;
    let tunnelled = call.head.parts.headers.get_all(&X_HTTP_METHOD).iter();
    // An unreadable value is refused as an invalid verb: if it were ignored, the request would run as a POST.
    let tunnelled = tunnelled.map(|value| value.to_str().unwrap_or_default());
    let method = tunnelled_method(sent, tunnelled)?;
    let if_match = call.if_match();
    let has_if_match = !matches!(if_match, Ok(None));
    let operation = Operation::of(&target, method, &resource, has_if_match)?;
    call.operation = Some(operation);
    access.check(operation, resource.table())?;
    if matches!(operation, Operation::InsertEntity | Operation::CreateTable) {
        check_content_type(call.head.header(&header::CONTENT_TYPE))?;
    }
    let if_match = if_match?;
    if !operation.answers_xml() {
        call.prefer = call.head.header(&PREFER).and_then(Prefer::parse);
        let format = target.query.get("$format")?;
        let version = call.head.version.unwrap_or(Version::CLIENT_REQUEST_ID);
        // The answer to a batch is always multipart. Its parts have their own Accept headers.
        if operation != Operation::EntityGroupTransaction {
            let accept = call.head.header(&header::ACCEPT);
            call.level = MetadataLevel::choose(accept, format.as_deref(), version)?;
        }
    }
    Ok(AuthorizedRequest {
        target,
        account,
        access,
        resource,
        operation,
        if_match,
        body: Bytes::new(),
    })
}

const fn has_body(method: Method) -> bool {
    matches!(
        method,
        Method::Post | Method::Put | Method::Merge | Method::Patch
    )
}
