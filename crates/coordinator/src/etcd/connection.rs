//! One HTTP/2 connection to a member of etcd.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use h2::client::SendRequest;
use http::HeaderValue;
use partita_rt::Tasks;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, RootCertStore};
use rustls_pki_types::pem::PemObject as _;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::watch;
use tokio_rustls::TlsConnector;

use super::config::EtcdTls;
use super::grpc::{Call, CallError, send};
use super::messages;

/// How long connecting to a member may take.
const CONNECT_WITHIN: Duration = Duration::from_secs(1);

/// Bytes that etcd may send on a stream before they are read. A listing of 3,000 ranges is 1 MB.
const STREAM_WINDOW: u32 = 4 << 20;

/// The same for the connection: more, so that a watch that is read slowly does not hold back keepalives.
const CONNECTION_WINDOW: u32 = 4 * STREAM_WINDOW;

/// A connection. Clones share it.
#[derive(Clone, Debug)]
pub(super) struct Connection {
    sender: SendRequest<Bytes>,
    origin: Arc<str>,
    token: Option<HeaderValue>,
    /// Set when the connection is to be closed; without a receiver it is closed.
    closing: watch::Sender<bool>,
}

impl Connection {
    /// Connects to a member, and authenticates.
    pub(super) async fn open(
        (host, port): &(String, u16),
        tls: Option<&TlsConnector>,
        user: Option<&(String, String)>,
        tasks: &Tasks,
    ) -> Result<Self, CallError> {
        let opening = async {
            let stream = partita_rt::net::connect(host, *port)
                .await
                .map_err(refused)?;
            let name = if host.contains(':') {
                format!("[{host}]:{port}")
            } else {
                format!("{host}:{port}")
            };
            match tls {
                None => Self::over(stream, format!("http://{name}"), tasks).await,
                Some(tls) => {
                    let server = ServerName::try_from(host.clone())
                        .map_err(|error| CallError::NotSent(error.to_string()))?;
                    let stream = tls.connect(server, stream).await.map_err(refused)?;
                    Self::over(stream, format!("https://{name}"), tasks).await
                }
            }
        };
        let mut connection = within(CONNECT_WITHIN, "connecting", opening).await?;
        if let Some((user, password)) = user {
            let credentials = messages::credentials(user, password);
            let call = connection
                .send("Auth/Authenticate", &credentials, false)
                .await?;
            let answer = within(CONNECT_WITHIN, "authenticating", call.message()).await?;
            let token = messages::text(answer)
                .ok()
                .and_then(|token| HeaderValue::try_from(token).ok());
            connection.token =
                Some(token.ok_or_else(|| CallError::NotSent("no valid token".to_owned()))?);
        }
        Ok(connection)
    }

    async fn over<S>(stream: S, origin: String, tasks: &Tasks) -> Result<Self, CallError>
    where
        S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    {
        let (sender, connection) = h2::client::Builder::new()
            .initial_window_size(STREAM_WINDOW)
            .initial_connection_window_size(CONNECTION_WINDOW)
            .enable_push(false)
            .handshake(stream)
            .await
            .map_err(|error| CallError::NotSent(error.to_string()))?;
        let (closing, mut closed) = watch::channel(false);
        let shutdown = tasks.shutdown();
        tasks.spawn("etcd connection", async move {
            tokio::select! {
                // Every call on it sees the error.
                _ = connection => {}
                // Dropping it breaks all of its calls.
                _ = closed.wait_for(|closing| *closing) => {}
                () = shutdown.requested() => {}
            }
        });
        Ok(Self {
            sender,
            origin: origin.into(),
            token: None,
            closing,
        })
    }

    /// Whether it was not closed, by either side.
    pub(super) fn is_open(&self) -> bool {
        !self.closing.is_closed() && !*self.closing.borrow()
    }

    /// Closes it: all of its calls and watches fail.
    pub(super) fn close(&self) {
        self.closing.send_replace(true);
    }

    /// Sends a call.
    pub(super) async fn send(
        &self,
        method: &str,
        message: &[u8],
        stays_open: bool,
    ) -> Result<Call, CallError> {
        send(
            self.sender.clone(),
            &self.origin,
            method,
            self.token.as_ref(),
            message,
            stays_open,
        )
        .await
    }
}

fn refused(error: io::Error) -> CallError {
    CallError::NotSent(error.to_string())
}

/// Fails a step that was not sent or has no effect when it takes too long.
async fn within<T>(
    limit: Duration,
    step: &str,
    work: impl Future<Output = Result<T, CallError>>,
) -> Result<T, CallError> {
    match tokio::time::timeout(limit, work).await {
        Ok(done) => done,
        Err(_) => Err(CallError::NotSent(format!("{step} timed out"))),
    }
}

/// Reads the files of TLS.
pub(super) fn connector(tls: &EtcdTls) -> io::Result<TlsConnector> {
    let invalid = |error: &dyn std::fmt::Display| {
        io::Error::new(io::ErrorKind::InvalidData, error.to_string())
    };
    let mut roots = RootCertStore::empty();
    if let Some(ca) = &tls.ca {
        let certificates = CertificateDer::pem_file_iter(ca).map_err(|error| invalid(&error))?;
        for certificate in certificates {
            let certificate = certificate.map_err(|error| invalid(&error))?;
            roots.add(certificate).map_err(|error| invalid(&error))?;
        }
    } else {
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| invalid(&error))?
        .with_root_certificates(roots);
    let mut config = match &tls.identity {
        None => builder.with_no_client_auth(),
        Some((cert, key)) => {
            let chain = CertificateDer::pem_file_iter(cert)
                .map_err(|error| invalid(&error))?
                .collect::<Result<Vec<_>, _>>()
                .map_err(|error| invalid(&error))?;
            let key = PrivateKeyDer::from_pem_file(key).map_err(|error| invalid(&error))?;
            builder
                .with_client_auth_cert(chain, key)
                .map_err(|error| invalid(&error))?
        }
    };
    config.alpn_protocols = vec![b"h2".to_vec()];
    Ok(TlsConnector::from(Arc::new(config)))
}
