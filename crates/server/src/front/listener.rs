//! Accepts the connections of one protocol.

use super::Protocol;
use super::connection;
use super::progress::{ANSWER_TIME_MAX, Patience, Progress, Watch};
use crate::metrics::ConnectionFault;
use partita_rt::Tasks;
use partita_rt::net::{Listener, Stream};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Semaphore;
use tokio_rustls::TlsAcceptor;

/// Accepts connections until shutdown. Connections are tasks of `tasks`: draining it waits for the requests under way.
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
    tasks.spawn(
        "watch connections",
        Arc::clone(&watch).run(tasks.shutdown()),
    );
    let room = Arc::new(Semaphore::new(limits.connections_max));
    let tls = protocol.front().parts.tls.clone().map(TlsAcceptor::from);
    let shutdown = tasks.shutdown();
    loop {
        // At the limit, further clients wait in the kernel's queue.
        let Ok(permit) = Arc::clone(&room).acquire_owned().await else {
            return;
        };
        let accepted = tokio::select! {
            () = shutdown.requested() => return,
            accepted = listener.accept() => accepted,
        };
        let (stream, peer) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                tracing::warn!(%error, "accepting a connection failed");
                // Out of file descriptors: retrying at once would only use up a core.
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            }
        };
        let watched = watch.watch();
        let (protocol, tls) = (Arc::clone(&protocol), tls.clone());
        tasks.spawn("connection", async move {
            let progress = Arc::clone(&watched.progress);
            open(protocol, tls, stream, peer, progress).await;
            drop((watched, permit));
        });
    }
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
