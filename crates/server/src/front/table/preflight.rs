//! Cross-origin requests: Preflight Table Request, and what rules add to other answers.

use super::super::context::{Asked, Call};
use super::super::reply::Reply;
use super::failure;
use hyper::{Method, StatusCode, header};
use partita_model::ServiceProperties;
use partita_wire::{CorsGrant, ErrorCode, Failure, Preflight, Target, varies_by_origin};

pub(in super::super) async fn run(call: &Call<'_>, target: &Target<'_>) -> Result<Reply, Failure> {
    // Anonymous: whoever asks learns only what the account's rules say.
    let account = call
        .front
        .accounts()
        .get(&target.account)
        .ok_or(ErrorCode::CorsPreflightFailure)?;
    let properties = call
        .front
        .service()
        .service_properties(&account.name)
        .await
        .map_err(failure::failure)?;
    let preflight = Preflight {
        origin: call.header(&header::ORIGIN),
        method: call.header(&header::ACCESS_CONTROL_REQUEST_METHOD),
        headers: call.header(&header::ACCESS_CONTROL_REQUEST_HEADERS),
    };
    let grant = preflight.grant(&properties.cors)?;
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

/// Adds to an answer what the rules grant its origin. A request that no rule fits is answered all the same.
pub(in super::super) async fn add_headers(
    call: &Call<'_>,
    asked: &Asked<'_>,
    origin: &str,
    reply: Reply,
) -> Reply {
    let Ok(properties) = call
        .front
        .service()
        .service_properties(&asked.account.name)
        .await
    else {
        return reply;
    };
    let ServiceProperties { cors, .. } = &properties;
    let grant = CorsGrant::of(cors, origin, call.head.method.as_str());
    let mut reply = reply;
    let is_read = matches!(call.head.method, Method::GET | Method::HEAD);
    if is_read && varies_by_origin(cors, grant.as_ref()) {
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
