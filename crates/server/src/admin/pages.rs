//! Routes of the admin port, and the checks before a page is built.
//!
//! If the port is on loopback, a request below `/admin/` must name this machine as its host. An action needs loopback,
//! and a header.

use std::net::IpAddr;

use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;
use hyper::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE, HOST, HeaderValue};
use hyper::http::uri::Authority;
use hyper::{Method, Request, Response, StatusCode};
use partita_range::RowMemory;
use tokio::sync::{Semaphore, SemaphorePermit};

use super::answer::{Answer, Answered};
use super::elsewhere;
use super::here::{act_here, no_such_page, open_store, read_here};
use crate::connections::{Phase, Progress};
use crate::metrics::{self, MemberFigures, Surroundings, TargetShare};
use crate::status::ServerStatus;

const TEXT: &str = "text/plain; charset=utf-8";
const JSON: &str = "application/json";

/// The maximum number of bytes of an action's body.
const BODY_BYTES_MAX: usize = 16 << 10;

/// The header that every action needs, with any value. A browser sends it to another site only after a CORS preflight.
const X_PARTITA_ADMIN: &str = "x-partita-admin";

/// The number of queues on the metrics page, the fullest first: a bound for the number of series.
const METRICS_QUEUES_MAX: usize = 100;

/// What a page is built from.
#[derive(Debug, Clone, Copy)]
pub(super) struct PageContext<'a> {
    pub(super) server: &'a ServerStatus,
    pub(super) progress: &'a Progress,
    /// Limits the requests under way, except probes: each holds a permit.
    pub(super) running: &'a Semaphore,
}

impl<'a> PageContext<'a> {
    /// Takes a permit for a request; dropping it ends the request. Refuses with `Busy` if too many requests are under
    /// way.
    fn begin(self) -> Result<SemaphorePermit<'a>, Answer> {
        self.running.try_acquire().map_err(|_| {
            let message = "too many requests at a time; try again when some have ended";
            Answer::refused(StatusCode::SERVICE_UNAVAILABLE, "Busy", message)
        })
    }
}

/// Answers one request. Reads the bodies of actions only.
pub(super) async fn answer(
    request: Request<Incoming>,
    context: PageContext<'_>,
) -> Response<Full<Bytes>> {
    let server = context.server;
    let path = request.uri().path().to_owned();
    let is_foreign = server.admin_is_local() && !names_this_machine(&request);
    if path.starts_with("/admin/") && is_foreign {
        return json_page(foreign_host());
    }
    let segments: Vec<&str> = path.splitn(6, '/').skip(1).collect();
    let is_action = matches!(
        segments[..],
        ["admin", "v1", "ranges" | "snapshots" | "servers", _, _]
            | ["admin", "v1", "balance" | "version", _]
    );
    let is_read = matches!(*request.method(), Method::GET | Method::HEAD);
    match is_action {
        true if *request.method() != Method::POST => return wrong_method("POST"),
        false if !is_read => return wrong_method("GET, HEAD"),
        _ => {}
    }
    let answered = match segments[..] {
        ["healthz"] => return health(server),
        ["readyz"] => return readiness(server),
        ["metrics"] => match context.begin() {
            Ok(_running) => {
                let text = metrics_page(server).await;
                return page(StatusCode::OK, metrics::CONTENT_TYPE, text);
            }
            Err(busy) => Err(busy),
        },
        ["admin", "v1", ref path @ ..] if is_action => act(request, context, path).await,
        ["admin", "v1", ref path @ ..] => {
            let query = request.uri().query();
            read_page(path, query, context).await
        }
        _ => Err(no_such_page()),
    };
    json_page(answered.unwrap_or_else(|refused| refused))
}

/// Answers a read below `/admin/v1`.
async fn read_page(path: &[&str], query: Option<&str>, context: PageContext<'_>) -> Answered {
    let _running = context.begin()?;
    if let Some(answered) = elsewhere::read(context.server, path, query).await {
        return answered;
    }
    read_here(context.server, path, query).await
}

/// Performs an action, which begins when its whole body has arrived.
async fn act(request: Request<Incoming>, context: PageContext<'_>, path: &[&str]) -> Answered {
    let server = context.server;
    open_store(server)?;
    let body = action_body(request, context).await?;
    let _running = context.begin()?;
    if let Some(answered) = elsewhere::act(server, path, &body).await {
        return answered;
    }
    act_here(server, path, &body).await
}

/// The body of an action, if this caller may send one.
async fn action_body(
    request: Request<Incoming>,
    context: PageContext<'_>,
) -> Result<Bytes, Answer> {
    check_caller(&request, context.server)?;
    let body = Limited::new(request.into_body(), BODY_BYTES_MAX);
    context.progress.enter(Phase::Body);
    let collected = body.collect().await;
    context.progress.enter(Phase::Working);
    let body = collected.map_err(|_| {
        let message = format!("the body is longer than {BODY_BYTES_MAX} bytes, or incomplete");
        Answer::invalid_body(message)
    })?;
    Ok(body.to_bytes())
}

/// Refuses an action from another machine or from a web page: the port has no credentials.
fn check_caller(request: &Request<Incoming>, server: &ServerStatus) -> Result<(), Answer> {
    let forbidden = |code, message| Answer::refused(StatusCode::FORBIDDEN, code, message);
    if !server.admin_is_local() {
        let message = "actions are accepted on loopback only; this port listens elsewhere";
        return Err(forbidden("NotLocal", message));
    }
    if !request.headers().contains_key(X_PARTITA_ADMIN) {
        let message = "an action needs the header x-partita-admin, with any value";
        return Err(forbidden("HeaderMissing", message));
    }
    Ok(())
}

/// Refuses foreign host names. DNS may resolve such a name to this machine; then a web page of that name has the same
/// origin as this port, so it could read names and keys and send any header.
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

/// Liveness: fails only if the store is closed for good, so that the process must be restarted.
fn health(server: &ServerStatus) -> Response<Full<Bytes>> {
    match server.is_dead() {
        false => text_page(true, "ok\n".to_owned()),
        true => text_page(false, "the store is closed\n".to_owned()),
    }
}

/// Readiness: 200 while the server is ready or degraded. The text has the state, its reasons and the notes.
fn readiness(server: &ServerStatus) -> Response<Full<Bytes>> {
    let (state, mut texts) = server.state();
    texts.extend(server.notes());
    let colon = if texts.is_empty() { "" } else { ": " };
    let text = format!("{}{colon}{}\n", state.as_str(), texts.join("; "));
    text_page(server.serves(), text)
}

fn text_page(is_well: bool, text: String) -> Response<Full<Bytes>> {
    let status = match is_well {
        true => StatusCode::OK,
        false => StatusCode::SERVICE_UNAVAILABLE,
    };
    page(status, TEXT, text)
}

async fn metrics_page(server: &ServerStatus) -> String {
    let memory = server.row_memory();
    let queues = match server.open() {
        Some(store) => store.queues.queue_reports(METRICS_QUEUES_MAX).await.ok(),
        None => None,
    };
    let around = Surroundings {
        version: crate::VERSION,
        uptime: server.uptime(),
        ready: server.serves(),
        memory_in_flight: server.memory_in_flight(),
        engine: server.engine_stats(),
        wall_clock_lag: server.wall_clock_lag(),
        damaged_files: server.damaged_files().len(),
        scrub_bytes: server.scrub.bytes(),
        scrub: server.scrub.results(),
        queues: queues.map_or_else(Vec::new, |(reports, _)| reports),
        entity_cache: memory.map(RowMemory::cache_stats).unwrap_or_default(),
        process: metrics::process_stats(),
        member: member_figures(server),
    };
    metrics::page(&server.metrics.read(), &around)
}

/// What a member of a cluster shows; `None` for a server that is alone.
fn member_figures(server: &ServerStatus) -> Option<MemberFigures> {
    let (membership, view) = (server.membership()?, server.cluster_view()?);
    let unowned = view
        .unowned
        .list(&view.routes.current(), server.monotonic());
    let take_overs = server.cluster().map_or_else(Vec::new, |cluster| {
        let times = cluster.local_host().take_over_times().read();
        let named = times.into_iter().map(|(step, times)| (step.name(), times));
        named.collect()
    });
    let shares = server
        .open()
        .map_or_else(Vec::new, |store| store.service.storage().limited_shares());
    let share_of = |(limited, share): (partita_service::Limited, f64)| TargetShare {
        target: limited.scope.as_str(),
        account: limited.account().to_owned(),
        table: limited.table().unwrap_or_default().to_owned(),
        share,
    };
    Some(MemberFigures {
        lease_left: membership.gate().open_for(),
        unowned: unowned.len(),
        target_shares: shares.into_iter().map(share_of).collect(),
        take_overs,
    })
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
