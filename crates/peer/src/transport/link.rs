//! An open connection to a peer: its driver, and the places of its requests.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use h2::client::{ResponseFuture, SendRequest};
use h2::{PingPong, SendStream};
use http::{Method, Request, Uri, Version};
use parking_lot::Mutex;
use partita_rt::{Shutdown, Tasks};
use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

use super::connect::Driver;
use super::gather::Turn;
use super::heartbeat::heartbeat;
use super::{NotProcessed, Settings};

/// An open connection to a peer.
#[derive(Debug)]
pub(super) struct Link {
    sender: SendRequest<Bytes>,
    usage: Arc<Usage>,
    /// What every stream begins with: the same for all, so HTTP/2 sends it as a few numbers.
    opening: Request<()>,
}

/// The requests of a connection.
#[derive(Debug)]
struct Usage {
    places_max: u32,
    state: Mutex<State>,
    /// Notified when the last request has ended.
    is_unused: Notify,
}

#[derive(Debug)]
struct State {
    in_flight: u32,
    /// When the last request ended.
    idle_since: Instant,
    is_closed: bool,
}

/// The place of a request in its connection, until it is dropped.
#[derive(Debug)]
pub(super) struct InFlight(Arc<Usage>);

impl Drop for InFlight {
    fn drop(&mut self) {
        let mut state = self.0.state.lock();
        state.in_flight -= 1;
        state.idle_since = Instant::now();
        if state.in_flight == 0 {
            drop(state);
            self.0.is_unused.notify_waiters();
        }
    }
}

impl Usage {
    fn enter(self: &Arc<Self>) -> Result<InFlight, NotProcessed> {
        let mut state = self.state.lock();
        if state.is_closed {
            return Err(NotProcessed::Closed);
        }
        if state.in_flight >= self.places_max {
            return Err(NotProcessed::Streams);
        }
        state.in_flight += 1;
        Ok(InFlight(Arc::clone(self)))
    }

    fn in_flight(&self) -> u32 {
        self.state.lock().in_flight
    }

    fn close(&self) {
        self.state.lock().is_closed = true;
    }

    /// Waits for the shutdown of this process and for the last request, and closes the connection for further ones.
    async fn shut_down(&self, shutdown: Shutdown) {
        shutdown.requested().await;
        loop {
            let unused = self.is_unused.notified();
            {
                let mut state = self.state.lock();
                if state.in_flight == 0 {
                    state.is_closed = true;
                    return;
                }
            }
            unused.await;
        }
    }

    /// Waits until the connection has been unused for the time limit, and closes it for further requests.
    async fn idle(&self, settings: &Settings) {
        let mut deadline = Instant::now() + settings.idle_timeout;
        loop {
            sleep_until(deadline).await;
            let mut state = self.state.lock();
            deadline = if state.in_flight > 0 {
                Instant::now() + settings.idle_timeout
            } else {
                state.idle_since + settings.idle_timeout
            };
            if deadline <= Instant::now() {
                state.is_closed = true;
                return;
            }
        }
    }
}

impl Link {
    /// Starts the driver of a connection.
    pub(super) fn start(
        sender: SendRequest<Bytes>,
        mut driver: Driver,
        settings: &Settings,
        tasks: &Tasks,
    ) -> Arc<Self> {
        let usage = Arc::new(Usage {
            places_max: settings.streams_max,
            state: Mutex::new(State {
                in_flight: 0,
                idle_since: Instant::now(),
                is_closed: false,
            }),
            is_unused: Notify::new(),
        });
        let pings = driver.connection.ping_pong();
        let driving = Driving {
            usage: Arc::clone(&usage),
            settings: settings.clone(),
            shutdown: tasks.shutdown(),
        };
        tasks.spawn("connection to a peer", driving.drive(driver, pings));
        let mut opening = Request::new(());
        *opening.method_mut() = Method::POST;
        *opening.uri_mut() = Uri::from_static("https://peer/");
        *opening.version_mut() = Version::HTTP_2;
        Arc::new(Self {
            sender,
            usage,
            opening,
        })
    }

    /// Whether no request can be sent any more.
    pub(super) fn is_closed(&self) -> bool {
        self.usage.state.lock().is_closed
    }

    /// Opens a stream. Nothing has been sent when this fails.
    pub(super) fn open(
        &self,
    ) -> Result<(InFlight, ResponseFuture, SendStream<Bytes>), NotProcessed> {
        let place = self.usage.enter()?;
        let mut sender = self.sender.clone();
        match sender.send_request(self.opening.clone(), false) {
            Ok((response, stream)) => Ok((place, response, stream)),
            Err(error) => {
                // The connection has failed, or the peer is going away: it takes no request any more.
                self.usage.close();
                Err(if error.is_go_away() {
                    NotProcessed::GoingAway
                } else {
                    NotProcessed::Closed
                })
            }
        }
    }
}

/// What a driver of a connection needs.
struct Driving {
    usage: Arc<Usage>,
    settings: Settings,
    shutdown: Shutdown,
}

impl Driving {
    /// Drives a connection until it ends, is idle, or the peer is dead. Requests without an answer then fail.
    async fn drive(self, mut driver: Driver, pings: Option<PingPong>) {
        let (usage, settings) = (&self.usage, &self.settings);
        let (interval, patience) = (settings.ping_interval, settings.ping_timeout);
        let dead = heartbeat(pings, interval, patience, || usage.in_flight() > 0);
        let mut turn = Turn::default();
        tokio::select! {
            ended = poll_fn(|context| poll(&mut driver, &mut turn, usage, context)) => {
                if let Err(error) = ended {
                    tracing::debug!(%error, "a connection to a peer broke");
                }
            }
            () = dead => tracing::warn!("a peer does not answer pings: its requests are given up"),
            () = usage.idle(settings) => {}
            () = usage.shut_down(self.shutdown) => {}
        }
        usage.close();
    }
}

/// Runs a connection once the other ready tasks have run, and passes on what it wrote.
fn poll(
    driver: &mut Driver,
    turn: &mut Turn,
    usage: &Usage,
    context: &mut Context<'_>,
) -> Poll<Result<(), h2::Error>> {
    if turn.waits(usage.in_flight() as usize, context) {
        return Poll::Pending;
    }
    turn.end();
    let ended = Pin::new(&mut driver.connection).poll(context);
    driver.outlet.pass_on(context);
    ended
}
