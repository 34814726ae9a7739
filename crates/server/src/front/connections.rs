//! The limits of time and number that the connections of all protocols share.

use crate::config::Limits;
use crate::connections::{Evicts, Patience, Watch};
use partita_rt::Tasks;
use std::sync::Arc;
use std::time::Duration;

/// Time for a client to receive the answer to a body that was too large, while it still sends. nginx waits for 5 s
/// (`lingering_timeout`).
const LINGER_TIME_MAX: Duration = Duration::from_secs(2);

/// The open connections of all protocols: they share the places of `--connections-max`.
#[derive(Debug, Clone)]
pub struct Connections(pub(super) Arc<Watch>);

impl Connections {
    /// Begins to watch connections, in a task of `tasks`.
    pub fn watch(limits: &Limits, tasks: &Tasks) -> Self {
        let watch = Watch::new(Patience {
            head: limits.header_timeout,
            idle: limits.idle_timeout,
            stall: limits.stall_timeout,
            rate_min: limits.transfer_rate_min,
            linger: LINGER_TIME_MAX,
            evicts: Evicts::Waiting,
        });
        let watching = Arc::clone(&watch).run(tasks.shutdown());
        tasks.spawn("watch connections", watching);
        Self(watch)
    }
}
