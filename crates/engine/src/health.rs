//! The health of an engine: whether it accepts writes, and if not, why.

use std::sync::atomic::{AtomicU8, Ordering};

use crate::Refusal;

/// The state of an engine, for readiness checks and metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Health {
    /// Reads and writes are served.
    Healthy = 0,
    /// Reads are served; writes are refused until the disk has space.
    DiskFull = 1,
    /// Reads are served; writes are refused because the store flushes too slowly.
    Backlogged = 2,
    /// A write or sync failed. Reads and writes are refused while the databases are reopened.
    Recovering = 3,
    /// Another server has taken over the store, or a write or sync of a process of a cluster failed. The engine serves
    /// nothing, and does not open again.
    Fenced = 4,
    /// The engine is closed and does not open again.
    Closed = 5,
}

impl Health {
    /// Why writes are refused in this state; `None` if they are accepted.
    pub fn refusal(self) -> Option<Refusal> {
        match self {
            Self::Healthy => None,
            Self::DiskFull => Some(Refusal::DiskFull),
            Self::Backlogged => Some(Refusal::Busy),
            Self::Recovering => Some(Refusal::Recovering),
            Self::Fenced | Self::Closed => Some(Refusal::Closed),
        }
    }

    /// The name of the state in logs and metrics.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Healthy => "healthy",
            Self::DiskFull => "disk_full",
            Self::Backlogged => "backlogged",
            Self::Recovering => "recovering",
            Self::Fenced => "fenced",
            Self::Closed => "closed",
        }
    }
}

/// The health of a running engine, read on each write. Once fenced, it can only be closed; once closed, it stays closed.
#[derive(Debug, Default)]
pub(crate) struct HealthCell(AtomicU8);

impl HealthCell {
    pub(crate) fn get(&self) -> Health {
        match self.0.load(Ordering::Acquire) {
            0 => Health::Healthy,
            1 => Health::DiskFull,
            2 => Health::Backlogged,
            3 => Health::Recovering,
            4 => Health::Fenced,
            _ => Health::Closed,
        }
    }

    /// Sets the health, unless it is final.
    pub(crate) fn set(&self, health: Health) {
        let next = health as u8;
        // An error means that the health before is final.
        let _ = self
            .0
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, |before| {
                (before < Health::Fenced as u8 || before < next).then_some(next)
            });
    }

    /// Sets the health to `to` if it is `from`. Returns whether it changed.
    pub(crate) fn replace(&self, from: Health, to: Health) -> bool {
        self.0
            .compare_exchange(from as u8, to as u8, Ordering::AcqRel, Ordering::Acquire)
            .is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fenced_engine_can_only_be_closed() {
        let health = HealthCell::default();
        for (set, expected) in [
            (Health::Recovering, Health::Recovering),
            (Health::Healthy, Health::Healthy),
            (Health::Fenced, Health::Fenced),
            (Health::Recovering, Health::Fenced),
            (Health::Closed, Health::Closed),
            (Health::Fenced, Health::Closed),
            (Health::Healthy, Health::Closed),
        ] {
            health.set(set);
            assert_eq!(health.get(), expected);
        }
    }
}
