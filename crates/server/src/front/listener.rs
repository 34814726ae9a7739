//! Accepts the connections of one protocol: TLS handshake, then HTTP, each under watch.

use super::progress::{ANSWER_TIME_MAX, Patience, Progress, Watch};
use super::{Protocol, connection};
use crate::accept::accept;
use crate::metrics::ConnectionFault;
use partita_rt::Tasks;
use partita_rt::net::{Listener, Stream};
use std::net::SocketAddr;
use std::sync::Arc;
use tokio_rustls::TlsAcceptor;

/// Accepts connections until shutdown. Connections are tasks of `tasks`: draining them waits for the requests under way.
pub(super) async fn listen<P: Protocol>(
    protocol: Arc<P>,
    listener: Box<dyn Listener>,
    tasks: Tasks,
) {
    let limits = &protocol.front().parts.limits;
    let watch = Watch::new(Patience {
        idle: limits.idle_timeout,
        head: limits.header_timeout,
        stall: limits.stall_timeout,
        answer: ANSWER_TIME_MAX,
    });
    let watching = Arc::clone(&watch).run(tasks.shutdown());
    tasks.spawn("watch connections", watching);
    let tls = protocol.front().parts.tls.clone().map(TlsAcceptor::from);
    let serve = |stream, peer, permit| {
        let watched = watch.watch();
        let (protocol, tls) = (Arc::clone(&protocol), tls.clone());
        tasks.spawn("connection", async move {
            let progress = Arc::clone(&watched.progress);
            open(protocol, tls, stream, peer, progress).await;
            drop((watched, permit));
        });
    };
    accept(&*listener, limits.connections_max, tasks.shutdown(), serve).await;
}

async fn open<P: Protocol>(
    protocol: Arc<P>,
    tls: Option<TlsAcceptor>,
    stream: Stream,
    peer: SocketAddr,
    progress: Arc<Progress>,
) {
    let address = Some(peer.ip());
    let Some(tls) = tls else {
        return connection::serve(protocol, stream, address, progress).await;
    };
    let front = protocol.front();
    let handshake = tokio::time::timeout(front.parts.limits.header_timeout, tls.accept(stream));
    match handshake.await {
        Ok(Ok(stream)) => connection::serve(protocol, stream, address, progress).await,
        failed => {
            front.parts.metrics.connection_failed(ConnectionFault::Tls);
            tracing::debug!(?failed, "a TLS handshake failed");
        }
    }
}
