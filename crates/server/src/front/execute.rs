//! The steps of a request that the server with its data takes, for its own clients and for other servers.

use super::busy::busy;
use super::cors;
use super::protocol::{AuthorizedFor, Exchange, Outcome};
use super::refused::{Refused, not_served};
use super::reply::Reply;
use crate::forwarding::GATE_PATIENCE;
use hyper::header;
use partita_service::Account;
use partita_wire::{AccountKeys, ErrorCode, ServiceOperation as _};
use std::time::Instant;
use tokio::time::error::Elapsed;

/// How far a request has come.
#[derive(Debug)]
pub(super) struct Stage {
    /// Bytes of the body; 0 until it is read.
    pub(super) bytes_in: u64,
    /// Whether the service was called, here or by another server. From then on a write can happen.
    pub(super) is_executing: bool,
    /// Whether the operation can change data; known once it is executed here.
    is_write: bool,
    /// When its time is over.
    pub(super) deadline: Instant,
}

impl Stage {
    /// The beginning of a request whose time is over at `deadline`.
    pub(super) const fn until(deadline: Instant) -> Self {
        Self {
            bytes_in: 0,
            is_executing: false,
            is_write: false,
            deadline,
        }
    }
}

/// Performs the operation, and adds the headers for a cross-origin request.
pub(super) async fn execute<'r, E: Exchange<'r>>(
    call: &E,
    account: &Account<AccountKeys>,
    request: &AuthorizedFor<'r, E>,
    stage: &mut Stage,
) -> Outcome {
    stage.is_executing = true;
    stage.is_write = request.operation.is_write();
    let mut reply = call.run(request).await;
    if let Ok(done) = &mut reply
        && !stage.is_write
        && let Err(refused) = done.body.reserve(&call.head().front.parts.memory)
    {
        reply = Err(busy(&refused).into());
    }
    match call.head().header(&header::ORIGIN) {
        Some(origin) => {
            let reply = reply.unwrap_or_else(|Refused(failure)| call.refuse(&failure));
            let Ok(properties) = call.properties() else {
                return Ok(reply);
            };
            Ok(match properties.get(&account.name).await {
                Ok(properties) => cors::add_headers(call.head(), &properties.cors, origin, reply),
                Err(_) => reply,
            })
        }
        None => reply,
    }
}

/// Passes the answer through the gate of the tenure that it was made in, after the work. Behind a closed gate, another
/// server may have changed the data since, so the answer may be wrong. An embedded server has no gate.
pub(super) async fn pass_gate<'r, E: Exchange<'r>>(
    call: &E,
    stage: &Stage,
    outcome: Outcome,
) -> Outcome {
    let Some(hosted) = &call.head().hosted else {
        return outcome;
    };
    let code = match &outcome {
        Ok(reply) => reply.code,
        Err(Refused(failure)) => Some(failure.code),
    };
    // These are true whatever another server has done.
    let says_nothing = matches!(
        code,
        Some(ErrorCode::ServerBusy | ErrorCode::OperationTimedOut)
    );
    if says_nothing || hosted.gate.is_open() || hosted.gate.opened(GATE_PATIENCE).await {
        return outcome;
    }
    Err(match code {
        None if stage.is_write => ErrorCode::OperationTimedOut.into(),
        _ => not_served().into(),
    })
}

/// The complete reply to a request that was handled, or whose time is over.
pub(super) fn finish<'r, E: Exchange<'r>>(
    call: &E,
    stage: &Stage,
    handled: Result<Outcome, Elapsed>,
) -> Reply {
    let reply = match handled {
        Ok(Ok(reply)) => reply,
        Ok(Err(Refused(failure))) => call.refuse(&failure),
        // The operation may still complete, so its outcome is unknown.
        Err(_elapsed) if stage.is_executing => call.refuse(&ErrorCode::OperationTimedOut.into()),
        // The operation did not start, most often because the body did not arrive in time.
        Err(_elapsed) => call.refuse(&ErrorCode::ServerBusy.into()),
    };
    let mut reply = match reply.is_passed_on {
        true => reply,
        false => call.complete(reply),
    };
    // An executed write has happened, so its answer must not be refused.
    reply
        .body
        .reserve_beyond_limit(&call.head().front.parts.memory);
    reply
}
