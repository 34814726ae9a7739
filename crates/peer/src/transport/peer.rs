//! A peer: its connections, opened when they are used.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use futures::FutureExt as _;
use futures::future::{BoxFuture, Shared};
use h2::client::ResponseFuture;
use h2::{RecvStream, SendStream};
use http::Response;
use parking_lot::Mutex;
use partita_rt::Tasks;
use partita_rt::net::Network;
use rustls::ClientConfig;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::connect::connect;
use super::connect_error::Target;
use super::framing::{frames, read_head};
use super::link::{InFlight, Link};
use super::{Address, Body, ConnectError, NotProcessed, SendError, Settings};
use crate::key::ServerName;

/// The unit in which the bytes of bodies are counted.
const UNIT_BYTES: usize = 1024;

/// What a request is like. Bulk has a connection of its own, so that small requests do not wait behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Its body and its answer are small.
    Small,
    /// Its body is a batch, or its answer a page.
    Bulk,
}

/// What all peers share.
#[derive(Debug)]
pub(super) struct Pool {
    pub(super) network: Arc<dyn Network>,
    pub(super) settings: Settings,
    pub(super) tasks: Tasks,
    /// The bytes of all request bodies under way.
    pub(super) bytes: Arc<Semaphore>,
}

/// An answer of a peer.
#[derive(Debug)]
pub struct Answer {
    /// The head.
    pub head: Bytes,
    /// The body.
    pub body: Body,
}

/// Another server of the cluster. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Peer {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    pool: Arc<Pool>,
    target: Target,
    tls: Arc<ClientConfig>,
    /// The connections for small requests, then the one for bulk.
    slots: Vec<Mutex<Slot>>,
    next: AtomicUsize,
}

/// A connection that is being opened. All requests that need it wait for the same one.
type Opening = Shared<BoxFuture<'static, Result<Arc<Link>, Arc<ConnectError>>>>;

#[derive(Debug, Default)]
enum Slot {
    #[default]
    Closed,
    Opening(Opening),
    Open(Arc<Link>),
}

impl Peer {
    pub(super) fn new(pool: Arc<Pool>, target: Target, tls: Arc<ClientConfig>) -> Self {
        let slots = pool.settings.small_connections.max(1) + 1;
        let slots = (0..slots).map(|_| Mutex::default()).collect();
        Self {
            inner: Arc::new(Inner {
                pool,
                target,
                tls,
                slots,
                next: AtomicUsize::new(0),
            }),
        }
    }

    /// The name of the server.
    #[must_use]
    pub fn name(&self) -> &ServerName {
        &self.inner.target.name
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> &Address {
        &self.inner.target.address
    }

    /// Sends a request and waits for the head of its answer. Has no time limit but that of connecting: drop the future
    /// to give up. The peer then drops the request too; it may have been processed.
    ///
    /// # Errors
    /// [`SendError`]: whether the request can be sent again.
    pub async fn send(&self, class: Class, head: &[u8], body: Bytes) -> Result<Answer, SendError> {
        let inner = &self.inner;
        // Held until the answer begins: then the peer has read the body.
        let _bytes = reserve(&inner.pool.bytes, body.len())?;
        let (place, response, mut stream) = inner.open(class).await?;
        let mut rest = frames(head, vec![body]).into_iter().peekable();
        while let Some(frame) = rest.next() {
            let sent = stream.send_data(frame, rest.peek().is_none());
            sent.map_err(SendError::of_stream)?;
        }
        inner.read_answer(response.await, place).await
    }

    /// Sends a request that waits for something at the peer, which takes the end of its empty body as the order to wait
    /// no longer: that is sent when `ended` completes. Otherwise like [`Self::send`]. A future that is dropped could
    /// lose the answer to a request that has just found what it waited for.
    ///
    /// # Errors
    /// Those of [`Self::send`].
    pub async fn send_waiting(
        &self,
        class: Class,
        head: &[u8],
        ended: impl Future<Output = ()>,
    ) -> Result<Answer, SendError> {
        let inner = &self.inner;
        let (place, mut response, mut stream) = inner.open(class).await?;
        for frame in frames(head, Vec::new()) {
            stream
                .send_data(frame, false)
                .map_err(SendError::of_stream)?;
        }
        let answered = tokio::select! {
            biased;
            answered = &mut response => Some(answered),
            () = ended => None,
        };
        // An error means that the peer or the connection has ended the stream: the answer says so.
        let _ = stream.send_data(Bytes::new(), true);
        let answered = match answered {
            Some(answered) => answered,
            None => response.await,
        };
        inner.read_answer(answered, place).await
    }
}

/// Counts the bytes of a body against the limit for all peers.
fn reserve(
    bytes: &Arc<Semaphore>,
    len: usize,
) -> Result<Option<OwnedSemaphorePermit>, NotProcessed> {
    if len == 0 {
        return Ok(None);
    }
    let units = u32::try_from(len.div_ceil(UNIT_BYTES)).map_err(|_| NotProcessed::Bytes)?;
    let permit = Arc::clone(bytes).try_acquire_many_owned(units);
    permit.map(Some).map_err(|_| NotProcessed::Bytes)
}

/// The limit of all bodies.
pub(super) fn budget(bytes_max: usize) -> Arc<Semaphore> {
    Arc::new(Semaphore::new(bytes_max.div_ceil(UNIT_BYTES)))
}

/// What opening a stream returns.
type Opened = (InFlight, ResponseFuture, SendStream<Bytes>);

impl Inner {
    /// Reads the head of an answer. The request keeps its place until the body ends.
    async fn read_answer(
        &self,
        answered: Result<Response<RecvStream>, h2::Error>,
        place: InFlight,
    ) -> Result<Answer, SendError> {
        let mut stream = answered.map_err(SendError::of_stream)?.into_body();
        let (head, first) = read_head(&mut stream, self.pool.settings.head_bytes_max).await?;
        let body = Body::new(first, stream, Some(place));
        Ok(Answer { head, body })
    }

    /// Opens a stream, on a new connection if the present one has closed meanwhile.
    async fn open(&self, class: Class) -> Result<Opened, NotProcessed> {
        let bulk = self.slots.len() - 1;
        let index = match class {
            Class::Bulk => bulk,
            Class::Small => self.next.fetch_add(1, Ordering::Relaxed) % bulk,
        };
        match self.link(index).await?.open() {
            Err(NotProcessed::Closed | NotProcessed::GoingAway) => self.link(index).await?.open(),
            opened => opened,
        }
    }

    async fn link(&self, index: usize) -> Result<Arc<Link>, NotProcessed> {
        let slot = self
            .slots
            .get(index)
            .expect("the index is below the number of slots");
        let opening = {
            let mut slot = slot.lock();
            match &*slot {
                Slot::Open(link) if !link.is_closed() => return Ok(Arc::clone(link)),
                Slot::Opening(opening) => opening.clone(),
                Slot::Open(_) | Slot::Closed => {
                    let opening = self.opening();
                    *slot = Slot::Opening(opening.clone());
                    opening
                }
            }
        };
        let opened = opening.clone().await;
        let mut slot = slot.lock();
        if let Slot::Opening(current) = &*slot
            && current.ptr_eq(&opening)
        {
            *slot = opened
                .as_ref()
                .map_or(Slot::Closed, |link| Slot::Open(Arc::clone(link)));
        }
        opened.map_err(NotProcessed::Connect)
    }

    /// Begins to open a connection, in a task, so that it does not end with the request that needed it first.
    fn opening(&self) -> Opening {
        let (pool, target) = (Arc::clone(&self.pool), self.target.clone());
        let tls = Arc::clone(&self.tls);
        let task = self
            .pool
            .tasks
            .spawn("opening a connection to a peer", async move {
                let opened = connect(&target, &*pool.network, tls, &pool.settings).await;
                let (sender, driver) = opened.map_err(Arc::new)?;
                Ok(Link::start(sender, driver, &pool.settings, &pool.tasks))
            });
        let opened = async move {
            // The task ends without a result only when the runtime does.
            task.await
                .unwrap_or_else(|_| Err(Arc::new(ConnectError::ShuttingDown)))
        };
        opened.boxed().shared()
    }
}
