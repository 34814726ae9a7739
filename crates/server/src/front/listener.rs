//! Accepts the connections of one protocol: first byte, TLS handshake, then HTTP, all with time limits.

use super::answer::answer;
use super::protocol::Protocol;
use super::request_head::Client;
use super::spellings::{SpelledStream, Spellings};
use crate::connections::{self, Buffers, Ended, Phase, Watched, accept};
use crate::metrics::ConnectionFault;
use partita_rt::Tasks;
use partita_rt::net::{Listener, Stream, readable};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::TlsAcceptor;

/// Accepts connections until shutdown. Connections are tasks of `tasks`: draining them waits for the requests under
/// way.
pub(super) async fn listen<P: Protocol>(
    protocol: Arc<P>,
    listener: Box<dyn Listener>,
    tasks: Tasks,
) {
    let parts = Arc::clone(&protocol.front().parts);
    let tls = parts.tls.clone().map(TlsAcceptor::from);
    let serve = |stream, peer, watched| {
        let (protocol, tls) = (Arc::clone(&protocol), tls.clone());
        tasks.spawn("connection", open(protocol, tls, stream, peer, watched));
    };
    let (watch, connections_max) = (&parts.connections.0, parts.limits.connections_max);
    accept(&*listener, watch, connections_max, tasks.shutdown(), serve).await;
}

async fn open<P: Protocol>(
    protocol: Arc<P>,
    tls: Option<TlsAcceptor>,
    mut stream: Stream,
    peer: SocketAddr,
    watched: Watched,
) {
    let metrics = Arc::clone(&protocol.front().parts.metrics);
    let _open = metrics.connection();
    let fault = match first_byte(&mut stream, &watched).await {
        // The future is in a box, so that the task of a silent connection is small.
        Ok(()) => Box::pin(serve(protocol, tls, stream, peer.ip(), &watched)).await,
        Err(ended) => fault(ended),
    };
    if let Some(fault) = fault {
        metrics.connection_failed(fault);
    }
}

/// Waits for the first byte.
async fn first_byte(stream: &mut Stream, watched: &Watched) -> Result<(), Ended> {
    tokio::select! {
        biased;
        readable = readable(stream) => readable.map_err(|_| Ended::Broken),
        ended = watched.progress.ordered_to_close() => Err(ended),
    }
}

/// Serves a connection whose client has sent something. Returns why it ended, unless by its client.
async fn serve<P: Protocol>(
    protocol: Arc<P>,
    tls: Option<TlsAcceptor>,
    stream: Stream,
    peer: IpAddr,
    watched: &Watched,
) -> Option<ConnectionFault> {
    match tls {
        None => serve_http(&*protocol, stream, peer, watched).await,
        // The future is in a box, so that the tasks of connections without TLS are small.
        Some(tls) => Box::pin(serve_tls(&*protocol, tls, stream, peer, watched)).await,
    }
}

async fn serve_tls<P: Protocol>(
    protocol: &P,
    tls: TlsAcceptor,
    stream: Stream,
    peer: IpAddr,
    watched: &Watched,
) -> Option<ConnectionFault> {
    let shaken = tokio::select! {
        biased;
        shaken = tls.accept(stream) => shaken,
        ended = watched.progress.ordered_to_close() => return fault(ended).map(as_tls),
    };
    match shaken {
        Ok(stream) => {
            watched.progress.enter(Phase::New);
            serve_http(protocol, stream, peer, watched).await
        }
        Err(error) => {
            tracing::debug!(%error, "a TLS handshake failed");
            Some(ConnectionFault::Tls)
        }
    }
}

async fn serve_http<P, S>(
    protocol: &P,
    stream: S,
    peer: IpAddr,
    watched: &Watched,
) -> Option<ConnectionFault>
where
    P: Protocol,
    S: AsyncRead + AsyncWrite + Unpin,
{
    let parts = &protocol.front().parts;
    let buffers = Buffers {
        head_bytes_max: parts.limits.header_bytes_max,
        memory: &parts.memory,
    };
    let spellings = P::KEEPS_SPELLINGS.then(Arc::<Spellings>::default);
    let stream = SpelledStream::new(stream, spellings.clone());
    let client = Client {
        peer: Some(peer),
        spellings: spellings.as_deref(),
    };
    let answer = |request| answer(protocol, request, client, &watched.progress);
    fault(connections::serve(stream, watched, buffers, answer).await)
}

const fn fault(ended: Ended) -> Option<ConnectionFault> {
    match ended {
        Ended::Closed => None,
        Ended::Slow => Some(ConnectionFault::Slow),
        Ended::Evicted => Some(ConnectionFault::Evicted),
        Ended::Protocol => Some(ConnectionFault::Protocol),
        Ended::Broken => Some(ConnectionFault::Broken),
    }
}

/// A handshake that takes too long counts as a fault of TLS.
fn as_tls(fault: ConnectionFault) -> ConnectionFault {
    match fault {
        ConnectionFault::Slow => ConnectionFault::Tls,
        other => other,
    }
}
