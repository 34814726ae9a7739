//! Timestamps: the wall clock, made strictly increasing.

use partita_model::DateTime;
use partita_rt::Clock;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Gives each write a Timestamp of its own, later than all it gave before, also when the clock is set back or two writes
/// fall into one tick. (A Timestamp must also be later than the entity's last one, which another process may have given:
/// the caller sees to that.)
#[derive(Debug)]
pub(crate) struct Stamps {
    clock: Arc<dyn Clock>,
    last_ticks: AtomicU64,
}

impl Stamps {
    pub(crate) fn new(clock: Arc<dyn Clock>) -> Self {
        Self {
            clock,
            last_ticks: AtomicU64::new(0),
        }
    }

    /// Now, which is not before any Timestamp given so far.
    pub(crate) fn now(&self) -> DateTime {
        let last = self.last_ticks.load(Ordering::Relaxed);
        let now = DateTime::from_system(self.clock.now());
        DateTime::from_ticks(last).map_or(now, |last| last.max(now))
    }

    pub(crate) fn next(&self) -> DateTime {
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
    fn a_clock_that_stands_or_goes_back_gives_later_stamps() {
        let start = std::time::SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000);
        let clock = ManualClock::new(start);
        let stamps = Stamps::new(Arc::new(clock.clone()));
        let first = stamps.next();
        assert_eq!(first, DateTime::from_system(start));
        assert_eq!(stamps.next(), first.next());
        clock.set_wall(start - Duration::from_secs(5));
        assert_eq!(stamps.now(), first.next());
        assert_eq!(stamps.next(), first.next().next());
        clock.set_wall(start + Duration::from_secs(5));
        assert_eq!(
            stamps.next(),
            DateTime::from_system(start + Duration::from_secs(5))
        );
    }
}
