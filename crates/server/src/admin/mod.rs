//! The admin port: health, readiness, metrics and the admin API, for operators and their programs. `docs/admin-api.md` describes
//! it for users, `partita_wire::admin` has its documents as types.
//!
//! - It needs no credentials, so it shows no keys and listens on loopback by default.
//! - It accepts actions on loopback only, and only with a header that foreign web pages cannot send.
//! - Its limits are separate: it still answers when the table port has reached its limit of connections.

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

use crate::accept::accept;
use crate::status::ServerStatus;

/// Open connections at a time.
const CONNECTIONS_MAX: usize = 64;

/// Time for the headers of one request.
const HEADER_TIMEOUT: Duration = Duration::from_secs(10);

/// Time for one connection, from open to close.
const CONNECTION_TIMEOUT: Duration = Duration::from_secs(300);

/// Serves the admin API until the shutdown of `tasks`. Connections run as tasks of the same set.
pub async fn serve(listener: Box<dyn Listener>, status: Arc<ServerStatus>, tasks: Tasks) {
    let open = |stream, _, permit| {
        let (status, shutdown) = (Arc::clone(&status), tasks.shutdown());
        tasks.spawn("admin connection", async move {
            tokio::select! {
                () = shutdown.requested() => {}
                // A client that disconnects, is slow or sends garbage is not an error of the server.
                _ = tokio::time::timeout(CONNECTION_TIMEOUT, connection(stream, status)) => {}
            }
            drop(permit);
        });
    };
    accept(&*listener, CONNECTIONS_MAX, tasks.shutdown(), open).await;
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
