//! The ranges of a process in a cluster: it takes over what it is assigned, and answers the requests of the manager.
//!
//! ```text
//!  registry: ranges/7 is assigned to this life ─▶ take over 7 ─▶ activate ─▶ serve
//!  manager: hand 7 over ─▶ flush, close ─▶ release in the registry ─▶ the manager assigns it to another server
//! ```
//!
//! Nothing here decides who owns a range: the registry does, with its comparisons.

mod answering;
mod assignments;
mod holding;
pub(crate) mod messages;

use crate::cluster::Cluster;
use crate::coordinator::takes_ranges;
use crate::host::HandOverError;
use crate::map::{Epoch, RangeSpec};
use futures::StreamExt;
use holding::Holding;
use parking_lot::Mutex;
use partita_coordinator::{
    self as registry, Member, OwnershipError, RangeState, RegistryError, Routes, Tenure,
};
use partita_heat::Bounds;
use partita_range::RangeId;
use partita_rt::Tasks;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::sync::watch;

/// The pause after the registry or the store failed.
const PAUSE: Duration = Duration::from_millis(100);

/// How long a request of the manager waits for a range that this process does not serve yet: the registry says so before
/// the process does. Opening its database takes a moment, and seconds on a busy machine.
const SERVED_WAIT: Duration = Duration::from_secs(10);

/// How many ranges a server that stops hands over at the same time.
const HAND_OVERS_MAX: usize = 4;

/// The ranges of a process in a cluster. Used as `Arc<RangeServer>`.
pub struct RangeServer {
    cluster: Arc<Cluster>,
    member: Arc<Member>,
    routes: Routes,
    tasks: Tasks,
    /// The revision of the assignment of each range that is being taken over.
    opening: Mutex<BTreeMap<RangeId, u64>>,
    /// The writes that are held for a snapshot.
    holding: Holding,
    /// Why this process cannot go on.
    failed: watch::Sender<Option<Arc<str>>>,
    /// Whether a take-over found that the log of this process takes no more writes.
    log_is_sealed: AtomicBool,
}

impl fmt::Debug for RangeServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RangeServer").finish_non_exhaustive()
    }
}

impl RangeServer {
    /// Starts to take over what is assigned to `member`.
    #[must_use]
    pub fn start(
        cluster: Arc<Cluster>,
        member: Arc<Member>,
        routes: Routes,
        tasks: &Tasks,
    ) -> Arc<Self> {
        let server = Arc::new(Self {
            cluster,
            member,
            routes,
            tasks: tasks.clone(),
            opening: Mutex::default(),
            holding: Holding::default(),
            failed: watch::Sender::new(None),
            log_is_sealed: AtomicBool::new(false),
        });
        let following = Arc::clone(&server).follow(tasks.shutdown());
        tasks.spawn("take over assigned ranges", following);
        server
    }

    /// The ranges of this process.
    #[must_use]
    pub fn cluster(&self) -> &Arc<Cluster> {
        &self.cluster
    }

    /// Completes when this process cannot go on, and says why. Cancel safe.
    pub async fn failed(&self) -> Arc<str> {
        let mut failed = self.failed.subscribe();
        let why = failed.wait_for(Option::is_some).await;
        let why = why.ok().and_then(|why| why.clone());
        why.expect("the sender lives as long as the server")
    }

    /// Whether this process has no range, and can get some only in another life: its lease or its log has ended. Waits at
    /// most `patience` for ranges that it is taking over.
    pub async fn can_begin_anew(&self, patience: Duration) -> bool {
        let log_is_sealed = self.log_is_sealed.load(Ordering::Relaxed);
        if log_is_sealed {
            self.tasks.drain(patience).await;
        }
        (log_is_sealed || self.member.gate().is_over()) && self.cluster.host.holds().is_empty()
    }

    /// Hands a range over and releases it, so that it can be assigned to another server. Not cancel safe.
    ///
    /// # Errors
    /// [`HandOverError`]; after [`HandOverError::NotClean`] this process cannot go on.
    pub(crate) async fn hand_over(&self, range: RangeId) -> Result<(), HandOverError> {
        self.serve_soon(range).await;
        let tenure = self
            .tenure(range)
            .ok_or(HandOverError::NoSuchRange(range))?;
        let handed_over = self.cluster.host.hand_over(range).await;
        if let Err(error @ HandOverError::NotClean { .. }) = &handed_over {
            self.fail(crate::error_chain(error));
        }
        handed_over?;
        self.release(&tenure).await;
        tracing::info!(%range, "handed a range over");
        Ok(())
    }

    /// Waits until this process serves a range, for at most [`SERVED_WAIT`] and not after its life. The registry, and with
    /// it the manager, knows of a range that is taken over a moment before it is served.
    async fn serve_soon(&self, range: RangeId) {
        let served = async {
            loop {
                let changed = self.cluster.map().changed();
                if self.cluster.map().find(range).is_some() {
                    return;
                }
                changed.await;
            }
        };
        let shutdown = self.tasks.shutdown();
        tokio::select! {
            _ = tokio::time::timeout(SERVED_WAIT, served) => {}
            () = shutdown.requested() => {}
        }
    }

    /// The tenure of a range that this process serves, as the registry has it.
    fn tenure(&self, range: RangeId) -> Option<Tenure> {
        let (table, id) = (self.routes.current(), registry::RangeId(range.0));
        let stored = table.ranges().get(&id)?;
        let is_own = matches!(&stored.record.state, RangeState::Serving { owner, .. } if owner == self.member.owner());
        is_own.then(|| Tenure {
            range: id,
            revision: stored.revision,
            record: stored.record.clone(),
        })
    }

    /// Releases a range that was closed. Repeats it until the registry has answered, or the life is over.
    async fn release(&self, tenure: &Tenure) {
        while let Err(OwnershipError::Registry(error)) = self.member.release(tenure).await {
            tracing::warn!(%error, range = %tenure.range, "cannot release a range; retrying");
            if matches!(error, RegistryError::LeaseEnded) || !self.pause().await {
                return;
            }
        }
    }

    /// Hands all ranges over, if other servers take ranges, for a server that stops.
    pub async fn leave(&self) {
        if let Err(error) = self.set_draining(true).await {
            tracing::warn!(%error, "cannot tell the cluster that this server stops");
        }
        let table = self.routes.current();
        let own = &self.member.owner().name;
        let mut others = table.servers().keys().filter(|name| *name != own);
        if !others.any(|name| takes_ranges(&table, name)) {
            return;
        }
        let ranges = self.cluster.host.holds();
        let handing_over = ranges.into_iter().map(|range| async move {
            if let Err(error) = self.hand_over(range).await {
                let error = crate::error_chain(&error);
                tracing::warn!(%range, %error, "cannot hand a range over");
            }
        });
        let mut handing_over = futures::stream::iter(handing_over).buffer_unordered(HAND_OVERS_MAX);
        while handing_over.next().await.is_some() {}
    }

    /// Says that this server takes no more ranges, or takes them again. The manager moves those of a draining server away.
    ///
    /// # Errors
    /// [`RegistryError`].
    pub async fn set_draining(&self, draining: bool) -> Result<(), RegistryError> {
        self.member.set_draining(draining).await
    }

    fn fail(&self, why: Arc<str>) {
        self.failed.send_replace(Some(why));
    }

    /// Returns `false` if the life is over.
    async fn pause(&self) -> bool {
        tokio::select! {
            () = tokio::time::sleep(PAUSE) => true,
            () = self.member.gate().over() => false,
        }
    }
}

/// A range as the registry describes it.
fn spec(range: registry::RangeId, shape: &registry::RangeShape) -> RangeSpec {
    RangeSpec {
        id: RangeId(range.0),
        epoch: Epoch(shape.epoch),
        bounds: Bounds {
            start: shape.start.clone().into(),
            end: shape.end.clone().map(Into::into),
        },
    }
}
