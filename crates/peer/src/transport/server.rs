//! Accepts the connections of peers.

use std::fmt;
use std::future::poll_fn;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use h2::RecvStream;
use h2::server::{Builder, Connection, SendResponse};
use http::Request;
use partita_rt::Tasks;
use partita_rt::net::{Listener, Stream};
use tokio::io::BufReader;
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use super::gather::{Gathered, Outlet, Turn, gather};
use super::greeting::greet;
use super::heartbeat::heartbeat;
use super::serve::{Handler, serve};
use super::settings::{
    CONNECTION_WINDOW_BYTES, FRAME_BYTES_MAX, READ_BUFFER_BYTES, REQUEST_WINDOW_BYTES, Settings,
};
use crate::key::{Identity, KeyError, ServerName, name_of};

/// Pause after a failed accept: most likely no file descriptor is free.
const PAUSE: Duration = Duration::from_millis(50);

/// Accepts the connections of peers.
#[derive(Clone)]
pub struct Server {
    acceptor: TlsAcceptor,
    settings: Settings,
    connections: Arc<AtomicUsize>,
}

impl fmt::Debug for Server {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Server").finish_non_exhaustive()
    }
}

type Verified = TlsStream<BufReader<Stream>>;

/// A verified connection. When it has nothing more to do, the outlet passes on what it wrote.
struct PeerConnection {
    connection: Connection<Gathered<Verified>, Bytes>,
    outlet: Outlet<Verified>,
    turn: Turn,
    /// One clone for each request under way.
    under_way: Arc<()>,
}

/// A request, and where its answer goes.
type Accepted = (Request<RecvStream>, SendResponse<Bytes>);

impl PeerConnection {
    /// The next request; `None` at the end of the connection. Cancel safe.
    async fn accept(&mut self) -> Option<Result<Accepted, h2::Error>> {
        poll_fn(|context| self.poll_accept(context)).await
    }

    fn poll_accept(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Accepted, h2::Error>>> {
        let under_way = Arc::strong_count(&self.under_way) - 1;
        if self.turn.waits(under_way, context) {
            return Poll::Pending;
        }
        let accepted = self.connection.poll_accept(context);
        if accepted.is_pending() {
            self.turn.end();
            self.outlet.pass_on(context);
        }
        accepted
    }
}

/// Counts a connection until it ends.
struct Place(Arc<AtomicUsize>);

impl Drop for Place {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Server {
    /// A server with this identity.
    ///
    /// # Errors
    /// When TLS does not accept the own certificate.
    pub fn new(identity: &Arc<Identity>, settings: Settings) -> Result<Self, KeyError> {
        Ok(Self {
            acceptor: TlsAcceptor::from(identity.server_config()?),
            settings,
            connections: Arc::default(),
        })
    }

    /// Accepts connections until the shutdown of `tasks`; each connection and each request is one of its tasks. After
    /// the shutdown, connections take no further request, tell their peers so, and end with their last answer.
    pub async fn run(self, listener: Box<dyn Listener>, handler: Arc<impl Handler>, tasks: Tasks) {
        let shutdown = tasks.shutdown();
        loop {
            let accepted = tokio::select! {
                () = shutdown.requested() => return,
                accepted = listener.accept() => accepted,
            };
            match accepted {
                Ok((stream, address)) => {
                    let Some(place) = self.place() else {
                        tracing::warn!(%address, "refused a connection: too many peers are connected");
                        continue;
                    };
                    let connection =
                        self.clone()
                            .connection(stream, place, Arc::clone(&handler), tasks.clone());
                    tasks.spawn("connection of a peer", async move {
                        if let Err(error) = connection.await {
                            tracing::warn!(%address, %error, "a peer did not connect");
                        }
                    });
                }
                Err(error) => {
                    tracing::warn!(%error, "accepting a peer failed");
                    sleep(PAUSE).await;
                }
            }
        }
    }

    fn place(&self) -> Option<Place> {
        let place = Place(Arc::clone(&self.connections));
        let others = self.connections.fetch_add(1, Ordering::Relaxed);
        (others < self.settings.connections_max).then_some(place)
    }

    /// Serves a connection to its end.
    async fn connection(
        self,
        stream: Stream,
        place: Place,
        handler: Arc<impl Handler>,
        tasks: Tasks,
    ) -> io::Result<()> {
        let (connection, peer) =
            timeout(self.settings.connect_timeout, self.handshake(stream)).await??;
        self.requests(connection, peer, &handler, &tasks).await;
        drop(place);
        Ok(())
    }

    async fn handshake(&self, stream: Stream) -> io::Result<(PeerConnection, ServerName)> {
        let stream = BufReader::with_capacity(READ_BUFFER_BYTES, stream);
        let mut stream = self.acceptor.accept(stream).await?;
        let certificates = stream.get_ref().1.peer_certificates();
        let name = certificates.and_then(|chain| name_of(chain.first()?));
        let name = name.ok_or_else(|| io::Error::other("the certificate has no server name"))?;
        greet(&mut stream).await?;
        let (gathered, outlet) = gather(stream);
        let connection = Builder::new()
            .initial_window_size(REQUEST_WINDOW_BYTES)
            .initial_connection_window_size(CONNECTION_WINDOW_BYTES)
            .max_frame_size(FRAME_BYTES_MAX)
            .max_concurrent_streams(self.settings.streams_max)
            // A front that loses many clients gives up many requests at once: no attack.
            .max_pending_accept_reset_streams(self.settings.streams_max as usize)
            .max_concurrent_reset_streams(self.settings.streams_max as usize)
            .handshake(gathered)
            .await
            .map_err(io::Error::other)?;
        let connection = PeerConnection {
            connection,
            outlet,
            turn: Turn::default(),
            under_way: Arc::default(),
        };
        Ok((connection, name))
    }

    async fn requests(
        &self,
        mut connection: PeerConnection,
        peer: ServerName,
        handler: &Arc<impl Handler>,
        tasks: &Tasks,
    ) {
        let every = self.settings.server_ping;
        let pings = connection.connection.ping_pong();
        let mut dead = std::pin::pin!(heartbeat(pings, every, every, || true));
        let shutdown = tasks.shutdown();
        let mut requested = std::pin::pin!(shutdown.requested());
        let mut is_draining = false;
        loop {
            let accepted = tokio::select! {
                accepted = connection.accept() => accepted,
                () = &mut dead => {
                    tracing::warn!(%peer, "a peer does not answer pings: its connection is closed");
                    return;
                }
                () = &mut requested, if !is_draining => {
                    is_draining = true;
                    connection.connection.graceful_shutdown();
                    continue;
                }
            };
            // After the last request and its answer there is nothing to accept.
            let Some(Ok((request, respond))) = accepted else {
                return;
            };
            let head_max = self.settings.head_bytes_max;
            let handler = Arc::clone(handler);
            let serving = serve(handler, peer.clone(), request, respond, head_max);
            let place = Arc::clone(&connection.under_way);
            tasks.spawn("request of a peer", async move {
                serving.await;
                drop(place);
            });
        }
    }
}
