//! Cross-origin requests: the answer to a preflight, and the headers that CORS rules add to other answers.

use super::reply::Reply;
use super::request_head::RequestHead;
use hyper::{Method, StatusCode, header};
use partita_model::CorsRule;
use partita_service::Account;
use partita_wire::{
    AccountKeys, CorsGrant, ErrorCode, Failure, Preflight, Target, varies_by_origin,
};

/// The account whose rules answer a preflight, which has no credentials.
pub(super) fn account<'r>(
    head: &RequestHead<'r>,
    target: &Target<'_>,
) -> Result<&'r Account<AccountKeys>, Failure> {
    let account = head.front.parts.accounts.get(&target.account);
    account.ok_or_else(|| ErrorCode::CorsPreflightFailure.into())
}

/// The answer to a preflight request by the service's rules.
pub(super) fn preflight(head: &RequestHead<'_>, rules: &[CorsRule]) -> Result<Reply, Failure> {
    let preflight = Preflight {
        origin: head.header(&header::ORIGIN),
        method: head.header(&header::ACCESS_CONTROL_REQUEST_METHOD),
        headers: head.header(&header::ACCESS_CONTROL_REQUEST_HEADERS),
    };
    let grant = preflight.grant(rules)?;
    let mut reply = Reply::new(StatusCode::OK)
        .header(header::ACCESS_CONTROL_ALLOW_ORIGIN, grant.allow_origin)
        .header(header::ACCESS_CONTROL_ALLOW_METHODS, grant.allow_methods)
        .header(
            header::ACCESS_CONTROL_MAX_AGE,
            &grant.max_age_seconds.to_string(),
        );
    if let Some(headers) = grant.allow_headers {
        reply = reply.header(header::ACCESS_CONTROL_ALLOW_HEADERS, headers);
    }
    if grant.allow_credentials {
        reply = reply.header(header::ACCESS_CONTROL_ALLOW_CREDENTIALS, "true");
    }
    Ok(reply)
}

/// Adds the headers that the rules grant to the origin of a request; without a matching rule, at most `Vary`.
pub(super) fn add_headers(
    head: &RequestHead<'_>,
    rules: &[CorsRule],
    origin: &str,
    mut reply: Reply,
) -> Reply {
    let method = &head.parts.method;
    let grant = CorsGrant::of(rules, origin, method.as_str());
    let is_read = matches!(*method, Method::GET | Method::HEAD);
    if is_read && varies_by_origin(rules, grant.as_ref()) {
        reply = reply.header(header::VARY, "Origin");
    }
    let Some(grant) = grant else { return reply };
    let names: Vec<String> = reply
        .headers
        .keys()
        .map(|name| name.as_str().to_owned())
        .collect();
    if let Some(exposed) = grant.expose_headers(names.iter().map(String::as_str)) {
        reply = reply.header(header::ACCESS_CONTROL_EXPOSE_HEADERS, &exposed);
    }
    if grant.allow_credentials {
        reply = reply.header(header::ACCESS_CONTROL_ALLOW_CREDENTIALS, "true");
    }
    reply.header(header::ACCESS_CONTROL_ALLOW_ORIGIN, grant.allow_origin)
}
