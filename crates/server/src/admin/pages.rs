//! The pages of the admin port.

use bytes::Bytes;
use http_body_util::Full;
use hyper::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE, HeaderValue};
use hyper::{Method, Request, Response, StatusCode};
use partita_range::RowMemory;
use serde_json::json;

use super::status;
use crate::metrics::{self, Process, Surroundings};
use crate::standing::Standing;

const TEXT: &str = "text/plain; charset=utf-8";
const JSON: &str = "application/json";

/// Answers one request. Bodies are never read.
pub(super) fn answer<B>(request: &Request<B>, standing: &Standing) -> Response<Full<Bytes>> {
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        let mut refused = page(
            StatusCode::METHOD_NOT_ALLOWED,
            TEXT,
            "only GET and HEAD\n".to_owned(),
        );
        refused
            .headers_mut()
            .insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
        return refused;
    }
    match request.uri().path() {
        "/healthz" => health(standing),
        "/readyz" => readiness(standing),
        "/metrics" => page(
            StatusCode::OK,
            metrics::CONTENT_TYPE,
            metrics_page(standing),
        ),
        "/admin/v1/status" => json_page(StatusCode::OK, &status::status(standing)),
        _ => {
            let pages = ["/healthz", "/readyz", "/metrics", "/admin/v1/status"];
            json_page(
                StatusCode::NOT_FOUND,
                &json!({ "error": "no such page", "pages": pages }),
            )
        }
    }
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
