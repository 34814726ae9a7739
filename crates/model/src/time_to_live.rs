//! The time to live of the entities of a table.

use crate::DateTime;
use std::fmt;
use thiserror::Error;

const TICKS_PER_SECOND: u64 = 10_000_000;

/// A time to live: an entity expires this long after its last write. Whole seconds, from one second to 36,500 days.
/// An extension of Partita, which the Table service does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct TimeToLive(u64);

impl TimeToLive {
    /// One second.
    pub const MIN: Self = Self(1);
    /// 36,500 days.
    pub const MAX: Self = Self(36_500 * 86_400);

    /// Converts a number of seconds.
    ///
    /// # Errors
    /// [`InvalidTimeToLive`] outside [`TimeToLive::MIN`] to [`TimeToLive::MAX`].
    pub const fn from_seconds(seconds: u64) -> Result<Self, InvalidTimeToLive> {
        if seconds >= Self::MIN.0 && seconds <= Self::MAX.0 {
            Ok(Self(seconds))
        } else {
            Err(InvalidTimeToLive)
        }
    }

    /// The time to live in seconds.
    pub const fn seconds(self) -> u64 {
        self.0
    }

    /// The latest Timestamp of entities that have expired by `now`; `None` if no entity can have expired.
    pub const fn expired_until(self, now: DateTime) -> Option<DateTime> {
        match now.ticks().checked_sub(self.0 * TICKS_PER_SECOND) {
            Some(ticks) => DateTime::from_ticks(ticks),
            None => None,
        }
    }
}

impl fmt::Display for TimeToLive {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} s", self.0)
    }
}

/// The number of seconds is out of range.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("a time to live is 1 s to 36,500 days")]
pub struct InvalidTimeToLive;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn out_of_range_values_are_refused() {
        for seconds in [0, TimeToLive::MAX.seconds() + 1, u64::MAX] {
            assert_eq!(TimeToLive::from_seconds(seconds), Err(InvalidTimeToLive));
        }
        for ttl in [TimeToLive::MIN, TimeToLive::MAX] {
            assert_eq!(TimeToLive::from_seconds(ttl.seconds()), Ok(ttl));
        }
    }

    #[test]
    fn an_entity_expires_to_the_tick() {
        let ttl = TimeToLive::from_seconds(10).unwrap();
        let written = DateTime::UNIX_EPOCH;
        let due = DateTime::from_ticks(written.ticks() + 10 * TICKS_PER_SECOND).unwrap();
        assert_eq!(ttl.expired_until(due), Some(written));
        let before = DateTime::from_ticks(due.ticks() - 1).unwrap();
        assert!(ttl.expired_until(before).unwrap() < written);
        assert_eq!(TimeToLive::MAX.expired_until(DateTime::MIN), None);
    }
}
