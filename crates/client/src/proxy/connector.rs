//! Connects to a destination, directly or through its proxy.

use super::Choice;
use futures::TryFutureExt as _;
use http::Uri;
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_rustls::{HttpsConnector, MaybeHttpsStream};
use hyper_util::client::legacy::connect::proxy::Tunnel;
use hyper_util::client::legacy::connect::{Connected, Connection, HttpConnector};
use hyper_util::rt::TokioIo;
use std::error::Error as StdError;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};
use thiserror::Error;
use tokio::net::TcpStream;
use tower_service::Service;

type BoxError = Box<dyn StdError + Send + Sync>;

/// Makes plain connections and tunnels. `HttpsConnector` adds the TLS of the service on top.
#[derive(Debug, Clone)]
pub(crate) struct Connector {
    tcp: HttpConnector,
    /// Connects to proxies, which may use TLS themselves.
    proxies: HttpsConnector<HttpConnector>,
    choice: Choice,
}

/// A failed connection through a proxy.
#[derive(Debug, Error)]
enum ProxyError {
    /// The proxy is unreachable or refuses the tunnel.
    #[error("cannot connect through the proxy at {0}")]
    Failed(Uri, #[source] BoxError),
    /// A SOCKS proxy, for example.
    #[error("unsupported proxy {0}; only http and https proxies are supported")]
    Unsupported(Uri),
}

impl Connector {
    pub(crate) fn new(
        tcp: HttpConnector,
        proxies: HttpsConnector<HttpConnector>,
        choice: Choice,
    ) -> Self {
        Self {
            tcp,
            proxies,
            choice,
        }
    }
}

impl Service<Uri> for Connector {
    type Response = Stream;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Stream, BoxError>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        // Both connectors are always ready.
        self.tcp.poll_ready(context).map_err(Into::into)
    }

    fn call(&mut self, destination: Uri) -> Self::Future {
        let Some(proxy) = self.choice.for_destination(&destination) else {
            let connecting = self.tcp.call(destination);
            return Box::pin(async move {
                Ok(Stream {
                    inner: MaybeHttpsStream::Http(connecting.await?),
                    is_forwarded: false,
                })
            });
        };
        let at = proxy.uri().clone();
        if !matches!(at.scheme_str(), Some("http" | "https")) {
            return Box::pin(std::future::ready(Err(ProxyError::Unsupported(at).into())));
        }
        let is_forwarded = destination.scheme_str() != Some("https");
        let connecting = if is_forwarded {
            self.proxies.call(at.clone())
        } else {
            let mut tunnel = Tunnel::new(at.clone(), self.proxies.clone());
            if let Some(authorization) = proxy.basic_auth() {
                tunnel = tunnel.with_auth(authorization.clone());
            }
            Box::pin(tunnel.call(destination).err_into::<BoxError>())
        };
        Box::pin(async move {
            let inner = connecting.await;
            let inner = inner.map_err(|error| ProxyError::Failed(at, error))?;
            Ok(Stream {
                inner,
                is_forwarded,
            })
        })
    }
}

/// A connection to the destination, or to a proxy that forwards requests.
#[derive(Debug)]
pub(crate) struct Stream {
    inner: MaybeHttpsStream<TokioIo<TcpStream>>,
    is_forwarded: bool,
}

impl Connection for Stream {
    fn connected(&self) -> Connected {
        // For a proxy, hyper writes the absolute URL into the request line.
        self.inner.connected().proxy(self.is_forwarded)
    }
}

impl Read for Stream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_read(context, buffer)
    }
}

impl Write for Stream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.inner).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(context)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.inner).poll_write_vectored(context, pieces)
    }
}
