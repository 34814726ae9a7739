//! The bare server of the comparison: hyper, one task for each connection, reads each request to its end and answers
//! prepared bytes of the right size and headers. What it reaches is the ceiling for any server on this machine.

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

use http::header::{
    CACHE_CONTROL, CONTENT_TYPE, ETAG, HeaderValue, SERVER, X_CONTENT_TYPE_OPTIONS,
};
use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use partita_bench::canned;
use tokio::net::TcpListener;

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
            // A connection that ends badly is the driver's to report.
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
    // Gathered into one piece, as any server must that parses it. Dropping the pieces as they come would reuse one
    // buffer that never leaves the processor's cache: three times faster for batches, and no ceiling of anything.
    if let Ok(body) = body.collect().await {
        std::hint::black_box(body.to_bytes());
    }
    let path = head.uri.path();
    let response = match head.method {
        Method::GET if path.ends_with("()") => json(
            StatusCode::OK,
            canned.page.clone(),
            "application/json;odata=minimalmetadata;streaming=true;charset=utf-8",
        ),
        Method::GET => {
            let mut response = json(
                StatusCode::OK,
                canned.entity.clone(),
                "application/json;odata=minimalmetadata;streaming=true;charset=utf-8",
            );
            response
                .headers_mut()
                .insert(ETAG, HeaderValue::from_static(canned::ETAG));
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

fn json(status: StatusCode, body: Bytes, content_type: &'static str) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(body));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    headers.insert(
        SERVER,
        HeaderValue::from_static("Windows-Azure-Table/1.0 Microsoft-HTTPAPI/2.0"),
    );
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(
        "x-ms-request-id",
        HeaderValue::from_static("c9da6455-213d-42c9-9a79-3e9149a57833"),
    );
    headers.insert("x-ms-version", HeaderValue::from_static("2019-02-02"));
    response
}

fn inserted() -> Response<Full<Bytes>> {
    let mut response = json(StatusCode::NO_CONTENT, Bytes::new(), "");
    let headers = response.headers_mut();
    headers.remove(CONTENT_TYPE);
    headers.insert("content-length", HeaderValue::from_static("0"));
    headers.insert(ETAG, HeaderValue::from_static(canned::ETAG));
    for name in ["location", "dataserviceid"] {
        headers.insert(name, HeaderValue::from_static(canned::LOCATION));
    }
    headers.insert(
        "preference-applied",
        HeaderValue::from_static("return-no-content"),
    );
    response
}
