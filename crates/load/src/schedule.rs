//! When operations begin.
//!
//! ```text
//! closed loop     worker 1  ├─op─┤├──op──┤├op┤…    A worker begins its next operation when its last one has ended.
//!                 worker 2  ├──op──┤├op┤├─op─┤…    The server's speed decides the rate.
//!
//! fixed rate      due       │  │  │  │  │  │  │    Each operation is due at a fixed time, as users do not wait for
//!                 worker 1  ├────op────┤├op┤       each other. Latency counts from that time, so a stall of the
//!                 worker 2     ├op┤  ├op┤          server counts for every operation that it delays.
//! ```
//! A ramp raises the rate to its maximum, linearly from 0 or in equal steps. In a closed loop, a ramp raises the number
//! of workers.

use crate::thousands;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::time::Duration;

/// When operations begin.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Schedule {
    /// Each worker begins its next operation when its last one has ended.
    Closed {
        /// Time until all workers have begun, in seconds.
        ramp_seconds: f64,
    },
    /// A fixed number of operations per second.
    Rate {
        /// Operations per second, above 0.
        per_second: f64,
        /// Time until that rate is reached, in seconds.
        ramp_seconds: f64,
        /// Number of equal steps of the ramp; 0 for a linear ramp.
        steps: u32,
    },
}

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Closed { .. } => f.write_str("closed loop")?,
            Self::Rate { per_second, .. } => write!(f, "{}/s", thousands(*per_second))?,
        }
        let (Self::Closed { ramp_seconds } | Self::Rate { ramp_seconds, .. }) = self;
        if *ramp_seconds > 0.0 {
            write!(f, ", ramp {ramp_seconds} s")?;
        }
        match self {
            Self::Rate { steps, .. } if *steps > 0 => write!(f, " in {steps} steps"),
            _ => Ok(()),
        }
    }
}

impl Schedule {
    /// A closed loop in which all workers begin at once.
    pub const CLOSED: Self = Self::Closed { ramp_seconds: 0.0 };

    /// `per_second`, `ramp_seconds` and `steps` of a fixed rate; `None` in a closed loop.
    const fn rate(&self) -> Option<(f64, f64, u32)> {
        match *self {
            Self::Closed { .. } => None,
            Self::Rate {
                per_second,
                ramp_seconds,
                steps,
            } => Some((per_second, ramp_seconds, steps)),
        }
    }

    /// The duration of the ramp.
    #[must_use]
    pub fn ramp(&self) -> Duration {
        let (Self::Closed { ramp_seconds } | Self::Rate { ramp_seconds, .. }) = *self;
        seconds(ramp_seconds)
    }

    /// The time from the start of the run at which the operation with this number, from 0, is due; `None` in a closed
    /// loop.
    #[must_use]
    pub fn due(&self, number: u64) -> Option<Duration> {
        let (per_second, ramp_seconds, steps) = self.rate()?;
        let number = number as f64;
        let in_ramp = match steps {
            0 => per_second * ramp_seconds / 2.0,
            // The k-th of S steps has k/S of the rate, and takes 1/S of the time.
            steps => {
                per_second * ramp_seconds * (f64::from(steps) + 1.0) / (2.0 * f64::from(steps))
            }
        };
        if number >= in_ramp {
            return Some(seconds(ramp_seconds + (number - in_ramp) / per_second));
        }
        if steps == 0 {
            // The rate grows linearly: after t seconds, rate × t² / (2 × ramp) operations are due.
            return Some(seconds((2.0 * ramp_seconds * number / per_second).sqrt()));
        }
        let due = due_in_steps(number, per_second, ramp_seconds, steps);
        Some(seconds(due))
    }

    /// The scheduled rate at this time of the run, in operations per second; `None` in a closed loop.
    #[must_use]
    pub fn rate_at(&self, at_seconds: f64) -> Option<f64> {
        let (per_second, ramp_seconds, steps) = self.rate()?;
        if at_seconds >= ramp_seconds {
            return Some(per_second);
        }
        let part = at_seconds / ramp_seconds;
        Some(match steps {
            0 => per_second * part,
            steps => per_second * ((part * f64::from(steps)).floor() + 1.0) / f64::from(steps),
        })
    }

    /// The time from the start of the run at which a worker begins; workers are numbered from 0.
    #[must_use]
    pub fn worker_begins(&self, worker: usize, workers: usize) -> Duration {
        match self {
            Self::Closed { ramp_seconds } => {
                seconds(ramp_seconds * worker as f64 / workers.max(1) as f64)
            }
            Self::Rate { .. } => Duration::ZERO,
        }
    }
}

fn due_in_steps(number: f64, per_second: f64, ramp_seconds: f64, steps: u32) -> f64 {
    let step_seconds = ramp_seconds / f64::from(steps);
    let mut before = 0.0;
    for step in 1..=steps {
        let rate = per_second * f64::from(step) / f64::from(steps);
        let due = rate * step_seconds;
        if number < before + due {
            return step_seconds * f64::from(step - 1) + (number - before) / rate;
        }
        before += due;
    }
    ramp_seconds
}

fn seconds(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn rate(per_second: f64, ramp_seconds: f64, steps: u32) -> Schedule {
        Schedule::Rate {
            per_second,
            ramp_seconds,
            steps,
        }
    }

    #[test]
    fn operations_are_due_at_their_times() {
        for (schedule, number, ms) in [
            (rate(100.0, 0.0, 0), 0, 0),
            (rate(100.0, 0.0, 0), 250, 2_500),
            // A linear ramp to 100/s in 10 s has 500 operations, a quarter of them in its first half.
            (rate(100.0, 10.0, 0), 125, 5_000),
            (rate(100.0, 10.0, 0), 500, 10_000),
            (rate(100.0, 10.0, 0), 600, 11_000),
            // A ramp in two steps: 50/s for 5 s, then 100/s.
            (rate(100.0, 10.0, 2), 100, 2_000),
            (rate(100.0, 10.0, 2), 250, 5_000),
            (rate(100.0, 10.0, 2), 750, 10_000),
            (rate(100.0, 10.0, 2), 850, 11_000),
        ] {
            let due = schedule.due(number).unwrap();
            assert_eq!(due.as_millis(), ms, "{schedule:?} {number}");
        }
        assert_eq!(Schedule::Closed { ramp_seconds: 1.0 }.due(7), None);
    }

    #[test]
    fn ramps_raise_the_rate() {
        let rates = |schedule: Schedule| [0.0, 2.5, 7.5, 10.0, 99.0].map(|at| schedule.rate_at(at));
        assert_eq!(
            rates(rate(100.0, 10.0, 0)),
            [0.0, 25.0, 75.0, 100.0, 100.0].map(Some)
        );
        assert_eq!(
            rates(rate(100.0, 10.0, 2)),
            [50.0, 50.0, 100.0, 100.0, 100.0].map(Some)
        );
        assert_eq!(rates(Schedule::Closed { ramp_seconds: 10.0 }), [None; 5]);
    }

    #[test]
    fn workers_of_a_closed_loop_begin_one_after_the_other() {
        let schedule = Schedule::Closed { ramp_seconds: 8.0 };
        let begins = |worker| schedule.worker_begins(worker, 4).as_secs();
        assert_eq!([0, 1, 2, 3].map(begins), [0, 2, 4, 6]);
        assert_eq!(rate(1.0, 8.0, 0).worker_begins(3, 4), Duration::ZERO);
    }

    proptest! {
        #[test]
        fn operations_are_due_in_order(
            per_second in 0.1_f64..50_000.0, ramp in 0.0_f64..100.0, steps in 0_u32..20, number in 0_u64..10_000_000,
        ) {
            let schedule = rate(per_second, ramp, steps);
            let (one, next) = (schedule.due(number).unwrap(), schedule.due(number + 1).unwrap());
            prop_assert!(one <= next);
            // The rate never exceeds its maximum.
            prop_assert!((next - one).as_secs_f64() >= 1.0 / per_second - 1e-6);
        }
    }
}
