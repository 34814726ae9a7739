//! The admin port: health, readiness, metrics and the admin API, for operators and their programs. `docs/admin-api.md` describes
//! it for users, `partita_wire::admin` has its documents as types.
//!
//! - It asks for no credentials, so it shows no keys and listens on loopback unless told otherwise.
//! - It takes actions on loopback only, and only with a header that no foreign web page can send.
//! - It has limits of its own and goes on answering when the table port is full.

mod answer;
mod heat;
mod hot;
mod named_keys;
mod pages;
mod params;
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

use crate::status::ServerStatus;

/// Open connections; further ones wait in the listen queue.
const CONNECTIONS_MAX: usize = 64;

/// For the headers of one request.
const HEADER_TIMEOUT: Duration = Duration::from_secs(10);

/// For one connection, from open to close. Programs that poll come back in seconds.
const CONNECTION_TIMEOUT: Duration = Duration::from_secs(300);

/// Pause after the system refused to hand out a connection, most likely for want of file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Serves the admin API until `tasks` are asked to end. Connections run as tasks of the same set.
pub async fn serve(listener: Box<dyn Listener>, status: Arc<ServerStatus>, tasks: Tasks) {
    let shutdown = tasks.shutdown();
    let room = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    loop {
        let accepted = tokio::select! {
            () = shutdown.requested() => return,
            accepted = accept(&*listener, &room) => accepted,
        };
        let (stream, permit) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                tracing::warn!(%error, "admin port cannot accept a connection");
                tokio::time::sleep(ACCEPT_PAUSE).await;
                continue;
            }
        };
        let (status, shutdown) = (Arc::clone(&status), tasks.shutdown());
        tasks.spawn("admin connection", async move {
            tokio::select! {
                () = shutdown.requested() => {}
                // A client that disconnects, is slow or sends garbage is not an error of the server.
                _ = tokio::time::timeout(CONNECTION_TIMEOUT, connection(stream, status)) => {}
            }
            drop(permit);
        });
    }
}

/// Waits for room first, so that a connection that cannot be served stays in the listen queue. Cancel safe.
async fn accept(
    listener: &dyn Listener,
    room: &Arc<Semaphore>,
) -> std::io::Result<(Stream, tokio::sync::OwnedSemaphorePermit)> {
    let permit = Arc::clone(room).acquire_owned().await;
    let permit = permit.expect("the semaphore is never closed");
    let (stream, _) = listener.accept().await?;
    Ok((stream, permit))
}

async fn connection(stream: Stream, status: Arc<ServerStatus>) -> Result<(), hyper::Error> {
    let answer = service_fn(|request| {
        let status = Arc::clone(&status);
        async move { Ok::<_, Infallible>(pages::answer(request, &status).await) }
    });
    http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_TIMEOUT)
        .max_buf_size(16 << 10)
        .serve_connection(TokioIo::new(stream), answer)
        .await
}
