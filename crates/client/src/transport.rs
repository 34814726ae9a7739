//! Sends a request once, over connections that are kept: HTTP/1.1, plain or TLS.

use crate::proxy::{Choice, Connector};
use crate::{ClientOptions, Error, ErrorKind};
use bytes::Bytes;
use http::header::PROXY_AUTHORIZATION;
use http::{HeaderMap, Request};
use http_body_util::{BodyExt as _, Full};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use rustls::{ClientConfig, RootCertStore};
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject as _;
use std::error::Error as StdError;
use std::sync::Arc;

/// The longest answer taken, in bytes. A page of the service ends at 4 MiB of entities, which JSON can make several times
/// as large.
const ANSWER_BYTES_MAX: usize = 64 * 1024 * 1024;

/// A pool of connections to one account's servers.
#[derive(Debug, Clone)]
pub(crate) struct Transport {
    client: Client<HttpsConnector<Connector>, Full<Bytes>>,
    proxy: Choice,
}

/// An answer, whole.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

/// Why there is no answer.
#[derive(Debug)]
pub(crate) struct SendError {
    /// [`ErrorKind::Connect`], [`ErrorKind::Tls`], [`ErrorKind::Broken`] or [`ErrorKind::Unreadable`].
    pub(crate) kind: ErrorKind,
    pub(crate) source: Box<dyn StdError + Send + Sync>,
}

impl Transport {
    /// Makes no connection yet. `tls` says whether any endpoint will need it: reading the machine's authorities takes some
    /// milliseconds.
    pub(crate) fn new(options: &ClientOptions, tls: bool) -> Result<Self, Error> {
        let proxy = Choice::of(&options.proxy);
        let tls = tls || proxy.is_tls;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| Error::new(ErrorKind::Tls, "TLS cannot be set up").caused_by(error))?
            .with_root_certificates(authorities(options, tls)?)
            .with_no_client_auth();
        let mut tcp = HttpConnector::new();
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        tcp.set_connect_timeout(Some(options.connect_timeout));
        let proxies = HttpsConnectorBuilder::new()
            .with_tls_config(config.clone())
            .https_or_http()
            .enable_http1()
            .wrap_connector(tcp.clone());
        let connector = HttpsConnectorBuilder::new()
            .with_tls_config(config)
            .https_or_http()
            .enable_http1()
            .wrap_connector(Connector::new(tcp, proxies, proxy.clone()));
        let client = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(options.idle_timeout)
            .pool_max_idle_per_host(options.idle_connections_max)
            .build(connector);
        Ok(Self { client, proxy })
    }

    /// Sends a request and takes the whole answer. Dropped halfway, the request may have been executed.
    pub(crate) async fn send(
        &self,
        mut request: Request<Full<Bytes>>,
    ) -> Result<Answer, SendError> {
        if let Some(authorization) = self.proxy.authorization(request.uri()) {
            let headers = request.headers_mut();
            headers.insert(PROXY_AUTHORIZATION, authorization);
        }
        let answer = self.client.request(request).await.map_err(failed_to_send)?;
        let (head, body) = answer.into_parts();
        let body = collect(body, head.headers.get(http::header::CONTENT_LENGTH)).await?;
        Ok(Answer {
            status: head.status.as_u16(),
            headers: head.headers,
            body,
        })
    }
}

/// Puts the pieces of a body together. An answer in one piece, as short ones are, is not copied.
async fn collect(
    mut body: hyper::body::Incoming,
    length: Option<&http::HeaderValue>,
) -> Result<Bytes, SendError> {
    let broken = |error: hyper::Error| SendError {
        kind: ErrorKind::Broken,
        source: error.into(),
    };
    let expected = length
        .and_then(|length| length.to_str().ok()?.parse().ok())
        .unwrap_or(0);
    let mut first = Bytes::new();
    let mut all = Vec::new();
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame.map_err(broken)?.into_data() else {
            continue;
        };
        if all.len() + first.len() + data.len() > ANSWER_BYTES_MAX {
            let source = format!("an answer of more than {ANSWER_BYTES_MAX} bytes").into();
            return Err(SendError {
                kind: ErrorKind::Unreadable,
                source,
            });
        }
        if all.is_empty() && first.is_empty() {
            first = data;
            continue;
        }
        if all.is_empty() {
            all.reserve(expected.clamp(4 * first.len(), ANSWER_BYTES_MAX));
            all.extend_from_slice(&std::mem::take(&mut first));
        }
        all.extend_from_slice(&data);
    }
    Ok(if all.is_empty() { first } else { all.into() })
}

fn failed_to_send(error: hyper_util::client::legacy::Error) -> SendError {
    let kind = if !error.is_connect() {
        ErrorKind::Broken
    } else if is_tls(&error) {
        ErrorKind::Tls
    } else {
        ErrorKind::Connect
    };
    SendError {
        kind,
        source: error.into(),
    }
}

/// Whether TLS is what failed. The library hides its error inside one of I/O.
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

/// The machine's authorities and the caller's.
fn authorities(options: &ClientOptions, tls: bool) -> Result<RootCertStore, Error> {
    let mut roots = RootCertStore::empty();
    for pem in &options.authorities_pem {
        let mut found = 0;
        for certificate in CertificateDer::pem_slice_iter(pem) {
            let refused = |error: Box<dyn StdError + Send + Sync>| {
                Error::new(ErrorKind::Tls, "an authority's certificate cannot be read")
                    .caused_by(error)
            };
            let certificate = certificate.map_err(|error| refused(error.into()))?;
            roots
                .add(certificate)
                .map_err(|error| refused(error.into()))?;
            found += 1;
        }
        if found == 0 {
            return Err(Error::new(
                ErrorKind::Tls,
                "there is no certificate in the PEM of an authority",
            ));
        }
    }
    if tls {
        let machine = rustls_native_certs::load_native_certs();
        let (_, refused) = roots.add_parsable_certificates(machine.certs);
        if refused > 0 {
            tracing::debug!(refused, "some of the machine's authorities cannot be read");
        }
    }
    if tls && roots.is_empty() {
        let message = "no authority to trust: the machine has none, and the options add none";
        return Err(Error::new(ErrorKind::Tls, message));
    }
    Ok(roots)
}
