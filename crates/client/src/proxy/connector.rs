//! Connections to a destination, directly or by way of its proxy.

use super::Choice;
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

/// Makes connections. TLS with the service is made over them by whoever wraps this.
#[derive(Debug, Clone)]
pub(crate) struct Connector {
    tcp: HttpConnector,
    /// To a proxy, which may want TLS for itself.
    proxies: HttpsConnector<HttpConnector>,
    choice: Choice,
}

/// A proxy was no way to the destination.
#[derive(Debug, Error)]
enum ProxyError {
    /// It is not there, or refuses.
    #[error("there is no way through the proxy at {0}")]
    NoWay(Uri, #[source] BoxError),
    /// It is none of HTTP.
    #[error("the proxy at {0} is not one of HTTP, and no other kind is known")]
    Unknown(Uri),
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
        // Neither of the two ever makes anybody wait.
        self.tcp.poll_ready(context).map_err(Into::into)
    }

    fn call(&mut self, destination: Uri) -> Self::Future {
        let Some(proxy) = self.choice.for_destination(&destination) else {
            let connecting = self.tcp.call(destination);
            return Box::pin(async move {
                Ok(Stream {
                    inner: MaybeHttpsStream::Http(connecting.await?),
                    is_handed_over: false,
                })
            });
        };
        let at = proxy.uri().clone();
        if !matches!(at.scheme_str(), Some("http" | "https")) {
            return Box::pin(std::future::ready(Err(ProxyError::Unknown(at).into())));
        }
        if destination.scheme_str() == Some("https") {
            let mut tunnel = Tunnel::new(at.clone(), self.proxies.clone());
            if let Some(authorization) = proxy.basic_auth() {
                tunnel = tunnel.with_auth(authorization.clone());
            }
            let connecting = tunnel.call(destination);
            return Box::pin(async move {
                let inner = connecting.await;
                let inner = inner.map_err(|error| ProxyError::NoWay(at, error.into()))?;
                Ok(Stream {
                    inner,
                    is_handed_over: false,
                })
            });
        }
        let connecting = self.proxies.call(at.clone());
        Box::pin(async move {
            let inner = connecting.await;
            let inner = inner.map_err(|error| ProxyError::NoWay(at, error))?;
            Ok(Stream {
                inner,
                is_handed_over: true,
            })
        })
    }
}

/// A connection to the destination, or to a proxy that requests are handed to.
#[derive(Debug)]
pub(crate) struct Stream {
    inner: MaybeHttpsStream<TokioIo<TcpStream>>,
    is_handed_over: bool,
}

impl Connection for Stream {
    fn connected(&self) -> Connected {
        // So that requests have the whole URL in their first line.
        self.inner.connected().proxy(self.is_handed_over)
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
