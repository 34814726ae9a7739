//! Time, behind a trait.
//!
//! Wall time is for entity timestamps and signature checks; it may jump. Monotonic time measures durations; it never
//! goes back. Only this module reads the operating system's wall clock.

use std::fmt::Debug;
#[cfg(any(test, feature = "testing"))]
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

#[cfg(any(test, feature = "testing"))]
use parking_lot::Mutex;

/// A source of wall time and of monotonic time. Cheap: some tens of nanoseconds for each call.
pub trait Clock: Debug + Send + Sync + 'static {
    /// The wall time. May jump in either direction when the machine's clock is set.
    fn now(&self) -> SystemTime;

    /// A reading of the monotonic clock. Never smaller than an earlier reading.
    fn monotonic(&self) -> Instant;

    /// The time since the machine started, including the time that it was suspended. Never smaller than an earlier
    /// reading. For deadlines that other machines rely on, such as that of a lease: the monotonic clock stands still
    /// while a machine sleeps, so a process that wakes up would take its lease for valid.
    fn boot(&self) -> Duration;

    /// The processor time that all threads of this process have used.
    fn processor(&self) -> Duration;
}

/// The clock of the machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[allow(
        clippy::disallowed_methods,
        reason = "only this module reads the wall clock"
    )]
    fn now(&self) -> SystemTime {
        SystemTime::now()
    }

    fn monotonic(&self) -> Instant {
        Instant::now()
    }

    fn boot(&self) -> Duration {
        // Elsewhere, the monotonic clock already counts the time that the machine sleeps.
        #[cfg(target_os = "linux")]
        let id = rustix::time::ClockId::Boottime;
        #[cfg(not(target_os = "linux"))]
        let id = rustix::time::ClockId::Monotonic;
        let passed = rustix::time::clock_gettime(id);
        // The conversion cannot fail, because the value is never negative.
        passed.try_into().unwrap_or_default()
    }

    fn processor(&self) -> Duration {
        let used = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
        // The conversion cannot fail, because the value is never negative.
        used.try_into().unwrap_or_default()
    }
}

/// A clock that a test sets by hand. Clones share the same time.
#[cfg(any(test, feature = "testing"))]
#[derive(Clone, Debug)]
pub struct ManualClock {
    time: Arc<Mutex<(SystemTime, Instant)>>,
    boot: Arc<Mutex<Duration>>,
    processor: Arc<Mutex<Duration>>,
}

#[cfg(any(test, feature = "testing"))]
impl ManualClock {
    /// A clock stopped at `now`.
    #[must_use]
    pub fn new(now: SystemTime) -> Self {
        Self {
            time: Arc::new(Mutex::new((now, Instant::now()))),
            boot: Arc::default(),
            processor: Arc::default(),
        }
    }

    /// Moves wall time, monotonic time and the time since the start forward.
    pub fn advance(&self, by: Duration) {
        let mut time = self.time.lock();
        time.0 += by;
        time.1 += by;
        *self.boot.lock() += by;
    }

    /// Adds processor time.
    pub fn work(&self, time: Duration) {
        *self.processor.lock() += time;
    }

    /// Sets the wall time, forward or back, as when an operator sets the machine's clock. Monotonic time does not
    /// change.
    pub fn set_wall(&self, now: SystemTime) {
        self.time.lock().0 = now;
    }
}

#[cfg(any(test, feature = "testing"))]
impl Clock for ManualClock {
    fn now(&self) -> SystemTime {
        self.time.lock().0
    }

    fn monotonic(&self) -> Instant {
        self.time.lock().1
    }

    fn boot(&self) -> Duration {
        *self.boot.lock()
    }

    fn processor(&self) -> Duration {
        *self.processor.lock()
    }
}

/// The machine's clock plus a shift that a test sets. Clones share the shift.
#[cfg(any(test, feature = "testing"))]
#[derive(Clone, Debug, Default)]
pub struct ShiftedClock {
    shift: Arc<Mutex<Shift>>,
}

#[cfg(any(test, feature = "testing"))]
#[derive(Clone, Copy, Debug, Default)]
struct Shift {
    /// Time added to all times but the processor's.
    passed: Duration,
    /// Time added to the wall time only.
    ahead: Duration,
}

#[cfg(any(test, feature = "testing"))]
impl ShiftedClock {
    /// A clock whose wall time is ahead of the machine's by `ahead`.
    #[must_use]
    pub fn ahead(ahead: Duration) -> Self {
        let clock = Self::default();
        clock.set_ahead(ahead);
        clock
    }

    /// Moves wall time, monotonic time and the time since the start forward.
    pub fn advance(&self, by: Duration) {
        self.shift.lock().passed += by;
    }

    /// Sets the wall time, forward or back, to the machine's time plus `ahead`. Monotonic time does not change.
    pub fn set_ahead(&self, ahead: Duration) {
        self.shift.lock().ahead = ahead;
    }
}

#[cfg(any(test, feature = "testing"))]
impl Clock for ShiftedClock {
    fn now(&self) -> SystemTime {
        let shift = *self.shift.lock();
        SystemClock.now() + shift.passed + shift.ahead
    }

    fn monotonic(&self) -> Instant {
        SystemClock.monotonic() + self.shift.lock().passed
    }

    fn boot(&self) -> Duration {
        SystemClock.boot() + self.shift.lock().passed
    }

    fn processor(&self) -> Duration {
        SystemClock.processor()
    }
}

/// A clock that follows tokio's time, which a test pauses, at a rate of its own.
#[cfg(any(test, feature = "testing"))]
#[derive(Clone, Copy, Debug)]
pub struct TokioClock {
    start: tokio::time::Instant,
    rate: f64,
}

#[cfg(any(test, feature = "testing"))]
impl TokioClock {
    /// A clock that advances by `rate` seconds in each second of tokio's time. Its wall time begins in 1970.
    #[must_use]
    pub fn with_rate(rate: f64) -> Self {
        Self {
            start: tokio::time::Instant::now(),
            rate,
        }
    }
}

#[cfg(any(test, feature = "testing"))]
impl Clock for TokioClock {
    fn now(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH + self.boot()
    }

    fn monotonic(&self) -> Instant {
        tokio::time::Instant::now().into_std()
    }

    fn boot(&self) -> Duration {
        self.start.elapsed().mul_f64(self.rate)
    }

    /// As if the process kept one processor busy.
    fn processor(&self) -> Duration {
        self.boot()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manual_clock_moves_only_when_set() {
        let start = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000);
        let clock = ManualClock::new(start);
        let shared = clock.clone();
        let before = clock.monotonic();
        assert_eq!(clock.now(), start);

        shared.advance(Duration::from_millis(5));
        assert_eq!(clock.now(), start + Duration::from_millis(5));
        assert_eq!(clock.monotonic() - before, Duration::from_millis(5));
        assert_eq!(clock.boot(), Duration::from_millis(5));

        shared.set_wall(start);
        assert_eq!(clock.now(), start);
        assert_eq!(clock.monotonic() - before, Duration::from_millis(5));
    }

    #[test]
    fn a_shifted_clock_is_moved_and_set() {
        const HOUR: Duration = Duration::from_secs(3600);
        let clock = ShiftedClock::ahead(HOUR);
        let (wall, monotonic) = (clock.now(), clock.monotonic());
        assert!(wall > SystemClock.now());
        clock.clone().advance(2 * HOUR);
        assert!(clock.monotonic() - monotonic >= 2 * HOUR);
        assert!(clock.now() >= wall + 2 * HOUR);
        clock.set_ahead(Duration::ZERO);
        assert!(clock.now() < wall + 2 * HOUR);
    }

    #[test]
    fn the_system_clock_is_after_2023() {
        assert!(SystemClock.now() > SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000));
        assert!(SystemClock.monotonic() <= SystemClock.monotonic());
        let booted = SystemClock.boot();
        assert!(booted > Duration::ZERO && booted <= SystemClock.boot());
    }
}
