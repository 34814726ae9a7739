//! The settings of a server's scalability targets for queues.

use partita_service::{ContainerRates, Rates};

/// All targets of queues. Unlimited by default. (The rates of an account hold for all services together.)
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TargetSettings {
    /// The rates of each queue, which is one partition.
    pub queue: Rates,
}

impl TargetSettings {
    /// The documented current target: 2,000 messages/s of 1 KiB each per queue ("Scalability and performance targets
    /// for Queue Storage").
    #[must_use]
    pub fn azure() -> Self {
        Self::messages(2_000)
    }

    /// The target of the service's first years: 500 messages/s per queue ("Windows Azure Storage Abstractions and their
    /// Scalability Targets", 2010).
    #[must_use]
    pub fn classic() -> Self {
        Self::messages(500)
    }

    fn messages(queue: u32) -> Self {
        Self {
            queue: Rates::entities(queue),
        }
    }

    pub(crate) fn rates(&self) -> ContainerRates {
        ContainerRates {
            partition: self.queue,
            container: Rates::default(),
        }
    }
}
