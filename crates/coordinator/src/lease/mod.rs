//! The lease of a life, and the gate that every answer passes.
//!
//! The gate is rule I5: an answer leaves only while
//!
//! ```text
//! now < sent(last answered keepalive) + TTL − margin        by the clock that counts suspended time
//! ```
//!
//! The registry starts to count when it answers, so it ends the lease later than the gate closes: no other process is
//! assigned a range while its last owner's gate is open. The margin covers clocks whose rates differ by up to 2 %.
//!
//! Ask the gate *after* the work, just before the answer leaves. A closed gate opens again when a keepalive is answered;
//! a gate whose life is over never does. An answer must pass the gate of the life under which its range was opened.

mod gate;
mod keeper;

use std::time::Duration;

pub use gate::Gate;
pub(crate) use keeper::keep;

/// The times that follow from the TTL of a lease.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Timing {
    /// How long the lease lives after a keepalive.
    pub ttl: Duration,
}

impl Timing {
    /// How much earlier than the lease its gate closes, and how much longer than the TTL a manager waits: 2 % for clocks
    /// of different rates, and 20 ms.
    #[must_use]
    pub fn margin(self) -> Duration {
        self.ttl / 50 + Duration::from_millis(20)
    }

    /// How long the gate stays open after the sending of a keepalive.
    #[must_use]
    pub fn open_for(self) -> Duration {
        self.ttl.saturating_sub(self.margin())
    }

    /// How long after the last keepalive of a life whose lease did not simply expire its gate is surely closed.
    #[must_use]
    pub fn surely_closed_after(self) -> Duration {
        self.ttl + self.margin()
    }

    /// The time between keepalives: three may be lost before the gate closes.
    #[must_use]
    pub fn keep_alive_every(self) -> Duration {
        self.ttl / 4
    }
}

#[cfg(test)]
mod tests;
