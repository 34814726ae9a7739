//! The pages of the admin port.

use std::net::IpAddr;

use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;
use hyper::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE, HOST, HeaderValue};
use hyper::http::uri::Authority;
use hyper::{Method, Request, Response, StatusCode};
use partita_range::RowMemory;
use serde_json::json;

use super::snapshots::Doers;
use super::{heat, hot, ranges, snapshots, status};
use crate::metrics::{self, Process, Surroundings};
use crate::standing::Standing;

const TEXT: &str = "text/plain; charset=utf-8";
const JSON: &str = "application/json";

/// The body of an action.
const BODY_BYTES_MAX: usize = 16 << 10;

/// The header that a request for an action carries, with any value: a page in a browser cannot send it to another site unasked.
const X_PARTITA_ADMIN: &str = "x-partita-admin";

/// Answers one request. Bodies are read of actions only.
pub(super) async fn answer(
    request: Request<Incoming>,
    standing: &Standing,
) -> Response<Full<Bytes>> {
    let path = request.uri().path().to_owned();
    if path.starts_with("/admin/") && standing.admin_is_local() && !names_this_machine(&request) {
        return foreign_host();
    }
    if let Some(rest) = path.strip_prefix("/admin/v1/ranges") {
        return ranges_page(request, rest, standing).await;
    }
    if let Some(rest) = path.strip_prefix("/admin/v1/snapshots") {
        return snapshots_page(request, rest, standing).await;
    }
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        return wrong_method("GET, HEAD");
    }
    if let Some(rest) = path.strip_prefix("/admin/v1/jobs") {
        let (status, body) = snapshots::jobs(standing, rest);
        return json_page(status, &body);
    }
    match path.as_str() {
        "/healthz" => health(standing),
        "/readyz" => readiness(standing),
        "/metrics" => page(
            StatusCode::OK,
            metrics::CONTENT_TYPE,
            metrics_page(standing),
        ),
        "/admin/v1/status" => json_page(StatusCode::OK, &status::status(standing)),
        "/admin/v1/heat" | "/admin/v1/hot" => {
            let Some(store) = standing.open() else {
                return starting();
            };
            let query = request.uri().query();
            let (status, body) = if path == "/admin/v1/heat" {
                heat::heat(&store.cluster, &store.service, query, standing.now()).await
            } else {
                let balances = standing.settings.store.balance.is_some();
                hot::hot(&store.cluster, &store.service, query, balances).await
            };
            json_page(status, &body)
        }
        _ => {
            let pages = [
                "/healthz",
                "/readyz",
                "/metrics",
                "/admin/v1/status",
                "/admin/v1/ranges",
                "/admin/v1/heat",
                "/admin/v1/hot",
                "/admin/v1/snapshots",
                "/admin/v1/jobs",
            ];
            json_page(
                StatusCode::NOT_FOUND,
                &json!({ "error": "no such page", "pages": pages }),
            )
        }
    }
}

/// The ranges, or an action on one: `/ID/ACTION`.
async fn ranges_page(
    request: Request<Incoming>,
    rest: &str,
    standing: &Standing,
) -> Response<Full<Bytes>> {
    let Some(store) = standing.open() else {
        return starting();
    };
    let (status, body) = match rest.strip_prefix('/').map(|rest| rest.split_once('/')) {
        None if matches!(*request.method(), Method::GET | Method::HEAD) => {
            ranges::list(&store.cluster, &store.service).await
        }
        None => return wrong_method("GET, HEAD"),
        Some(Some((id, action))) if *request.method() == Method::POST => {
            match action_body(request, standing).await {
                Ok(body) => ranges::act(store, id, action, &body).await,
                Err(answer) => return answer,
            }
        }
        Some(Some(_)) => return wrong_method("POST"),
        Some(None) => ranges::refused(
            StatusCode::NOT_FOUND,
            "NoSuchAction",
            "an action is /admin/v1/ranges/ID/ACTION",
        ),
    };
    json_page(status, &body)
}

/// The snapshots; one of them: `/NAME`; or an action with one: `/NAME/ACTION`.
async fn snapshots_page(
    request: Request<Incoming>,
    rest: &str,
    standing: &Standing,
) -> Response<Full<Bytes>> {
    let Some(store) = standing.open() else {
        return starting();
    };
    let is_read = matches!(*request.method(), Method::GET | Method::HEAD);
    let (status, body) = match rest
        .strip_prefix('/')
        .map(|rest| rest.split_once('/').ok_or(rest))
    {
        None if is_read => snapshots::list(&store.snapshots).await,
        Some(Err(name)) if is_read => snapshots::show(&store.snapshots, name).await,
        None | Some(Err(_)) => return wrong_method("GET, HEAD"),
        Some(Ok((name, action))) if *request.method() == Method::POST => {
            let doers = Doers {
                standing,
                tasks: store.cluster.tasks(),
                snapshots: &store.snapshots,
                service: &store.service,
            };
            match action_body(request, standing).await {
                Ok(body) => snapshots::act(&doers, name, action, &body).await,
                Err(answer) => return answer,
            }
        }
        Some(Ok(_)) => return wrong_method("POST"),
    };
    json_page(status, &body)
}

fn starting() -> Response<Full<Bytes>> {
    let status = StatusCode::SERVICE_UNAVAILABLE;
    let (status, body) = ranges::refused(status, "Starting", "the data is being opened");
    json_page(status, &body)
}

/// The body of an action, if it is taken from this caller.
async fn action_body(
    request: Request<Incoming>,
    standing: &Standing,
) -> Result<Bytes, Response<Full<Bytes>>> {
    if let Some(answer) = unwelcome(&request, standing) {
        return Err(answer);
    }
    let body = Limited::new(request.into_body(), BODY_BYTES_MAX);
    let body = body.collect().await.map_err(|_| {
        let (status, body) = ranges::refused(
            StatusCode::BAD_REQUEST,
            "InvalidBody",
            "the body is too long, or was cut off",
        );
        json_page(status, &body)
    })?;
    Ok(body.to_bytes())
}

/// Why an action is not taken from this caller, if it is not: the port knows no credentials.
fn unwelcome(request: &Request<Incoming>, standing: &Standing) -> Option<Response<Full<Bytes>>> {
    let (code, message) = if !standing.admin_is_local() {
        (
            "NotLocal",
            "actions are taken on loopback only; this port listens elsewhere",
        )
    } else if !request.headers().contains_key(X_PARTITA_ADMIN) {
        (
            "HeaderMissing",
            "an action needs the header x-partita-admin",
        )
    } else {
        return None;
    };
    let (status, body) = ranges::refused(StatusCode::FORBIDDEN, code, message);
    Some(json_page(status, &body))
}

/// A page of a site whose name was made to point here would be of the same origin: it could read names and keys, and send any
/// header.
fn foreign_host() -> Response<Full<Bytes>> {
    let message = "the admin port is asked by localhost or an IP address";
    let (status, body) = ranges::refused(StatusCode::FORBIDDEN, "ForeignHost", message);
    json_page(status, &body)
}

fn names_this_machine(request: &Request<Incoming>) -> bool {
    let host = request.headers().get(HOST);
    let Some(host) = host.and_then(|host| host.to_str().ok()?.parse::<Authority>().ok()) else {
        return false;
    };
    let host = host.host().trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || host.parse::<IpAddr>().is_ok()
}

fn wrong_method(allow: &'static str) -> Response<Full<Bytes>> {
    let text = format!("only {}\n", allow.replace(", ", " and "));
    let mut refused = page(StatusCode::METHOD_NOT_ALLOWED, TEXT, text);
    let allow = HeaderValue::from_static(allow);
    refused.headers_mut().insert(ALLOW, allow);
    refused
}

/// Is the process alive? Only what a new process would mend makes it say no.
fn health(standing: &Standing) -> Response<Full<Bytes>> {
    match standing.is_dead() {
        false => page(StatusCode::OK, TEXT, "ok\n".to_owned()),
        true => page(
            StatusCode::SERVICE_UNAVAILABLE,
            TEXT,
            "the store is closed\n".to_owned(),
        ),
    }
}

/// Are requests worth sending?
fn readiness(standing: &Standing) -> Response<Full<Bytes>> {
    let (state, reason) = standing.state();
    let status = if state.serves() {
        StatusCode::OK
    } else {
        StatusCode::SERVICE_UNAVAILABLE
    };
    let text = match reason {
        None => format!("{}\n", state.as_str()),
        Some(reason) => format!("{}: {reason}\n", state.as_str()),
    };
    page(status, TEXT, text)
}

fn metrics_page(standing: &Standing) -> String {
    let memory = standing.row_memory();
    let around = Surroundings {
        version: crate::VERSION,
        uptime: standing.uptime(),
        ready: standing.state().0.serves(),
        engine: standing.engine_stats(),
        entity_cache: memory.map(RowMemory::cache_stats).unwrap_or_default(),
        key_filter: memory.map(RowMemory::key_filter_stats).unwrap_or_default(),
        process: Process::read(),
    };
    metrics::page(&standing.metrics.read(), &around)
}

fn json_page(status: StatusCode, value: &serde_json::Value) -> Response<Full<Bytes>> {
    page(status, JSON, format!("{value:#}\n"))
}

fn page(status: StatusCode, kind: &'static str, text: String) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from(text)));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
