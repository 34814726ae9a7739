//! HTTP/1.1 over a watched stream.

use super::progress::{Ended, Order, Phase, Progress};
use super::stream::WatchedStream;
use super::watch::Watched;
use bytes::Bytes;
use hyper::body::{Body, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use partita_service::MemoryBudget;
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _};

/// The bounds of the heads of requests on a connection.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Buffers<'a> {
    /// The maximum size of a request's head, in bytes, with the blank line at its end. A longer one is answered 431.
    pub(crate) head_bytes_max: usize,
    /// The memory of buffers beyond the first 16 KiB.
    pub(crate) memory: &'a Arc<MemoryBudget>,
}

/// The smallest buffer that hyper accepts; it panics for a smaller one.
const MIN_BUFFER_BYTES: usize = 8192;

/// The first bytes of an HTTP/2 connection (RFC 9113, section 3.4).
const HTTP2_PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// The answer to them.
const HTTP2_REFUSAL: &[u8] = b"HTTP/1.1 505 HTTP Version Not Supported\r\nConnection: close\r\n\
    Content-Length: 0\r\n\r\n";

/// Answers requests until the client disconnects, the connection is overdue, its place is needed, or the server shuts
/// down (the request under way is answered first). hyper reads the next request only after the client's socket has
/// taken the whole answer, so a client that does not receive gets no further request executed.
///
/// A connection that has been idle for a while gives back hyper's buffers, so that idle connections cost little memory.
pub(crate) async fn serve<S, A, F, B>(
    stream: S,
    watched: &Watched,
    buffers: Buffers<'_>,
    answer: A,
) -> Ended
where
    S: AsyncRead + AsyncWrite + Unpin,
    A: Fn(Request<Incoming>) -> F,
    F: Future<Output = Response<B>>,
    B: Body<Data = Bytes> + 'static,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let progress = &*watched.progress;
    let memory = Arc::clone(buffers.memory);
    let mut stream = WatchedStream::new(stream, Arc::clone(&watched.progress), memory);
    loop {
        // The future is in a box, so that the task of an idle connection is small.
        match Box::pin(exchange(stream, watched, buffers, &answer)).await {
            Exchanged::Ended(ended) => return ended,
            Exchanged::Idle(idle) => stream = idle,
        }
        // Only waits: the next exchange handles the bytes, the end of the stream, or the order.
        tokio::select! {
            biased;
            () = stream.readable() => {}
            _ = progress.next_order(Order::GoOn) => {}
        }
    }
}

/// The outcome of [`exchange`].
enum Exchanged<S> {
    Ended(Ended),
    /// The connection has been idle for a while.
    Idle(WatchedStream<S>),
}

/// Answers requests until the connection ends, or until it has been idle for a while.
async fn exchange<S, A, F, B>(
    stream: WatchedStream<S>,
    watched: &Watched,
    buffers: Buffers<'_>,
    answer: &A,
) -> Exchanged<S>
where
    S: AsyncRead + AsyncWrite + Unpin,
    A: Fn(Request<Incoming>) -> F,
    F: Future<Output = Response<B>>,
    B: Body<Data = Bytes> + 'static,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let progress = &*watched.progress;
    let service = service_fn(|request: Request<Incoming>| {
        progress.enter(Phase::Working);
        let answering = answer(request);
        async move { Ok::<_, Infallible>(answering.await) }
    });
    let mut http = http1::Builder::new();
    // hyper may read past the buffer's size when a head arrives in large pieces; the second limit is exact.
    http.max_buf_size(buffers.head_bytes_max.max(MIN_BUFFER_BYTES))
        .max_header_size(buffers.head_bytes_max)
        .header_read_timeout(None)
        .half_close(false);
    let mut connection = http.serve_connection(TokioIo::new(stream), service);
    let mut order = Order::GoOn;
    let ended = loop {
        let next = tokio::select! {
            biased;
            ended = &mut connection => break ended,
            next = progress.next_order_or_rest(order) => next,
        };
        let Some(next) = next else {
            // A request may have begun after the connection was told to rest.
            if progress.state().phase() == Phase::Idle {
                return Exchanged::Idle(stream_of(connection.into_parts()));
            }
            continue;
        };
        order = next;
        match order {
            Order::BreakOff if progress.state().phase() == Phase::Linger => {
                return Exchanged::Ended(Ended::Closed);
            }
            Order::BreakOff => return Exchanged::Ended(Ended::Slow),
            Order::MakeRoom if watched.may_be_evicted() => {
                return Exchanged::Ended(Ended::Evicted);
            }
            Order::MakeRoom | Order::End | Order::GoOn => {
                Pin::new(&mut connection).graceful_shutdown();
            }
        }
    };
    let Err(error) = ended else {
        return Exchanged::Ended(Ended::Closed);
    };
    tracing::debug!(%error, "a connection failed");
    let parts = connection.into_parts();
    if parts.read_buf.starts_with(HTTP2_PREFACE) {
        refuse_http2(parts.io.into_inner(), progress).await;
    }
    Exchanged::Ended(if error.is_parse() || error.is_parse_too_large() {
        Ended::Protocol
    } else {
        Ended::Broken
    })
}

/// Answers a client that begins with HTTP/2, for which hyper has no answer, and discards the rest of what it sends.
async fn refuse_http2<S>(mut stream: WatchedStream<S>, progress: &Progress)
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    progress.linger_after_answer();
    let answering = async {
        stream.write_all(HTTP2_REFUSAL).await?;
        stream.shutdown().await
    };
    tokio::select! {
        biased;
        // Fails only if the client has disconnected.
        _ = answering => {}
        _ = progress.ordered_to_close() => {}
    }
}

/// The stream of an idle connection, with the bytes that hyper has received and not used.
fn stream_of<S, T>(parts: http1::Parts<TokioIo<WatchedStream<S>>, T>) -> WatchedStream<S> {
    let mut stream = parts.io.into_inner();
    // Copies the bytes, because a slice would keep hyper's whole buffer in memory.
    stream.put_back(&parts.read_buf);
    stream
}
