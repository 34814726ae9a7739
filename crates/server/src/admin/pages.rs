//! Routes of the admin port, and what is checked before a page is asked.

use std::net::IpAddr;

use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;
use hyper::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE, HOST, HeaderValue};
use hyper::http::uri::Authority;
use hyper::{Method, Request, Response, StatusCode};
use partita_range::RowMemory;
use partita_wire::admin::NoSuchPage;

use super::answer::Answer;
use super::snapshots::ActionContext;
use super::{heat, hot, ranges, snapshots, status};
use crate::metrics::{self, Process, Surroundings};
use crate::status::ServerStatus;

const TEXT: &str = "text/plain; charset=utf-8";
const JSON: &str = "application/json";

/// The body of an action.
const BODY_BYTES_MAX: usize = 16 << 10;

/// The header that every action needs, with any value. A browser does not send it to another site without asking that site first.
const X_PARTITA_ADMIN: &str = "x-partita-admin";

/// What a 404 lists.
const PAGES: [&str; 9] = [
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

/// Answers one request. Reads the bodies of actions only.
pub(super) async fn answer(
    request: Request<Incoming>,
    server: &ServerStatus,
) -> Response<Full<Bytes>> {
    let path = request.uri().path().to_owned();
    if path.starts_with("/admin/") && server.admin_is_local() && !names_this_machine(&request) {
        return json_page(foreign_host());
    }
    if let Some(rest) = path.strip_prefix("/admin/v1/ranges") {
        return ranges_page(request, rest, server).await;
    }
    if let Some(rest) = path.strip_prefix("/admin/v1/snapshots") {
        return snapshots_page(request, rest, server).await;
    }
    if !is_read(&request) {
        return wrong_method("GET, HEAD");
    }
    if let Some(rest) = path.strip_prefix("/admin/v1/jobs") {
        return json_page(snapshots::jobs(server, rest));
    }
    match path.as_str() {
        "/healthz" => health(server),
        "/readyz" => readiness(server),
        "/metrics" => page(StatusCode::OK, metrics::CONTENT_TYPE, metrics_page(server)),
        "/admin/v1/status" => json_page(Answer::ok(&status::status(server))),
        "/admin/v1/heat" | "/admin/v1/hot" => {
            let Some(store) = server.open() else {
                return json_page(starting());
            };
            let query = request.uri().query();
            json_page(if path == "/admin/v1/heat" {
                heat::heat(&store.cluster, &store.service, query, server.now()).await
            } else {
                let balances = server.settings.store.balance.is_some();
                hot::hot(&store.cluster, &store.service, query, balances).await
            })
        }
        _ => json_page(Answer::new(
            StatusCode::NOT_FOUND,
            &NoSuchPage {
                error: "no such page".to_owned(),
                pages: PAGES.map(str::to_owned).to_vec(),
            },
        )),
    }
}

/// The ranges, or an action on one: `/ID/ACTION`.
async fn ranges_page(
    request: Request<Incoming>,
    rest: &str,
    server: &ServerStatus,
) -> Response<Full<Bytes>> {
    let Some(store) = server.open() else {
        return json_page(starting());
    };
    let answer = match rest.strip_prefix('/').map(|rest| rest.split_once('/')) {
        None if is_read(&request) => ranges::list(&store.cluster, &store.service).await,
        None => return wrong_method("GET, HEAD"),
        Some(Some((id, action))) if *request.method() == Method::POST => {
            match action_body(request, server).await {
                Ok(body) => ranges::act(store, id, action, &body).await,
                Err(refused) => refused,
            }
        }
        Some(Some(_)) => return wrong_method("POST"),
        Some(None) => Answer::refused(
            StatusCode::NOT_FOUND,
            "NoSuchAction",
            "an action is /admin/v1/ranges/ID/ACTION",
        ),
    };
    json_page(answer)
}

/// The snapshots; one snapshot: `/NAME`; or an action on one: `/NAME/ACTION`.
async fn snapshots_page(
    request: Request<Incoming>,
    rest: &str,
    server: &ServerStatus,
) -> Response<Full<Bytes>> {
    let Some(store) = server.open() else {
        return json_page(starting());
    };
    let answer = match rest
        .strip_prefix('/')
        .map(|rest| rest.split_once('/').ok_or(rest))
    {
        None if is_read(&request) => snapshots::list(&store.snapshots).await,
        Some(Err(name)) if is_read(&request) => snapshots::show(&store.snapshots, name).await,
        None | Some(Err(_)) => return wrong_method("GET, HEAD"),
        Some(Ok((name, action))) if *request.method() == Method::POST => {
            let context = ActionContext {
                server,
                tasks: store.cluster.tasks(),
                snapshots: &store.snapshots,
                service: &store.service,
            };
            match action_body(request, server).await {
                Ok(body) => snapshots::act(&context, name, action, &body).await,
                Err(refused) => refused,
            }
        }
        Some(Ok(_)) => return wrong_method("POST"),
    };
    json_page(answer)
}

fn is_read(request: &Request<Incoming>) -> bool {
    matches!(*request.method(), Method::GET | Method::HEAD)
}

fn starting() -> Answer {
    Answer::refused(
        StatusCode::SERVICE_UNAVAILABLE,
        "Starting",
        "the data is being opened",
    )
}

/// The body of an action, if this caller may send one.
async fn action_body(request: Request<Incoming>, server: &ServerStatus) -> Result<Bytes, Answer> {
    check_caller(&request, server)?;
    let body = Limited::new(request.into_body(), BODY_BYTES_MAX);
    let body = body.collect().await.map_err(|_| {
        Answer::invalid_body(format!(
            "the body is longer than {BODY_BYTES_MAX} bytes, or incomplete"
        ))
    })?;
    Ok(body.to_bytes())
}

/// Refuses an action from another machine or from a web page: the port knows no credentials.
fn check_caller(request: &Request<Incoming>, server: &ServerStatus) -> Result<(), Answer> {
    let forbidden = |code, message| Answer::refused(StatusCode::FORBIDDEN, code, message);
    if !server.admin_is_local() {
        let message = "actions are accepted on loopback only; this port listens elsewhere";
        return Err(forbidden("NotLocal", message));
    }
    if !request.headers().contains_key(X_PARTITA_ADMIN) {
        let message = "an action needs the header x-partita-admin";
        return Err(forbidden("HeaderMissing", message));
    }
    Ok(())
}

/// Refuses a host name that was made to resolve to this machine: a web page of that name would have the same origin as this port,
/// and could read names and keys, and send any header.
fn foreign_host() -> Answer {
    let message = "the Host header must be localhost or an IP address";
    Answer::refused(StatusCode::FORBIDDEN, "ForeignHost", message)
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

/// Liveness: fails only when a new process would help.
fn health(server: &ServerStatus) -> Response<Full<Bytes>> {
    match server.is_dead() {
        false => page(StatusCode::OK, TEXT, "ok\n".to_owned()),
        true => page(
            StatusCode::SERVICE_UNAVAILABLE,
            TEXT,
            "the store is closed\n".to_owned(),
        ),
    }
}

/// Readiness: whether requests are worth sending.
fn readiness(server: &ServerStatus) -> Response<Full<Bytes>> {
    let (state, reason) = server.state();
    let status = if server.serves() {
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

fn metrics_page(server: &ServerStatus) -> String {
    let memory = server.row_memory();
    let around = Surroundings {
        version: crate::VERSION,
        uptime: server.uptime(),
        ready: server.serves(),
        engine: server.engine_stats(),
        entity_cache: memory.map(RowMemory::cache_stats).unwrap_or_default(),
        key_filter: memory.map(RowMemory::key_filter_stats).unwrap_or_default(),
        process: Process::read(),
    };
    metrics::page(&server.metrics.read(), &around)
}

fn json_page(answer: Answer) -> Response<Full<Bytes>> {
    page(answer.status, JSON, answer.json)
}

fn page(status: StatusCode, kind: &'static str, text: String) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from(text)));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
