//! Accepts connections up to a limit; at the limit, further clients wait in the listen queue.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use partita_rt::Shutdown;
use partita_rt::net::{Listener, Stream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Pause after a failed accept. Most likely no file descriptor is free, and immediate retries would only use up a core.
const PAUSE: Duration = Duration::from_millis(50);

/// Opens each accepted connection, until shutdown. A connection counts until its permit is dropped.
pub(crate) async fn accept(
    listener: &dyn Listener,
    connections_max: usize,
    shutdown: Shutdown,
    mut open: impl FnMut(Stream, SocketAddr, OwnedSemaphorePermit) + Send,
) {
    let room = Arc::new(Semaphore::new(connections_max));
    loop {
        let accepted = tokio::select! {
            () = shutdown.requested() => return,
            accepted = accept_one(listener, &room) => accepted,
        };
        match accepted {
            Ok((stream, peer, permit)) => open(stream, peer, permit),
            Err(error) => {
                tracing::warn!(%error, "accepting a connection failed");
                tokio::time::sleep(PAUSE).await;
            }
        }
    }
}

/// Waits for a permit first, so that a connection above the limit stays in the listen queue. Cancel safe.
async fn accept_one(
    listener: &dyn Listener,
    room: &Arc<Semaphore>,
) -> io::Result<(Stream, SocketAddr, OwnedSemaphorePermit)> {
    let permit = Arc::clone(room).acquire_owned().await;
    let permit = permit.expect("the semaphore is never closed");
    let (stream, peer) = listener.accept().await?;
    Ok((stream, peer, permit))
}
