//! HTTP/1.1 over a watched stream.

use super::progress::{Ended, Order, Phase};
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
use std::pin::pin;
use std::sync::Arc;
use tokio::io::{AsyncRead, AsyncWrite};

/// What a connection may use.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Buffers<'a> {
    /// Size of a request's head.
    pub(crate) head_bytes_max: usize,
    /// The memory for long heads.
    pub(crate) memory: &'a Arc<MemoryBudget>,
}

/// The smallest buffer that hyper accepts; it panics for a smaller one.
const MIN_BUFFER_BYTES: usize = 8192;

/// Answers requests until the client disconnects, the connection is overdue, its place is needed, or the server shuts down
/// (the request under way is answered first). hyper reads the next request only after the client's socket has taken the whole
/// answer, so a client that does not receive gets no further request executed.
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
    B: Body<Data = Bytes, Error = Infallible> + 'static,
{
    let progress = &*watched.progress;
    let memory = Arc::clone(buffers.memory);
    let stream = WatchedStream::new(stream, Arc::clone(&watched.progress), memory);
    let service = service_fn(|request: Request<Incoming>| {
        progress.enter(Phase::Working);
        let answering = answer(request);
        async move { Ok::<_, Infallible>(answering.await) }
    });
    let mut http = http1::Builder::new();
    http.max_buf_size(buffers.head_bytes_max.max(MIN_BUFFER_BYTES))
        .header_read_timeout(None)
        .half_close(false);
    let mut connection = pin!(http.serve_connection(TokioIo::new(stream), service));
    let mut order = Order::GoOn;
    let ended = loop {
        tokio::select! {
            biased;
            ended = connection.as_mut() => break ended,
            next = progress.next_order(order) => order = next,
        }
        match order {
            Order::BreakOff if progress.state().phase() == Phase::Linger => return Ended::Closed,
            Order::BreakOff => return Ended::Slow,
            Order::MakeRoom if watched.may_be_evicted() => return Ended::Evicted,
            Order::MakeRoom | Order::End | Order::GoOn => connection.as_mut().graceful_shutdown(),
        }
    };
    let Err(error) = ended else {
        return Ended::Closed;
    };
    tracing::debug!(%error, "a connection failed");
    if error.is_parse() || error.is_parse_too_large() {
        Ended::Protocol
    } else {
        Ended::Broken
    }
}
