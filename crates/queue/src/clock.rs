//! The time of the Queue service, which decides when a message becomes visible and when it expires.

use parking_lot::Mutex;
use partita_model::DateTime;
use partita_rt::Clock;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

/// The wall clock, except that it never goes back while the process runs: after the machine's clock was set back, the
/// time runs on from where it was, at the rate of the monotonic clock, until the wall clock has caught up. Otherwise a
/// message could stay hidden for as long as the clock was set back.
///
/// A clock that is set forward counts as time that has passed, as after the sleep of a laptop.
#[derive(Debug)]
pub(crate) struct QueueClock {
    clock: Arc<dyn Clock>,
    last: Mutex<(SystemTime, Instant)>,
}

impl QueueClock {
    pub(crate) fn new(clock: Arc<dyn Clock>) -> Self {
        let last = Mutex::new((clock.now(), clock.monotonic()));
        Self { clock, last }
    }

    /// The time now.
    pub(crate) fn now(&self) -> DateTime {
        let mut last = self.last.lock();
        let monotonic = self.clock.monotonic();
        let elapsed = monotonic.saturating_duration_since(last.1);
        let now = self.clock.now().max(last.0 + elapsed);
        *last = (now, monotonic);
        DateTime::from_system(now)
    }
}

/// The time `span` after `time`, at most [`DateTime::MAX`].
pub(crate) fn after(time: DateTime, span: Duration) -> DateTime {
    let ticks = u64::try_from(span.as_nanos() / 100).unwrap_or(u64::MAX);
    DateTime::from_ticks(time.ticks().saturating_add(ticks)).unwrap_or(DateTime::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use partita_rt::ManualClock;

    #[test]
    fn the_time_never_goes_back_and_follows_a_jump_forward() {
        let start = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000);
        let manual = ManualClock::new(start);
        let clock = QueueClock::new(Arc::new(manual.clone()));
        let at = |seconds| DateTime::from_system(start + Duration::from_secs(seconds));
        manual.advance(Duration::from_secs(5));
        assert_eq!(clock.now(), at(5));
        manual.set_wall(start - Duration::from_secs(3600));
        assert_eq!(clock.now(), at(5));
        manual.advance(Duration::from_secs(2));
        assert_eq!(clock.now(), at(7));
        manual.set_wall(start + Duration::from_secs(100));
        assert_eq!(clock.now(), at(100));
        manual.advance(Duration::from_secs(1));
        assert_eq!(clock.now(), at(101));
    }

    #[test]
    fn times_end_at_the_greatest() {
        assert_eq!(after(DateTime::MAX, Duration::from_secs(1)), DateTime::MAX);
        assert_eq!(after(DateTime::MIN, Duration::MAX), DateTime::MAX);
    }
}
