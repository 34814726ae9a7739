//! The clock of a simulated server.

use std::time::{Duration, Instant, SystemTime};

use partita_rt::{Clock, SystemClock};

/// The system's clock, which is virtual in this program. Processor time is always zero, because the machine's processor
/// time differs between runs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SimulatedClock;

impl Clock for SimulatedClock {
    fn now(&self) -> SystemTime {
        SystemClock.now()
    }

    fn monotonic(&self) -> Instant {
        SystemClock.monotonic()
    }

    fn boot(&self) -> Duration {
        // mad-turmoil does not answer for this clock.
        turmoil::sim_elapsed().unwrap_or_default()
    }

    fn processor(&self) -> Duration {
        Duration::ZERO
    }
}
