//! What the servers that set ceilings share: the loop that serves connections, and the heads of answers.

use std::net::SocketAddr;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderValue};
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use crate::canned;

/// The answer to a request.
pub type Answer = Response<Full<Bytes>>;

/// The type of pages and entities.
pub const JSON: &str = "application/json;odata=minimalmetadata;streaming=true;charset=utf-8";

/// Serves connections with `answer` on a free port until the process is killed: hyper, with one task per connection.
/// `ready` receives the address.
///
/// # Errors
/// When the port cannot be opened, or a connection cannot be accepted.
pub fn serve<S, F>(ready: impl FnOnce(SocketAddr), answer: S) -> anyhow::Result<()>
where
    S: Fn(http::request::Parts, Bytes) -> F + Clone + Send + 'static,
    F: Future<Output = Answer> + Send + 'static,
{
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_io()
        .build()?;
    runtime.block_on(accept(ready, answer))
}

async fn accept<S, F>(ready: impl FnOnce(SocketAddr), answer: S) -> anyhow::Result<()>
where
    S: Fn(http::request::Parts, Bytes) -> F + Clone + Send + 'static,
    F: Future<Output = Answer> + Send + 'static,
{
    let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
    ready(listener.local_addr()?);
    let mut connections = JoinSet::new();
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        let answer = answer.clone();
        connections.spawn(async move {
            let service = service_fn(move |request: Request<Incoming>| {
                let answer = answer.clone();
                async move {
                    let (head, body) = request.into_parts();
                    // Collects the body into one piece, as any server that parses it must do. A server that drops each
                    // piece reuses one buffer in the processor's cache: three times faster for batches than any real
                    // server can be.
                    let body = body.collect().await?.to_bytes();
                    Ok::<_, hyper::Error>(answer(head, body).await)
                }
            });
            // The error of a broken connection is ignored, because the load driver reports it.
            let _ = http1::Builder::new()
                .serve_connection(TokioIo::new(stream), service)
                .await;
        });
        // Without this, the results of closed connections would stay in memory.
        while connections.try_join_next().is_some() {}
    }
}

/// An answer with the headers that all answers have.
pub fn answer(status: StatusCode, body: Bytes, content_type: &'static str) -> Answer {
    let mut response = Response::new(Full::new(body));
    *response.status_mut() = status;
    let headers = [
        ("cache-control", "no-cache"),
        ("content-type", content_type),
        ("server", "Windows-Azure-Table/1.0 Microsoft-HTTPAPI/2.0"),
        ("x-content-type-options", "nosniff"),
        ("x-ms-request-id", "c9da6455-213d-42c9-9a79-3e9149a57833"),
        ("x-ms-version", "2019-02-02"),
    ];
    insert(&mut response, &headers);
    response
}

/// The answer to a read of one entity.
pub fn entity(body: Bytes) -> Answer {
    let mut response = answer(StatusCode::OK, body, JSON);
    insert(&mut response, &[("etag", canned::ETAG)]);
    response
}

/// The answer to an insert.
pub fn inserted() -> Answer {
    let mut response = answer(StatusCode::NO_CONTENT, Bytes::new(), "");
    response.headers_mut().remove(CONTENT_TYPE);
    let headers = [
        ("content-length", "0"),
        ("etag", canned::ETAG),
        ("location", canned::LOCATION),
        ("dataserviceid", canned::LOCATION),
        ("preference-applied", "return-no-content"),
    ];
    insert(&mut response, &headers);
    response
}

fn insert(response: &mut Answer, headers: &[(&'static str, &'static str)]) {
    for (name, value) in headers {
        let value = HeaderValue::from_static(value);
        response.headers_mut().insert(*name, value);
    }
}
