//! One connection: HTTP/1.1 over a stream whose progress is watched.

use super::Protocol;
use super::progress::{Order, Phase, Progress};
use crate::metrics::ConnectionFault;
use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use std::convert::Infallible;
use std::io;
use std::net::IpAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite};

/// Serves requests until the client disconnects, the connection is overdue, or the server shuts down (the request under way
/// is answered first).
pub(super) async fn serve<P, S>(
    protocol: Arc<P>,
    stream: S,
    peer: Option<IpAddr>,
    progress: Arc<Progress>,
) where
    P: Protocol,
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let front = protocol.front();
    let _open = front.parts.metrics.connection();
    let io = WatchedIo {
        inner: TokioIo::new(stream),
        progress: Arc::clone(&progress),
    };
    let service = service_fn(|request: Request<Incoming>| {
        progress.enter(Phase::Working);
        let (protocol, progress) = (&protocol, &progress);
        async move {
            Ok::<Response<Full<Bytes>>, Infallible>(protocol.answer(request, peer, progress).await)
        }
    });
    let mut http = http1::Builder::new();
    http.max_buf_size(front.parts.limits.header_bytes_max.max(MIN_BUFFER_BYTES))
        .header_read_timeout(None)
        .half_close(false);
    let mut connection = pin!(http.serve_connection(io, service));
    let mut order = Order::GoOn;
    let ended = loop {
        tokio::select! {
            biased;
            ended = connection.as_mut() => break ended,
            next = progress.next_order(order) => order = next,
        }
        if order == Order::BreakOff {
            return front.parts.metrics.connection_failed(ConnectionFault::Slow);
        }
        connection.as_mut().graceful_shutdown();
    };
    if let Err(error) = ended {
        let fault = if error.is_parse() || error.is_parse_too_large() {
            ConnectionFault::Protocol
        } else {
            ConnectionFault::Broken
        };
        front.parts.metrics.connection_failed(fault);
        tracing::debug!(%error, "a connection failed");
    }
}

/// hyper panics for a smaller buffer.
const MIN_BUFFER_BYTES: usize = 8192;

/// A stream that reports its progress.
struct WatchedIo<S> {
    inner: TokioIo<S>,
    progress: Arc<Progress>,
}

impl<S: AsyncRead + Unpin> Read for WatchedIo<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        let polled = Pin::new(&mut self.inner).poll_read(cx, buffer);
        if let Poll::Ready(Ok(())) = polled {
            self.progress.read_bytes();
        }
        polled
    }
}

impl<S: AsyncWrite + Unpin> WatchedIo<S> {
    fn wrote(&self, polled: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        match polled {
            Poll::Ready(Ok(_)) => self.progress.wrote_bytes(),
            Poll::Ready(Err(_)) => {}
            Poll::Pending => self.progress.has_to_write(),
        }
        polled
    }
}

impl<S: AsyncWrite + Unpin> Write for WatchedIo<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.inner).poll_write(cx, bytes);
        self.wrote(polled)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.inner).poll_write_vectored(cx, bytes);
        self.wrote(polled)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let polled = Pin::new(&mut self.inner).poll_flush(cx);
        if let Poll::Ready(Ok(())) = polled {
            self.progress.flushed();
        }
        polled
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(cx)
    }
}
