//! Preflight Table Request, and the CORS headers of other answers.

use super::super::cors;
use super::{AuthorizedRequest, Call, Outcome, Reply};
use partita_wire::{ErrorCode, Target};

/// Answers a preflight, which has no credentials: the answer depends only on the account's CORS rules.
pub(super) async fn run(call: &Call<'_>, target: &Target<'_>) -> Outcome {
    let account = call.head.front.parts.accounts.get(&target.account);
    let account = account.ok_or(ErrorCode::CorsPreflightFailure)?;
    let properties = call.service().service_properties(&account.name).await?;
    Ok(cors::preflight(&call.head, &properties.cors)?)
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
