//! Tests of one worker on a simulated clock. The clock moves only when the worker waits or sends, so every time is
//! exact.

use super::*;
use std::cell::Cell;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

#[derive(Default)]
struct ManualClock {
    now: Cell<Duration>,
    /// How much later than requested each sleep ends.
    late: Duration,
    stops_at: Option<Duration>,
}

impl Clock for ManualClock {
    fn elapsed(&self) -> Duration {
        self.now.get()
    }

    fn is_stopped(&self) -> bool {
        self.stops_at.is_some_and(|at| self.now.get() >= at)
    }

    async fn sleep_until(&self, at: Duration) -> bool {
        if let Some(stop) = self.stops_at.filter(|stop| *stop <= at) {
            self.now.set(stop);
            return false;
        }
        self.now.set(at + self.late);
        true
    }
}

/// A sender with a simulated duration for each request, which may depend on the start of the request.
struct Slow<'a, F> {
    clock: &'a ManualClock,
    takes: F,
    recorded: Vec<(u64, Times)>,
}

impl<F: Fn(Duration) -> Duration> Sender for Slow<'_, F> {
    type Request = u64;
    type Outcome = u64;

    fn prepare(&mut self, number: u64) -> u64 {
        number
    }

    async fn send(&mut self, number: u64) -> u64 {
        let now = self.clock.now.get();
        self.clock.now.set(now + (self.takes)(now));
        number
    }

    fn record(&mut self, times: Times, number: u64) {
        self.recorded.push((number, times));
    }
}

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn rate(per_second: f64) -> Schedule {
    Schedule::Rate {
        per_second,
        ramp_seconds: 0.0,
        steps: 0,
    }
}

fn options(schedule: Schedule, duration: Option<Duration>) -> RunOptions {
    RunOptions {
        schedule,
        workers: 1,
        duration,
        operations: None,
    }
}

fn ran(
    options: RunOptions,
    clock: &ManualClock,
    takes: impl Fn(Duration) -> Duration,
) -> (Run, Vec<(u64, Times)>) {
    let run = Run::new(options);
    let mut sender = Slow {
        clock,
        takes,
        recorded: Vec::new(),
    };
    {
        let work = pin!(run.work(0, clock, &mut sender));
        let ended = work.poll(&mut Context::from_waker(Waker::noop()));
        assert_eq!(ended, Poll::Ready(()));
    }
    (run, sender.recorded)
}

#[test]
fn a_closed_loop_sends_after_each_answer() {
    let clock = ManualClock::default();
    let (run, recorded) = ran(options(Schedule::CLOSED, Some(ms(100))), &clock, |_| ms(30));
    let began: Vec<_> = recorded.iter().map(|(_, times)| times.began).collect();
    assert_eq!(began, [ms(0), ms(30), ms(60), ms(90)]);
    assert!(
        recorded
            .iter()
            .all(|(_, times)| times.response() == ms(30) && times.service() == ms(30))
    );
    assert_eq!(run.not_begun(ms(100)), 0);
}

#[test]
fn the_wait_for_a_worker_counts_as_latency() {
    let clock = ManualClock::default();
    // One operation is due every 10 ms; the second one takes 50 ms.
    let takes = |at| if at == ms(10) { ms(50) } else { ms(1) };
    let (_, recorded) = ran(options(rate(100.0), Some(ms(80))), &clock, takes);
    let responses: Vec<_> = recorded.iter().map(|(_, times)| times.response()).collect();
    assert_eq!(responses, [1, 50, 41, 32, 23, 14, 5, 1].map(ms));
    assert!(
        recorded[2..]
            .iter()
            .all(|(_, times)| times.service() == ms(1))
    );
}

#[test]
fn operations_that_were_due_but_never_began_are_counted() {
    let clock = ManualClock::default();
    let (run, recorded) = ran(options(rate(100.0), Some(ms(1_000))), &clock, |_| ms(100));
    assert_eq!(recorded.len(), 10);
    assert_eq!(run.not_begun(ms(1_000)), 90);
}

#[test]
fn latencies_exclude_timer_delays_of_at_most_2_ms() {
    for (late, response) in [(ms(2), ms(1)), (ms(3), ms(4))] {
        let clock = ManualClock {
            late,
            ..ManualClock::default()
        };
        let (_, recorded) = ran(options(rate(100.0), Some(ms(20))), &clock, |_| ms(1));
        assert_eq!(recorded[1].1.response(), response, "{late:?}");
    }
}

#[test]
fn a_run_ends_after_its_operations_or_when_stopped() {
    let bounded = RunOptions {
        operations: Some(3),
        ..options(Schedule::CLOSED, None)
    };
    let (_, recorded) = ran(bounded, &ManualClock::default(), |_| ms(1));
    assert_eq!(recorded.len(), 3);

    let clock = ManualClock {
        stops_at: Some(ms(25)),
        ..ManualClock::default()
    };
    let (run, recorded) = ran(options(rate(100.0), None), &clock, |_| ms(1));
    assert_eq!(recorded.len(), 3);
    assert_eq!(run.not_begun(ms(25)), 0);
}

#[test]
fn workers_of_a_ramp_begin_one_after_the_other() {
    let ramp = RunOptions {
        schedule: Schedule::Closed { ramp_seconds: 8.0 },
        workers: 4,
        ..options(Schedule::CLOSED, Some(ms(6_001)))
    };
    let run = Run::new(ramp);
    let clock = ManualClock::default();
    let mut sender = Slow {
        clock: &clock,
        takes: |_| ms(10),
        recorded: Vec::new(),
    };
    let ended =
        pin!(run.work(3, &clock, &mut sender)).poll(&mut Context::from_waker(Waker::noop()));
    assert_eq!(ended, Poll::Ready(()));
    assert_eq!(sender.recorded[0].1.began, ms(6_000));
}
