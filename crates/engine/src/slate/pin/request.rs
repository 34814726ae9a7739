//! Pin requests to the commit loop.

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
    pub(super) begun: oneshot::Sender<Begun>,
}

/// The outcome of a request.
pub(super) struct Begun {
    /// `None` after a timeout.
    pub(super) handles: Option<Result<Vec<CheckpointHandle>, slatedb::Error>>,
    pub(super) pause: Duration,
}

impl PinRequest {
    /// Begins the checkpoints. Runs on the commit thread, between two groups.
    pub(in crate::slate) async fn begin(self) {
        let options = CheckpointOptions {
            lifetime: None,
            source: None,
            name: Some(PIN_NAME.to_owned()),
        };
        let started = SystemClock.monotonic();
        let beginning = self
            .databases
            .iter()
            .map(|database| database.db.begin_checkpoint(CheckpointScope::All, &options));
        let beginning = futures::future::try_join_all(beginning);
        let handles = tokio::time::timeout(PAUSE_MAX, beginning).await.ok();
        let pause = SystemClock.monotonic() - started;
        // Fails if the caller was dropped; then no snapshot record will name these pins.
        let _ = self.begun.send(Begun { handles, pause });
    }
}
