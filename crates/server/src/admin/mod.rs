//! The admin port: health, readiness, metrics and status, for operators and their machines. `docs/admin-api.md`
//! describes it for users.
//!
//! It asks for no credentials, so it shows no keys, listens on loopback unless told otherwise, and takes actions (on ranges) on
//! loopback only, and only with a header that no foreign web page can send. It has bounds of its own and goes on answering when
//! the table port is full.

mod asked;
mod heat;
mod hot;
mod pages;
mod places;
mod ranges;
mod snapshots;
mod status;

#[cfg(test)]
mod tests;

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use partita_rt::Tasks;
use partita_rt::net::{Listener, Stream};
use tokio::sync::Semaphore;

use crate::standing::Standing;

/// Open connections; further ones wait in the listen queue.
const CONNECTIONS_MAX: usize = 64;

/// For the headers of one request.
const HEADER_TIMEOUT: Duration = Duration::from_secs(10);

/// For one connection, from open to close: whoever scrapes comes back in seconds, whoever holds on is cut off.
const CONNECTION_TIMEOUT: Duration = Duration::from_secs(300);

/// Pause after the system refused to hand out a connection, most likely for want of file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Serves the admin API until `tasks` are asked to end. Connections run as tasks of the same set.
pub async fn serve(listener: Box<dyn Listener>, standing: Arc<Standing>, tasks: Tasks) {
    let shutdown = tasks.shutdown();
    let room = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    loop {
        let accepted = tokio::select! {
            () = shutdown.requested() => return,
            accepted = accept(&*listener, &room) => accepted,
        };
        let (stream, place) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                tracing::warn!(%error, "admin port cannot take a connection");
                tokio::time::sleep(ACCEPT_PAUSE).await;
                continue;
            }
        };
        let (standing, shutdown) = (Arc::clone(&standing), tasks.shutdown());
        tasks.spawn("admin connection", async move {
            tokio::select! {
                () = shutdown.requested() => {}
                // A client that breaks off, is slow or talks nonsense is no matter of ours.
                _ = tokio::time::timeout(CONNECTION_TIMEOUT, connection(stream, standing)) => {}
            }
            drop(place);
        });
    }
}

/// Waits for room first, so that a connection that cannot be served stays in the queue of the system. Cancel safe.
async fn accept(
    listener: &dyn Listener,
    room: &Arc<Semaphore>,
) -> std::io::Result<(Stream, tokio::sync::OwnedSemaphorePermit)> {
    let place = Arc::clone(room).acquire_owned().await;
    let place = place.expect("the semaphore is never closed");
    let (stream, _) = listener.accept().await?;
    Ok((stream, place))
}

async fn connection(stream: Stream, standing: Arc<Standing>) -> Result<(), hyper::Error> {
    let answer = service_fn(|request| {
        let standing = Arc::clone(&standing);
        async move { Ok::<_, Infallible>(pages::answer(request, &standing).await) }
    });
    http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_TIMEOUT)
        .max_buf_size(16 << 10)
        .serve_connection(TokioIo::new(stream), answer)
        .await
}
