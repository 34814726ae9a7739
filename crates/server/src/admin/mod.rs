//! The admin port: health, readiness, metrics and the admin API, for operators and their programs. `docs/admin-api.md`
//! describes it for users, `partita_wire::admin` has its documents as types.
//!
//! - It needs no credentials, so it shows no keys and listens on loopback by default.
//! - It accepts actions on loopback only, and only with a header that foreign web pages cannot send.
//! - Its limits are separate: it still answers when the table port has reached its limit of connections.
//! - It always takes a new connection, and answers probes whatever other clients do.

mod answer;
mod elsewhere;
mod heat;
mod here;
mod hot;
mod merged;
mod named_keys;
mod pages;
mod params;
mod peers;
mod queues;
mod ranges;
mod servers;
mod snapshots;
mod status;
mod wall_clock;

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use partita_rt::Tasks;
use partita_rt::net::{Listener, Stream, readable};
use partita_service::MemoryBudget;
use tokio::sync::Semaphore;

use crate::connections::{self, Buffers, Evicts, Patience, Watch, Watched, accept};
use crate::status::ServerStatus;
pub(crate) use elsewhere::answer as answer_server;
use pages::PageContext;
pub(crate) use wall_clock::wall_clock_of;

/// The maximum number of open connections. A new connection takes the place of the one that has waited longest, so a
/// probe is cut off only if this many other clients connect before its request arrives.
const CONNECTIONS_MAX: usize = 128;

/// The maximum number of requests under way, except probes. It is less than [`CONNECTIONS_MAX`], so there is always a
/// connection without a request, which can be closed for a probe.
const REQUESTS_MAX: usize = 32;

/// The maximum number of bytes of a request's head.
const HEAD_BYTES_MAX: usize = 16 << 10;

/// The time limits are short: operators' programs are on a near network, and a client that needs longer can connect
/// again. A running action has no limit.
const PATIENCE: Patience = Patience {
    head: Duration::from_secs(5),
    idle: Duration::from_secs(5),
    stall: Duration::from_secs(10),
    rate_min: 2 << 10,
    linger: Duration::ZERO,
    evicts: Evicts::AllButWorking,
};

/// Serves the admin API until the shutdown of `tasks`. Connections run as tasks of the same set.
pub async fn serve(listener: Box<dyn Listener>, status: Arc<ServerStatus>, tasks: Tasks) {
    let watch = Watch::new(PATIENCE);
    let watching = Arc::clone(&watch).run(tasks.shutdown());
    tasks.spawn("watch admin connections", watching);
    let running = Arc::new(Semaphore::new(REQUESTS_MAX));
    let open = |stream, _, watched| {
        let (status, running, shutdown) =
            (Arc::clone(&status), Arc::clone(&running), tasks.shutdown());
        tasks.spawn("admin connection", async move {
            tokio::select! {
                () = shutdown.requested() => {}
                () = connection(stream, watched, &status, &running) => {}
            }
        });
    };
    accept(&*listener, &watch, CONNECTIONS_MAX, tasks.shutdown(), open).await;
}

async fn connection(
    mut stream: Stream,
    watched: Watched,
    server: &ServerStatus,
    running: &Semaphore,
) {
    let progress = &*watched.progress;
    tokio::select! {
        biased;
        _ = readable(&mut stream) => {}
        _ = progress.ordered_to_close() => return,
    }
    let context = PageContext {
        server,
        progress,
        running,
    };
    let answer = |request| pages::answer(request, context);
    let buffers = Buffers {
        head_bytes_max: HEAD_BYTES_MAX,
        memory: &MemoryBudget::unlimited(),
    };
    // Ignores how the connection ended: a client that disconnects, is slow or sends garbage is not an error of the
    // server.
    connections::serve(stream, &watched, buffers, answer).await;
}
