//! The bare server of the comparison: hyper, with one task per connection, reads each request to its end and answers
//! prepared bytes of the right size and headers. Its speed is the ceiling for any server on this machine.

#![allow(
    clippy::print_stdout,
    reason = "the ready line is this program's interface"
)]
#![allow(
    clippy::disallowed_methods,
    reason = "a stand-alone program without shutdown: tasks need no owner"
)]

use std::convert::Infallible;
use std::sync::Arc;

use http::header::HeaderValue;
use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use partita_bench::canned;
use tokio::net::TcpListener;

/// The type of pages and entities.
const JSON: &str = "application/json;odata=minimalmetadata;streaming=true;charset=utf-8";

/// The prepared bodies.
struct Canned {
    entity: Bytes,
    page: Bytes,
    batch: Bytes,
}

fn main() -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_io()
        .build()?;
    runtime.block_on(serve())
}

async fn serve() -> anyhow::Result<()> {
    let canned = Arc::new(Canned {
        entity: canned::entity().into(),
        page: canned::page().into(),
        batch: canned::batch().into(),
    });
    let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
    let addr = listener.local_addr()?;
    println!("bare: Table service is successfully listening at http://{addr}");
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        let canned = Arc::clone(&canned);
        tokio::spawn(async move {
            let service = service_fn(move |request| answer(request, Arc::clone(&canned)));
            // The error of a broken connection is ignored, because the load driver reports it.
            let _ = http1::Builder::new()
                .serve_connection(TokioIo::new(stream), service)
                .await;
        });
    }
}

async fn answer(
    request: Request<Incoming>,
    canned: Arc<Canned>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let (head, body) = request.into_parts();
    // Collects the body into one piece, as any server that parses it must do. A server that drops each piece would
    // reuse one buffer in the processor's cache, and would be three times faster for batches than any real server can
    // be.
    if let Ok(body) = body.collect().await {
        std::hint::black_box(body.to_bytes());
    }
    let path = head.uri.path();
    let response = match head.method {
        Method::GET if path.ends_with("()") => json(StatusCode::OK, canned.page.clone(), JSON),
        Method::GET => {
            let mut response = json(StatusCode::OK, canned.entity.clone(), JSON);
            insert(&mut response, &[("etag", canned::ETAG)]);
            response
        }
        _ if path.ends_with("$batch") => json(
            StatusCode::ACCEPTED,
            canned.batch.clone(),
            canned::BATCH_CONTENT_TYPE,
        ),
        _ => inserted(),
    };
    Ok(response)
}

fn insert(response: &mut Response<Full<Bytes>>, headers: &[(&'static str, &'static str)]) {
    for (name, value) in headers {
        let value = HeaderValue::from_static(value);
        response.headers_mut().insert(*name, value);
    }
}

fn json(status: StatusCode, body: Bytes, content_type: &'static str) -> Response<Full<Bytes>> {
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

fn inserted() -> Response<Full<Bytes>> {
    let mut response = json(StatusCode::NO_CONTENT, Bytes::new(), "");
    response.headers_mut().remove("content-type");
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
