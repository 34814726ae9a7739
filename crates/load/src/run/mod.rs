//! Workers that take operations by number and send them when they are due.
//!
//! - With a fixed rate, an operation is due at a fixed time ([`Schedule`]). If no worker is free at that time, the
//!   operation waits, and the wait counts as latency.
//! - The run ends after its duration, after its number of operations, or when its clock reports a stop.
//! - [`Run::not_begun`] counts operations that were due before the end but never began.
//!
//! The module does not depend on a runtime: a worker is a future, and the caller provides a [`Clock`] of its runtime.

use crate::Schedule;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The longest delay of a timer that latencies exclude, because the server does not cause it. Timers wake a worker up
/// to 1 ms late, and up to 2 ms on a busy machine.
const TIMER_GRAIN: Duration = Duration::from_millis(2);

/// The options of a run: the schedule of its operations, and its end.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RunOptions {
    /// When operations begin.
    pub schedule: Schedule,
    /// Maximum number of parallel operations, at least 1.
    pub workers: usize,
    /// The time during which operations begin; `None` for no limit.
    pub duration: Option<Duration>,
    /// The maximum number of operations; `None` for no limit.
    pub operations: Option<u64>,
}

/// The times of an operation, measured from the start of the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Times {
    /// When the operation was due. In a closed loop, the same as `began`. If a timer woke the worker at most 2 ms late,
    /// the time when the worker woke.
    pub due: Duration,
    /// When the request was sent.
    pub began: Duration,
    /// When the answer was complete.
    pub ended: Duration,
}

impl Times {
    /// Latency from the time the operation was due.
    #[must_use]
    #[inline]
    pub const fn response(&self) -> Duration {
        self.ended.saturating_sub(self.due)
    }

    /// Latency from the time the request was sent.
    #[must_use]
    #[inline]
    pub const fn service(&self) -> Duration {
        self.ended.saturating_sub(self.began)
    }
}

/// Sends the requests of one worker.
pub trait Sender {
    /// A request that is ready to be sent.
    type Request;
    /// The result of a request.
    type Outcome;

    /// Builds the request of the operation with this number. Service latency excludes the time for this.
    fn prepare(&mut self, number: u64) -> Self::Request;

    /// Sends a request and waits until its answer is complete.
    fn send(&mut self, request: Self::Request) -> impl Future<Output = Self::Outcome>;

    /// Records a request that has ended.
    fn record(&mut self, times: Times, outcome: Self::Outcome);
}

/// The time of a run, measured by its runtime.
pub trait Clock {
    /// Time since the run began.
    fn elapsed(&self) -> Duration;

    /// Whether the run is stopped, so that workers must not begin further operations.
    fn is_stopped(&self) -> bool;

    /// Waits until this time of the run. Returns false if the run is stopped before that time. A closed loop without a
    /// ramp does not call this.
    fn sleep_until(&self, at: Duration) -> impl Future<Output = bool>;
}

/// The state that the workers of a run share.
#[derive(Debug)]
pub struct Run {
    options: RunOptions,
    /// The number of the next operation.
    next: AtomicU64,
    /// Number of operations sent; counted only with a fixed rate.
    begun: AtomicU64,
}

impl Run {
    /// A run that has not yet begun.
    #[must_use]
    pub const fn new(options: RunOptions) -> Self {
        Self {
            options,
            next: AtomicU64::new(0),
            begun: AtomicU64::new(0),
        }
    }

    /// Runs the worker with this number, from 0, until the run ends.
    ///
    /// Cancel safe if the sender is. The server may have executed the request that was running.
    pub async fn work(&self, worker: usize, clock: &impl Clock, sender: &mut impl Sender) {
        let RunOptions {
            schedule,
            workers,
            operations,
            ..
        } = self.options;
        let begins = schedule.worker_begins(worker, workers);
        if begins > Duration::ZERO && !clock.sleep_until(begins).await {
            return;
        }
        while !self.has_ended(clock) {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            if operations.is_some_and(|operations| number >= operations) {
                return;
            }
            let due = match schedule.due(number) {
                None => None,
                Some(due) => match self.wait(due, clock).await {
                    None => return,
                    due => due,
                },
            };
            let request = sender.prepare(number);
            if due.is_some() {
                self.begun.fetch_add(1, Ordering::Relaxed);
            }
            let began = clock.elapsed();
            let outcome = sender.send(request).await;
            let times = Times {
                due: due.map_or(began, |due| due.min(began)),
                began,
                ended: clock.elapsed(),
            };
            sender.record(times, outcome);
        }
    }

    fn has_ended(&self, clock: &impl Clock) -> bool {
        let is_over = |duration| clock.elapsed() >= duration;
        clock.is_stopped() || self.options.duration.is_some_and(is_over)
    }

    /// Waits until an operation is due. Returns the time from which its latency counts, or `None` if the run ends
    /// first.
    async fn wait(&self, due: Duration, clock: &impl Clock) -> Option<Duration> {
        let is_over = |duration| due >= duration;
        if self.options.duration.is_some_and(is_over) {
            return None;
        }
        if clock.elapsed() >= due {
            return Some(due);
        }
        if !clock.sleep_until(due).await {
            return None;
        }
        let woke = clock.elapsed();
        Some(if woke.saturating_sub(due) <= TIMER_GRAIN {
            woke
        } else {
            due
        })
    }

    /// The number of operations that were due before this time but never began, because all workers were busy. 0 in a
    /// closed loop.
    #[must_use]
    pub fn not_begun(&self, at: Duration) -> u64 {
        let begun = self.begun.load(Ordering::Relaxed);
        let most = self.options.operations.unwrap_or(u64::MAX >> 12);
        let is_due = |number: u64| {
            let due = self.options.schedule.due(number);
            due.is_some_and(|due| due < at)
        };
        // Searches for the lowest number that is not yet due: all numbers before it are due.
        let (mut low, mut high) = (0, most);
        while low < high {
            let middle = low + (high - low) / 2;
            if is_due(middle) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low.saturating_sub(begun)
    }
}

#[cfg(test)]
mod tests;
