//! Two servers over real sockets or in virtual time, with a handler that the test controls.

mod bounds;
mod broken;
mod connecting;
mod exchange;
mod proxy;
mod random_cuts;
mod virtual_time;
mod wire;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use parking_lot::Mutex;
use partita_rt::net::{MachineNetwork, Network};
use partita_rt::{Clock, SystemClock, Tasks};
use tokio::sync::{Notify, Semaphore};

use super::*;
use crate::key::{ClusterKey, Identity, ServerName};

/// Times that a loaded machine does not exceed.
fn patient() -> Settings {
    let patience = Duration::from_secs(60);
    Settings {
        connect_timeout: patience,
        ping_timeout: patience,
        server_ping: patience,
        ..Settings::default()
    }
}

fn name(text: &str) -> ServerName {
    ServerName::new(text).unwrap()
}

/// An identity of the key, which can be used again.
fn identity(key: &ClusterKey, server: &str, clock: Arc<dyn Clock>) -> Arc<Identity> {
    let key = ClusterKey::parse(key.text().as_bytes()).unwrap();
    Identity::issue(key, name(server), clock).unwrap()
}

/// Answers with the request. Words of the head change that:
/// - `panic` panics; `refuse` refuses; `wait` answers when the test allows it; `page` answers with a MiB in pieces;
///   `first` does not wait for the end of the body.
#[derive(Debug, Default)]
struct TestHandler {
    /// How often the handler has seen each head.
    seen: Mutex<HashMap<Bytes, usize>>,
    has_seen: Notify,
    /// How many requests may answer.
    may_answer: Arc<Answers>,
    /// Requests that were dropped before they answered.
    dropped: Arc<Dropped>,
}

#[derive(Debug)]
struct Answers(Semaphore);

impl Default for Answers {
    fn default() -> Self {
        Self(Semaphore::new(0))
    }
}

#[derive(Debug, Default)]
struct Dropped {
    count: Mutex<usize>,
    changed: Notify,
}

/// Counts a request as dropped unless it ends.
struct Running(Option<Arc<Dropped>>);

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(dropped) = &self.0 {
            *dropped.count.lock() += 1;
            dropped.changed.notify_waiters();
        }
    }
}

impl TestHandler {
    fn times_seen(&self, head: &[u8]) -> usize {
        self.seen.lock().get(head).copied().unwrap_or_default()
    }

    /// Waits until a request has been seen.
    async fn wait_for(&self, head: &[u8]) {
        loop {
            let changed = self.has_seen.notified();
            if self.times_seen(head) > 0 {
                return;
            }
            changed.await;
        }
    }

    /// Waits until requests were dropped.
    async fn wait_for_dropped(&self, count: usize) {
        loop {
            let changed = self.dropped.changed.notified();
            if *self.dropped.count.lock() >= count {
                return;
            }
            changed.await;
        }
    }
}

const PAGE_PIECES: usize = 4;
const PIECE_BYTES: usize = 256 << 10;

impl Handler for TestHandler {
    async fn handle(&self, request: Received) -> Outcome {
        let mut running = Running(Some(Arc::clone(&self.dropped)));
        let head = request.head.clone();
        *self.seen.lock().entry(head.clone()).or_default() += 1;
        self.has_seen.notify_waiters();
        assert!(!head.starts_with(b"panic"), "planted");
        if head.starts_with(b"wait") {
            self.may_answer.0.acquire().await.unwrap().forget();
        }
        let body = match head.starts_with(b"first") {
            true => Ok(Bytes::new()),
            false => request.body.collect(64 << 20).await,
        };
        running.0 = None;
        if head.starts_with(b"refuse") {
            return Err(Refuse);
        }
        let body = match body {
            Ok(_) if head.starts_with(b"page") => {
                vec![Bytes::from(vec![7; PIECE_BYTES]); PAGE_PIECES]
            }
            Ok(body) => vec![body],
            Err(_) => return Err(Refuse),
        };
        let head = [request.peer.as_str().as_bytes(), b" sent ", &head].concat();
        Ok(Reply { head, body })
    }
}

/// A server named `b` with a handler, and the peers of a server named `a`.
struct Pair {
    handler: Arc<TestHandler>,
    address: Address,
    peers: Peers,
    server_tasks: Tasks,
    client_tasks: Tasks,
}

impl Pair {
    /// Over real sockets.
    async fn start(settings: Settings) -> Self {
        Self::on(Arc::new(MachineNetwork), settings.clone(), settings).await
    }

    async fn on(network: Arc<dyn Network>, server: Settings, client: Settings) -> Self {
        let key = ClusterKey::create().unwrap();
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let server_identity = identity(&key, "b", Arc::clone(&clock));
        let (handler, address, server_tasks) = serve(&network, &server_identity, server).await;
        let client_tasks = Tasks::new();
        let client_identity = identity(&key, "a", clock);
        let peers = Peers::new(client_identity, network, client, client_tasks.clone());
        Self {
            handler,
            address,
            peers,
            server_tasks,
            client_tasks,
        }
    }

    fn peer(&self) -> Peer {
        self.peers.peer(&name("b"), &self.address).unwrap()
    }

    /// Sends a small request without a body in a task.
    fn send(&self, head: &'static str) -> tokio::task::JoinHandle<Result<Answer, SendError>> {
        let peer = self.peer();
        let sending = async move { peer.send(Class::Small, head.as_bytes(), Bytes::new()).await };
        self.client_tasks.spawn("test request", sending)
    }
}

/// Starts a server on a free port.
async fn serve(
    network: &Arc<dyn Network>,
    identity: &Arc<Identity>,
    settings: Settings,
) -> (Arc<TestHandler>, Address, Tasks) {
    let listener = network.listen("127.0.0.1", 0).await.unwrap();
    let address = listener.address().unwrap().to_string().parse().unwrap();
    let handler = Arc::new(TestHandler::default());
    let tasks = Tasks::new();
    let server = Server::new(identity, settings).unwrap();
    let running = server.run(listener, Arc::clone(&handler), tasks.clone());
    tasks.spawn("test server", running);
    (handler, address, tasks)
}

fn is_not_processed(result: &Result<Answer, SendError>) -> bool {
    matches!(result, Err(SendError::NotProcessed(_)))
}

fn is_unknown(result: &Result<Answer, SendError>) -> bool {
    matches!(result, Err(SendError::Unknown(_)))
}
