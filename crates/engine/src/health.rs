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
    /// The engine is closed and does not open again.
    Closed = 4,
}

impl Health {
    /// Why writes are refused in this state; `None` if they are accepted.
    pub fn refusal(self) -> Option<Refusal> {
        match self {
            Self::Healthy => None,
            Self::DiskFull => Some(Refusal::DiskFull),
            Self::Backlogged => Some(Refusal::Busy),
            Self::Recovering => Some(Refusal::Recovering),
            Self::Closed => Some(Refusal::Closed),
        }
    }

    /// The name of the state in logs and metrics.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Healthy => "healthy",
            Self::DiskFull => "disk_full",
            Self::Backlogged => "backlogged",
            Self::Recovering => "recovering",
            Self::Closed => "closed",
        }
    }
}

/// The health of a running engine, read on each write. Once closed, it stays closed.
#[derive(Debug, Default)]
pub(crate) struct HealthCell(AtomicU8);

impl HealthCell {
    pub(crate) fn get(&self) -> Health {
        match self.0.load(Ordering::Acquire) {
            0 => Health::Healthy,
            1 => Health::DiskFull,
            2 => Health::Backlogged,
            3 => Health::Recovering,
            _ => Health::Closed,
        }
    }

    /// Sets the health, unless closed.
    pub(crate) fn set(&self, health: Health) {
        // An error means that the health is already `Closed`.
        let _ = self
            .0
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, |before| {
                (before != Health::Closed as u8).then_some(health as u8)
            });
    }

    /// Sets the health to `to` if it is `from`. Returns whether it changed.
    pub(crate) fn replace(&self, from: Health, to: Health) -> bool {
        self.0
            .compare_exchange(from as u8, to as u8, Ordering::AcqRel, Ordering::Acquire)
            .is_ok()
    }
}
