//! The clock of all databases of a process. It never goes back, also across restarts.
//!
//! SlateDB stores times: in each row, in the names of files and compaction jobs, in checkpoints. It refuses a write, a
//! file or a job with a time before the newest stored one. The wall clock cannot promise that order: an operator or a
//! time server may set it back between two starts.
//!
//! ```text
//!  wall clock    12:00 ── 12:10 │ the machine's clock is set back, restart │ 11:10 ── 11:20 ── …
//!  store clock   12:00 ── 12:10 │ the newest stored row is of 12:10        │ 12:10 ── 12:20 ── …
//! ```
//!
//! - It starts at the wall time and advances with the monotonic clock, so it measures ages and expiry times correctly.
//! - Opening a database moves it past the newest time that the database has ([`StoreClock::pass`]).
//! - It follows a wall clock that is set forward, and ignores one that is set back. So it is never before the wall
//!   clock, and no wall time that a caller has put into rows is later than the newest stored time.
//! - A *step* is a moment at which this clock, or its lead over the wall clock, jumped by more than [`STEP_US`].
//!   Between two steps all clocks run at the same speed. Garbage collection waits after a step
//!   ([`super::young_files`]).

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant, SystemTime};

use chrono::{DateTime, Utc};
use parking_lot::Mutex;
use partita_rt::Clock;
use slatedb_common::{SystemClock, SystemClockTicker};

/// The smallest change that counts as a step, in microseconds. The two clocks of the machine are not read at one
/// instant, so smaller differences occur between two readings.
const STEP_US: i64 = 1_000_000;

/// The end of the year 9999. No stored time is later, except in damaged data.
const LAST_US: i64 = 253_402_300_799_999_999;

/// The clock that the module describes. All times are microseconds since 1970.
#[derive(Debug)]
pub(super) struct StoreClock {
    machine: Arc<dyn Clock>,
    started: Instant,
    /// The time of the clock minus the monotonic time since `started`. Never decreases.
    base_us: AtomicI64,
    /// The lead over the wall clock at the last step.
    lead_us: AtomicI64,
    last_step: Mutex<Step>,
}

#[derive(Debug)]
struct Step {
    /// When the step was noticed; `None` before the first step.
    at: Option<Instant>,
    /// `base_us` at the time of the step.
    base_us: i64,
}

impl StoreClock {
    pub(super) fn new(machine: Arc<dyn Clock>) -> Self {
        let started = machine.monotonic();
        let base_us = micros(machine.now());
        Self {
            machine,
            started,
            base_us: AtomicI64::new(base_us),
            lead_us: AtomicI64::new(0),
            last_step: Mutex::new(Step { at: None, base_us }),
        }
    }

    /// The time of this clock.
    pub(super) fn time(&self) -> SystemTime {
        let now_us = u64::try_from(self.now_us()).unwrap_or_default();
        SystemTime::UNIX_EPOCH + Duration::from_micros(now_us)
    }

    /// The wall time.
    pub(super) fn wall(&self) -> SystemTime {
        self.machine.now()
    }

    /// How far this clock is ahead of the wall clock; zero if that is less than a step.
    pub(super) fn lead(&self) -> Duration {
        let lead_us = self.now_us() - micros(self.machine.now());
        let lead_us = if lead_us < STEP_US { 0 } else { lead_us };
        Duration::from_micros(u64::try_from(lead_us).unwrap_or_default())
    }

    /// Moves this clock past a time in the store, in milliseconds since 1970.
    pub(super) fn pass(&self, tick_ms: i64) {
        let after_us = tick_ms.saturating_add(1).saturating_mul(1000).min(LAST_US);
        if self.now_us() < after_us {
            self.adjust(after_us);
        }
    }

    /// Whether the last step was more than `age` ago.
    pub(super) fn has_run_evenly_for(&self, age: Duration) -> bool {
        // Records a step that happened since the last reading.
        self.now_us();
        let now = self.machine.monotonic();
        let last = self.last_step.lock().at;
        last.is_none_or(|at| now.saturating_duration_since(at) > age)
    }

    fn now_us(&self) -> i64 {
        let elapsed_us = self.elapsed_us(self.machine.monotonic());
        let wall_us = micros(self.machine.now());
        let now_us = self.base_us.load(Ordering::Acquire) + elapsed_us;
        let lead_us = now_us - wall_us;
        let moved_us = lead_us - self.lead_us.load(Ordering::Acquire);
        if lead_us >= 0 && moved_us.abs() < STEP_US {
            return now_us;
        }
        self.adjust(wall_us)
    }

    /// Moves this clock forward to the wall clock and to `at_least_us`, if it is behind one of them. Records a step if
    /// the change is large enough.
    fn adjust(&self, at_least_us: i64) -> i64 {
        let mut last = self.last_step.lock();
        let monotonic = self.machine.monotonic();
        let (elapsed_us, wall_us) = (self.elapsed_us(monotonic), micros(self.machine.now()));
        let before_us = self.base_us.load(Ordering::Acquire);
        let base_us = before_us.max(at_least_us.max(wall_us) - elapsed_us);
        let lead_us = base_us + elapsed_us - wall_us;
        let moved_us = lead_us - self.lead_us.load(Ordering::Acquire);
        // Several small corrections together count as a step.
        if base_us - last.base_us >= STEP_US || moved_us.abs() >= STEP_US {
            *last = Step {
                at: Some(monotonic),
                base_us,
            };
            self.lead_us.store(lead_us, Ordering::Release);
        }
        // Stored after the step, so that a reader of the new time also finds the step.
        self.base_us.store(base_us, Ordering::Release);
        base_us + elapsed_us
    }

    fn elapsed_us(&self, monotonic: Instant) -> i64 {
        let elapsed = monotonic.saturating_duration_since(self.started);
        i64::try_from(elapsed.as_micros()).unwrap_or(LAST_US)
    }
}

/// Times before 1970 count as 1970, times after [`LAST_US`] as [`LAST_US`].
fn micros(time: SystemTime) -> i64 {
    let since = time.duration_since(SystemTime::UNIX_EPOCH);
    let us = since.map_or(0, |since| since.as_micros());
    i64::try_from(us).unwrap_or(LAST_US).min(LAST_US)
}

impl SystemClock for StoreClock {
    fn now(&self) -> DateTime<Utc> {
        DateTime::from_timestamp_micros(self.now_us()).unwrap_or(DateTime::<Utc>::MAX_UTC)
    }

    /// Waits in tokio's time, which a simulation controls.
    fn sleep<'a>(&'a self, duration: Duration) -> Pin<Box<dyn Future<Output = ()> + Send + 'a>> {
        Box::pin(tokio::time::sleep(duration))
    }

    fn ticker<'a>(&'a self, duration: Duration) -> SystemClockTicker<'a> {
        SystemClockTicker::new(self, duration)
    }
}

#[cfg(test)]
mod tests {
    use partita_rt::ManualClock;

    use super::*;

    const START: Duration = Duration::from_secs(1_700_000_000);
    const HOUR: Duration = Duration::from_secs(3600);
    const AGE: Duration = Duration::from_secs(300);

    fn clocks() -> (ManualClock, StoreClock) {
        let machine = ManualClock::new(SystemTime::UNIX_EPOCH + START);
        let clock = StoreClock::new(Arc::new(machine.clone()));
        (machine, clock)
    }

    fn time(clock: &StoreClock) -> Duration {
        clock.time().duration_since(SystemTime::UNIX_EPOCH).unwrap()
    }

    fn millis(time: Duration) -> i64 {
        time.as_millis().try_into().unwrap()
    }

    #[test]
    fn the_clock_follows_the_wall_clock_forward_and_never_back() {
        let (machine, clock) = clocks();
        assert_eq!(time(&clock), START);
        machine.advance(HOUR);
        assert_eq!(time(&clock), START + HOUR);
        machine.set_wall(SystemTime::UNIX_EPOCH + START);
        assert_eq!((time(&clock), clock.lead()), (START + HOUR, HOUR));
        machine.advance(HOUR);
        assert_eq!((time(&clock), clock.lead()), (START + 2 * HOUR, HOUR));
        machine.set_wall(SystemTime::UNIX_EPOCH + START + 9 * HOUR);
        assert_eq!(
            (time(&clock), clock.lead()),
            (START + 9 * HOUR, Duration::ZERO)
        );
        machine.set_wall(SystemTime::UNIX_EPOCH - HOUR);
        assert_eq!(time(&clock), START + 9 * HOUR);
    }

    #[test]
    fn the_clock_passes_each_time_of_the_store_and_runs_on() {
        let (machine, clock) = clocks();
        clock.pass(millis(START - HOUR));
        assert_eq!(time(&clock), START);
        clock.pass(i64::MIN);
        assert_eq!(time(&clock), START);
        let year_2100 = Duration::from_secs(4_102_444_800);
        let millisecond = Duration::from_millis(1);
        clock.pass(millis(year_2100));
        assert_eq!(time(&clock), year_2100 + millisecond);
        assert_eq!(clock.lead(), year_2100 + millisecond - START);
        machine.advance(HOUR);
        assert_eq!(time(&clock), year_2100 + millisecond + HOUR);
        assert_eq!(
            SystemClock::now(&clock).timestamp_millis(),
            millis(time(&clock))
        );
        clock.pass(i64::MAX);
        assert_eq!(millis(time(&clock)), LAST_US / 1000);
    }

    #[test]
    fn every_step_of_either_clock_is_noticed() {
        type Change = fn(&ManualClock, &StoreClock);
        let changes: [Change; 3] = [
            |machine, _| machine.set_wall(machine.now() + HOUR),
            |machine, _| machine.set_wall(machine.now() - HOUR),
            |_, clock| clock.pass(millis(START + 2 * HOUR)),
        ];
        for change in changes {
            let (machine, clock) = clocks();
            machine.advance(AGE);
            assert!(clock.has_run_evenly_for(AGE), "no step yet");
            change(&machine, &clock);
            assert!(!clock.has_run_evenly_for(AGE));
            machine.advance(AGE);
            assert!(!clock.has_run_evenly_for(AGE));
            machine.advance(Duration::from_micros(1));
            assert!(clock.has_run_evenly_for(AGE));
        }
    }

    #[test]
    fn small_corrections_add_up_to_a_step() {
        let (machine, clock) = clocks();
        let correction = Duration::from_millis(400);
        for is_even in [true, true, false] {
            machine.set_wall(machine.now() + correction);
            assert_eq!(clock.has_run_evenly_for(AGE), is_even);
        }
        assert_eq!(time(&clock), START + 3 * correction);
    }
}
