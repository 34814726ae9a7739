//! Timestamps: the wall clock, made strictly increasing.

use partita_model::DateTime;
use partita_rt::Clock;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime};

/// A lag of the wall clock behind the newest stored row is ignored if it is smaller than this, because the clock
/// catches up within that time.
const LAG_MIN: Duration = Duration::from_secs(1);

/// Gives each write its own Timestamp, later than all earlier ones, even if the clock is set back or two writes fall
/// into one tick. A process continues after the Timestamps in its store ([`Timestamps::after`]) and in each range that it
/// takes over ([`Timestamps::pass`]). The caller ensures that a Timestamp is later than the entity's last one, which may
/// have been restored from a backup.
#[derive(Debug)]
pub struct Timestamps {
    clock: Arc<dyn Clock>,
    last_ticks: AtomicU64,
    began: Instant,
    /// The time at `began` of the clock that counts while the wall clock is behind stored rows; 0 if it never was.
    ahead_ticks: AtomicU64,
}

impl Timestamps {
    /// Timestamps of this clock, for an empty store.
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self {
            began: clock.monotonic(),
            clock,
            last_ticks: AtomicU64::new(0),
            ahead_ticks: AtomicU64::new(0),
        }
    }

    /// Timestamps of this clock that are later than `last`, for a store with rows up to that time.
    pub fn after(clock: Arc<dyn Clock>, last: SystemTime) -> Self {
        let timestamps = Self::new(clock);
        timestamps.pass(last);
        timestamps
    }

    /// Makes later Timestamps later than `last`, for a range with rows up to that time. If the clock is behind, they run
    /// on from `last` until it has caught up.
    pub fn pass(&self, last: SystemTime) {
        let last_ticks = DateTime::from_system(last).ticks();
        if self.clock.now() + LAG_MIN < last {
            let ahead = last_ticks.saturating_sub(self.elapsed_ticks());
            self.ahead_ticks.fetch_max(ahead, Ordering::Relaxed);
        }
        self.last_ticks.fetch_max(last_ticks, Ordering::Relaxed);
    }

    /// The Timestamp of a write.
    pub fn next(&self) -> DateTime {
        let now = self.now_ticks();
        let next = |last: u64| now.max(last + 1);
        let last = self
            .last_ticks
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |last| {
                Some(next(last))
            })
            .unwrap_or_default();
        DateTime::from_ticks(next(last)).unwrap_or(DateTime::MAX)
    }

    fn now_ticks(&self) -> u64 {
        let wall = DateTime::from_system(self.clock.now()).ticks();
        match self.ahead_ticks.load(Ordering::Relaxed) {
            0 => wall,
            ahead => wall.max(ahead.saturating_add(self.elapsed_ticks())),
        }
    }

    fn elapsed_ticks(&self) -> u64 {
        let elapsed = self.clock.monotonic().saturating_duration_since(self.began);
        u64::try_from(elapsed.as_nanos() / 100).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use partita_rt::ManualClock;

    #[test]
    fn timestamps_increase_when_the_clock_stops_or_goes_back() {
        let start = std::time::SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000);
        let clock = ManualClock::new(start);
        let timestamps = Timestamps::new(Arc::new(clock.clone()));
        let first = timestamps.next();
        assert_eq!(first, DateTime::from_system(start));
        assert_eq!(timestamps.next(), first.next());
        clock.set_wall(start - Duration::from_secs(5));
        assert_eq!(timestamps.next(), first.next().next());
        clock.set_wall(start + Duration::from_secs(5));
        assert_eq!(
            timestamps.next(),
            DateTime::from_system(start + Duration::from_secs(5))
        );
    }

    #[test]
    fn timestamps_continue_after_those_of_an_earlier_process() {
        let start = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000);
        let clock = ManualClock::new(start);
        let last = start + Duration::from_secs(3600);
        let timestamps = Timestamps::after(Arc::new(clock.clone()), last);
        let first = timestamps.next();
        assert_eq!(first, DateTime::from_system(last).next());
        assert_eq!(timestamps.next(), first.next());
        let minute = Duration::from_secs(60);
        clock.advance(minute);
        assert_eq!(timestamps.next(), DateTime::from_system(last + minute));
        clock.set_wall(last + 2 * minute);
        assert_eq!(timestamps.next(), DateTime::from_system(clock.now()));
    }
}
