//! Timestamps: the wall clock, made strictly increasing.

use partita_model::DateTime;
use partita_rt::Clock;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Gives each write its own Timestamp, later than all earlier ones, even if the clock is set back or two writes fall
/// into one tick. The caller ensures that it is later than the entity's last Timestamp, which another process may have
/// assigned.
#[derive(Debug)]
pub struct Timestamps {
    clock: Arc<dyn Clock>,
    last_ticks: AtomicU64,
}

impl Timestamps {
    /// Timestamps of this clock.
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self {
            clock,
            last_ticks: AtomicU64::new(0),
        }
    }

    /// The current time, not before any Timestamp assigned so far.
    pub fn now(&self) -> DateTime {
        let last = self.last_ticks.load(Ordering::Relaxed);
        let now = DateTime::from_system(self.clock.now());
        DateTime::from_ticks(last).map_or(now, |last| last.max(now))
    }

    /// The Timestamp of a write.
    pub fn next(&self) -> DateTime {
        let now = DateTime::from_system(self.clock.now()).ticks();
        let next = |last: u64| now.max(last + 1);
        let last = self
            .last_ticks
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |last| {
                Some(next(last))
            })
            .unwrap_or_default();
        DateTime::from_ticks(next(last)).unwrap_or(DateTime::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use partita_rt::ManualClock;
    use std::time::Duration;

    #[test]
    fn timestamps_increase_when_the_clock_stands_or_goes_back() {
        let start = std::time::SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000);
        let clock = ManualClock::new(start);
        let timestamps = Timestamps::new(Arc::new(clock.clone()));
        let first = timestamps.next();
        assert_eq!(first, DateTime::from_system(start));
        assert_eq!(timestamps.next(), first.next());
        clock.set_wall(start - Duration::from_secs(5));
        assert_eq!(timestamps.now(), first.next());
        assert_eq!(timestamps.next(), first.next().next());
        clock.set_wall(start + Duration::from_secs(5));
        assert_eq!(
            timestamps.next(),
            DateTime::from_system(start + Duration::from_secs(5))
        );
    }
}
