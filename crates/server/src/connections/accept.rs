//! Accepts connections. When all places are taken, the connection that has waited longest makes room; while all have
//! requests under way, further clients wait in the listen queue.

use super::{Watch, Watched};
use partita_rt::Shutdown;
use partita_rt::net::{Listener, Stream};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

/// Pause after a failed accept. Most likely no file descriptor is free, and immediate retries would only use up a core.
const PAUSE: Duration = Duration::from_millis(50);

/// Accepts connections until shutdown, and passes each to `open`. A connection takes one of the `connections_max`
/// places until its [`Watched`] is dropped.
pub(crate) async fn accept(
    listener: &dyn Listener,
    watch: &Arc<Watch>,
    connections_max: usize,
    shutdown: Shutdown,
    mut open: impl FnMut(Stream, SocketAddr, Watched) + Send,
) {
    loop {
        let accepted = tokio::select! {
            () = shutdown.requested() => return,
            accepted = accept_one(listener, watch, connections_max) => accepted,
        };
        match accepted {
            Ok((stream, peer)) => open(stream, peer, watch.watch()),
            Err(error) => {
                let evicted = watch.evict();
                tracing::warn!(%error, evicted, "accepting a connection failed");
                tokio::time::sleep(PAUSE).await;
            }
        }
    }
}

/// Accepts first and then makes room, so that a connection is closed only when a new one needs its place.
async fn accept_one(
    listener: &dyn Listener,
    watch: &Watch,
    connections_max: usize,
) -> io::Result<(Stream, SocketAddr)> {
    let accepted = listener.accept().await?;
    watch.make_room(connections_max).await;
    Ok(accepted)
}
