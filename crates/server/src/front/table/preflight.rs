//! Preflight Table Request, and the CORS headers of other answers.

use super::super::cors;
use super::super::reply::Reply;
use super::call::{AuthorizedRequest, Call};
use super::failure;
use partita_wire::{ErrorCode, Failure, Target};

/// Anonymous: it tells the caller the account's CORS rules and nothing else.
pub(super) async fn run(call: &Call<'_>, target: &Target<'_>) -> Result<Reply, Failure> {
    let accounts = call.head.front.accounts();
    let account = accounts
        .get(&target.account)
        .ok_or(ErrorCode::CorsPreflightFailure)?;
    let properties = call.service().service_properties(&account.name).await;
    let properties = properties.map_err(failure::failure)?;
    cors::preflight(&call.head, &properties.cors)
}

/// Adds the headers that the account's rules grant to the origin.
pub(super) async fn add_headers(
    call: &Call<'_>,
    request: &AuthorizedRequest<'_>,
    origin: &str,
    reply: Reply,
) -> Reply {
    let account = &request.account.name;
    match call.service().service_properties(account).await {
        Ok(properties) => cors::add_headers(&call.head, &properties.cors, origin, reply),
        Err(_) => reply,
    }
}
