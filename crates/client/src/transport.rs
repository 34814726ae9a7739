//! Sends one request over a pool of HTTP/1.1 connections, plain or TLS, directly or through a proxy.

use crate::proxy::{Choice, Connector};
use crate::trust::authorities;
use crate::{ClientOptions, ConnectionFault, Error, ErrorKind};
use bytes::Bytes;
use http::header::{CONTENT_LENGTH, PROXY_AUTHORIZATION};
use http::{HeaderMap, Request, Response, Uri};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper_rustls::HttpsConnector;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use rustls::ClientConfig;
use std::error::Error as StdError;
use std::sync::Arc;

/// The longest accepted answer, in bytes. The service ends a page at 4 MiB of entities; their JSON can be several times
/// as long.
const ANSWER_BYTES_MAX: usize = 64 * 1024 * 1024;

/// A connection pool. Cheap to clone; clones share the pool.
#[derive(Debug, Clone)]
pub(crate) struct Transport {
    client: Client<HttpsConnector<Connector>, Full<Bytes>>,
    proxy: Choice,
}

/// A complete answer of any status.
pub(crate) type Answer = Response<Bytes>;

/// The value of a header; `None` if it is absent or not visible ASCII.
pub(crate) fn header_text<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    headers.get(name)?.to_str().ok()
}

impl Transport {
    /// A pool without connections. `tls` says whether an endpoint uses `https`. Without `https`, also of proxies, the
    /// machine's certificate authorities are not loaded, which saves some milliseconds.
    pub(crate) fn new(options: &ClientOptions, tls: bool) -> Result<Self, Error> {
        let proxy = Choice::of(&options.proxy);
        let tls = tls || proxy.is_tls;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| Error::new(ErrorKind::Tls, "cannot set up TLS").caused_by(error))?
            .with_root_certificates(authorities(options, tls)?)
            .with_no_client_auth();
        let config = Arc::new(config);
        let mut tcp = HttpConnector::new();
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        tcp.set_connect_timeout(Some(options.connect_timeout));
        let proxies = HttpsConnector::from((tcp.clone(), Arc::clone(&config)));
        let connector = Connector::new(tcp, proxies, proxy.clone());
        let client = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(options.idle_timeout)
            .pool_max_idle_per_host(options.idle_connections_max)
            .build(HttpsConnector::from((connector, config)));
        Ok(Self { client, proxy })
    }

    /// Sends a request and reads the complete answer. Cancellation: the server may have executed the request.
    ///
    /// # Errors
    /// [`ErrorKind::Connect`], [`ErrorKind::Tls`], [`ErrorKind::Broken`], or [`ErrorKind::Unreadable`] for an answer
    /// that is too long. They have no outcome yet, because the transport cannot tell a write from a read.
    pub(crate) async fn send(&self, mut request: Request<Full<Bytes>>) -> Result<Answer, Error> {
        if let Some(authorization) = self.proxy.authorization(request.uri()) {
            let headers = request.headers_mut();
            headers.insert(PROXY_AUTHORIZATION, authorization);
        }
        let server = server_of(request.uri());
        let answer = self.client.request(request).await;
        let answer = answer.map_err(|error| failed_to_send(error, &server))?;
        let (head, body) = answer.into_parts();
        let body = collect(body, &head.headers).await?;
        Ok(Response::from_parts(head, body))
    }
}

/// Joins the frames of a body. A body of one frame, which is usual for short answers, is not copied.
async fn collect(mut body: Incoming, headers: &HeaderMap) -> Result<Bytes, Error> {
    let length = headers.get(CONTENT_LENGTH);
    let expected = length.and_then(|length| length.to_str().ok()?.parse().ok());
    let mut first = Bytes::new();
    let mut all = Vec::new();
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame.map_err(broken)?.into_data() else {
            continue;
        };
        if all.len() + first.len() + data.len() > ANSWER_BYTES_MAX {
            let source = format!("the answer has more than {ANSWER_BYTES_MAX} bytes");
            let error = Error::new(ErrorKind::Unreadable, "cannot read the answer");
            return Err(error.caused_by(source));
        }
        if all.is_empty() && first.is_empty() {
            first = data;
            continue;
        }
        if all.is_empty() {
            all.reserve(
                expected
                    .unwrap_or(0)
                    .clamp(4 * first.len(), ANSWER_BYTES_MAX),
            );
            all.extend_from_slice(&std::mem::take(&mut first));
        }
        all.extend_from_slice(&data);
    }
    Ok(if all.is_empty() { first } else { all.into() })
}

fn broken(error: impl StdError + Send + Sync + 'static) -> Error {
    Error::new(ErrorKind::Broken, "the connection broke").caused_by(error)
}

/// Scheme, host and port of a request.
fn server_of(uri: &Uri) -> String {
    let scheme = uri.scheme_str().unwrap_or("http");
    let authority = uri.authority().map_or("", |authority| authority.as_str());
    format!("{scheme}://{authority}")
}

fn failed_to_send(error: hyper_util::client::legacy::Error, server: &str) -> Error {
    let (kind, message) = match ConnectionFault::of(&error) {
        Some(ConnectionFault::NoTls) => (
            ErrorKind::Tls,
            format!("the server at {server} does not speak TLS"),
        ),
        Some(ConnectionFault::UnknownAuthority) => (
            ErrorKind::Tls,
            format!("the certificate authority of {server} is not trusted"),
        ),
        Some(ConnectionFault::NoHttp) => (
            ErrorKind::Unreadable,
            format!("the server at {server} does not speak plain HTTP"),
        ),
        _ if !error.is_connect() => return broken(error),
        _ if is_tls(&error) => (
            ErrorKind::Tls,
            format!("the TLS handshake with {server} failed"),
        ),
        _ => (ErrorKind::Connect, format!("cannot connect to {server}")),
    };
    Error::new(kind, message).caused_by(error)
}

/// Whether a TLS error is among the causes. hyper-rustls wraps it into an I/O error.
fn is_tls(error: &(dyn StdError + 'static)) -> bool {
    let mut next = Some(error);
    while let Some(error) = next {
        let inner = error
            .downcast_ref::<std::io::Error>()
            .and_then(std::io::Error::get_ref);
        if error.is::<rustls::Error>() || inner.is_some_and(|inner| is_tls(inner)) {
            return true;
        }
        next = error.source();
    }
    false
}
