//! Pin requests to the commit loop, which may hold writes before it pins.

use std::sync::Arc;
use std::time::Duration;

use partita_rt::{Clock, SystemClock};
use slatedb::CheckpointHandle;
use slatedb::config::{CheckpointOptions, CheckpointScope};
use tokio::sync::oneshot;

use crate::slate::database::Database;

/// The name of pin checkpoints, which separates them from checkpoints of clones and compactions.
pub(super) const PIN_NAME: &str = "pin";

/// The longest pause of the commit loop. Usually the pause takes microseconds. It is longer if the store is slow,
/// because the manifest task of each database must respond.
const PAUSE_MAX: Duration = Duration::from_millis(250);

/// A request to the commit loop: pause, and begin a checkpoint of these databases.
pub(in crate::slate) struct PinRequest {
    pub(super) databases: Vec<Arc<Database>>,
    pub(super) hold: Option<Hold>,
    pub(super) begun: oneshot::Sender<Begun>,
}

/// Makes the commit loop stand still until the caller says that it can pin.
pub(super) struct Hold {
    /// Told when the loop stands still.
    pub(super) held: oneshot::Sender<()>,
    /// Says when to pin. The loop continues without a pin if the sender is dropped.
    pub(super) pin_now: oneshot::Receiver<()>,
    /// How long the loop waits.
    pub(super) limit: Duration,
}

/// The outcome of a request.
pub(super) struct Begun {
    pub(super) handles: Result<Vec<CheckpointHandle>, NotBegun>,
    pub(super) pause: Duration,
}

/// Why checkpoints were not begun.
pub(super) enum NotBegun {
    /// They took longer than [`PAUSE_MAX`].
    Late,
    /// The caller did not say in time that the loop can pin.
    HoldEnded,
    /// A database failed.
    Failed(slatedb::Error),
}

impl PinRequest {
    /// Begins the checkpoints. Runs on the commit thread, between two groups.
    pub(in crate::slate) async fn begin(self) {
        let started = SystemClock.monotonic();
        let can_pin = match self.hold {
            Some(hold) => hold.wait().await,
            None => true,
        };
        let handles = match can_pin {
            true => checkpoints(&self.databases).await,
            false => Err(NotBegun::HoldEnded),
        };
        let pause = SystemClock.monotonic() - started;
        // Fails if the caller was dropped; then no snapshot record will name these pins.
        let _ = self.begun.send(Begun { handles, pause });
    }
}

impl Hold {
    /// Returns whether the loop can pin.
    async fn wait(self) -> bool {
        if self.held.send(()).is_err() {
            return false;
        }
        let told = tokio::time::timeout(self.limit, self.pin_now).await;
        matches!(told, Ok(Ok(())))
    }
}

async fn checkpoints(databases: &[Arc<Database>]) -> Result<Vec<CheckpointHandle>, NotBegun> {
    let options = CheckpointOptions {
        lifetime: None,
        source: None,
        name: Some(PIN_NAME.to_owned()),
    };
    let beginning = databases
        .iter()
        .map(|database| database.db.begin_checkpoint(CheckpointScope::All, &options));
    let beginning = futures::future::try_join_all(beginning);
    let begun = tokio::time::timeout(PAUSE_MAX, beginning).await;
    begun
        .map_err(|_elapsed| NotBegun::Late)?
        .map_err(NotBegun::Failed)
}
