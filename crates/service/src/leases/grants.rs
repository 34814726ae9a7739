//! The leases that this process granted as the server of the catalog.

use super::{LEASE, MARGIN, ROWS_MAX};
use bytes::Bytes;
use parking_lot::Mutex;
use partita_rt::hash::RandomState;
use std::collections::HashMap;
use std::time::Duration;

/// When leases end, and the rows of which no lease is granted. All times are those of [`partita_rt::Clock::boot`].
#[derive(Debug, Default)]
pub(crate) struct Grants(Mutex<Granted>);

#[derive(Debug, Default)]
struct Granted {
    rows: HashMap<Bytes, RowGrants, RandomState>,
    /// When all leases have ended that another server granted before this process took over the catalog.
    inherited_until: Duration,
}

#[derive(Debug, Default)]
struct RowGrants {
    /// The end of the latest lease.
    until: Duration,
    /// The number of running changes of the row.
    changes: usize,
    /// Whether a change ended without a known outcome: its commit may still run.
    is_unsettled: bool,
}

impl RowGrants {
    /// Whether no change runs.
    const fn is_unused(&self) -> bool {
        self.changes == 0 && !self.is_unsettled
    }
}

/// The answer to a request for a lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Grant {
    Granted,
    /// The row is being changed, or too many rows have leases.
    Refused,
    /// See [`RowGrants::is_unsettled`].
    Unsettled,
}

impl Grants {
    /// Grants a lease of a row, which begins now.
    pub(super) fn grant(&self, key: &Bytes, now: Duration) -> Grant {
        let mut granted = self.0.lock();
        if granted.rows.len() >= ROWS_MAX && !granted.rows.contains_key(key) {
            let has_lease = |row: &RowGrants| row.until + MARGIN > now;
            granted
                .rows
                .retain(|_, row| has_lease(row) || !row.is_unused());
            if granted.rows.len() >= ROWS_MAX {
                return Grant::Refused;
            }
        }
        let row = granted.rows.entry(key.clone()).or_default();
        if row.is_unsettled {
            return Grant::Unsettled;
        }
        if row.changes > 0 {
            return Grant::Refused;
        }
        row.until = row.until.max(now + LEASE);
        Grant::Granted
    }

    /// Notes that no commit of these rows runs. For the holder of their locks.
    pub(super) fn settle(&self, keys: &[Bytes]) {
        let mut granted = self.0.lock();
        for key in keys {
            if let Some(row) = granted.rows.get_mut(key) {
                row.is_unsettled = false;
            }
        }
    }

    /// Grants no leases of these rows until [`Self::end_change`].
    pub(super) fn begin_change(&self, keys: &[Bytes]) {
        let mut granted = self.0.lock();
        for key in keys {
            granted.rows.entry(key.clone()).or_default().changes += 1;
        }
    }

    /// Grants leases again, unless the outcome of the change is not known.
    pub(super) fn end_change(&self, keys: &[Bytes], is_settled: bool) {
        let mut granted = self.0.lock();
        for key in keys {
            if let Some(row) = granted.rows.get_mut(key) {
                row.changes -= 1;
                row.is_unsettled |= !is_settled;
                if row.until.is_zero() && row.is_unused() {
                    granted.rows.remove(key);
                }
            }
        }
    }

    /// The time at which the rows have no leases.
    pub(super) fn ended(&self, keys: &[Bytes]) -> Duration {
        let granted = self.0.lock();
        let until = keys.iter().filter_map(|key| granted.rows.get(key));
        let until = until.map(|row| row.until).max().unwrap_or_default();
        match until.max(granted.inherited_until) {
            Duration::ZERO => Duration::ZERO,
            until => until + MARGIN,
        }
    }

    /// Notes that another server granted leases until now.
    pub(crate) fn take_over(&self, now: Duration) {
        self.0.lock().inherited_until = now + LEASE;
    }

    /// The number of rows in memory.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.0.lock().rows.len()
    }
}
