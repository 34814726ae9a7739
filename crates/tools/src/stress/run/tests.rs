//! Tests of runs on virtual time: simulated seconds take no real time, and every figure is exact.

use super::*;
use crate::stress::metrics::{Measured, Point};
use partita_load::{Keys, Pattern, Schedule};

/// A target with a simulated duration for each request, which may depend on the start of the request.
struct Slow<F>(F, Instant);

impl<F: Fn(Duration) -> Duration + Send + Sync + 'static> Target for Slow<F> {
    async fn perform(&self, request: Request) -> Performed {
        sleep((self.0)(self.1.elapsed())).await;
        Performed {
            outcome: Outcome::Done,
            served: vec![(Some(request.partition_key), 1)],
        }
    }
}

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn rate(per_second: f64, ramp_seconds: f64) -> Schedule {
    Schedule::Rate {
        per_second,
        ramp_seconds,
        steps: 0,
    }
}

fn options(schedule: Schedule, workers: usize, seconds: u64) -> RunOptions {
    RunOptions {
        schedule,
        workers,
        duration: Some(Duration::from_secs(seconds)),
        operations: None,
    }
}

async fn ran(
    takes: impl Fn(Duration) -> Duration + Send + Sync + 'static,
    options: RunOptions,
    stop: impl AsyncFn(),
) -> (RunEnd, Measured) {
    let keys = Keys::new(Pattern::Single, 1, "run", Vec::new());
    let requests = Requests::new(keys, 1, "insert".parse().unwrap(), 1, 0, None);
    let recorder = Arc::new(Recorder::new(options.schedule.ramp()));
    let target = Slow(takes, Instant::now());
    let end = run(
        target,
        Arc::new(requests),
        Arc::clone(&recorder),
        options,
        stop,
    )
    .await;
    let is_closed = matches!(options.schedule, Schedule::Closed { .. });
    (end, recorder.end(end.at, is_closed))
}

async fn never() {
    std::future::pending().await
}

#[tokio::test(start_paused = true)]
async fn a_closed_loop_is_as_fast_as_its_answers() {
    let (end, measured) = ran(|_| ms(20), options(Schedule::CLOSED, 4, 10), never).await;
    // Each of the four workers performs 50 operations per second.
    assert_eq!(measured.all.done, 2_000);
    assert_eq!(
        (end.at, end.not_begun, end.is_interrupted),
        (Duration::from_secs(10), 0, false)
    );
    assert_eq!(measured.all.per_second, 200.0);
    assert_eq!(measured.asked_per_second, 200.0);
    let all = &measured.all;
    assert!(all.service.p999_us.abs_diff(20_000) < 30, "{all:?}");
}

#[tokio::test(start_paused = true)]
async fn a_rate_does_not_depend_on_the_duration_of_answers() {
    let (end, measured) = ran(|_| ms(300), options(rate(100.0, 0.0), 64, 10), never).await;
    assert_eq!((measured.all.done, end.not_begun), (1_000, 0));
    let ten = &measured.points[5];
    assert!((ten.done_sum() - 100.0).abs() < 1.0, "{ten:?}");
    let all = &measured.all;
    assert!(all.response.max_us.abs_diff(300_000) < 500, "{all:?}");
}

#[tokio::test(start_paused = true)]
async fn operations_delayed_by_a_stalled_server_are_counted() {
    // From second 2 to second 3, the server does not answer. A closed loop with one worker measures this stall as a
    // single slow answer.
    let stall = |at: Duration| {
        if (ms(2_000)..ms(3_000)).contains(&at) {
            ms(3_000).saturating_sub(at) + ms(1)
        } else {
            ms(1)
        }
    };
    let (end, measured) = ran(stall, options(rate(100.0, 0.0), 1, 10), never).await;
    assert_eq!((measured.all.done, end.not_begun), (1_000, 0));
    let all = &measured.all;
    // 100 of the 1,000 operations were due during the stall. They waited half a second on average.
    assert!(
        (850_000..1_001_000).contains(&all.response.p99_us),
        "{all:?}"
    );
    assert!(
        (40_000.0..60_000.0).contains(&all.response.mean_us),
        "{all:?}"
    );
    // The service time does not show the stall.
    assert!(all.service.p99_us < 2_000, "{all:?}");

    let (_, closed) = ran(stall, options(Schedule::CLOSED, 1, 10), never).await;
    let (all, corrected) = (&closed.all, closed.all.corrected.unwrap());
    assert!(all.response.p99_us < 2_000, "{all:?}");
    assert!(
        (850_000..1_001_000).contains(&corrected.p99_us),
        "{corrected:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn operations_that_were_due_but_never_began_are_counted() {
    let (end, measured) = ran(|_| ms(100), options(rate(100.0, 0.0), 2, 10), never).await;
    // Two workers complete 20 operations per second.
    assert_eq!(measured.all.done, 200);
    assert_eq!(end.not_begun, 800);
    // The 200th operation was due at second 2, and ended at second 10.
    assert!(
        (7_900_000..8_200_000).contains(&measured.all.response.max_us),
        "{:?}",
        measured.all
    );
}

#[tokio::test(start_paused = true)]
async fn averages_exclude_the_ramp() {
    let (_, measured) = ran(|_| ms(1), options(rate(100.0, 10.0), 8, 20), never).await;
    assert_eq!(measured.all.done, 500 + 1_000);
    let done = |point: &Point| point.done_sum().round();
    let rates: Vec<_> = measured.points.iter().map(done).collect();
    assert!(
        rates[0] < 10.0 && rates[9] > 90.0 && rates[..10].is_sorted(),
        "{rates:?}"
    );
    assert!(
        (measured.asked_per_second - 100.0).abs() < 1.0,
        "{}",
        measured.asked_per_second
    );

    let ramp = Schedule::Closed { ramp_seconds: 10.0 };
    let (_, closed) = ran(|_| ms(100), options(ramp, 10, 20), never).await;
    let rates: Vec<_> = closed.points.iter().map(done).collect();
    assert!(
        rates[0] <= 10.0 && rates[9] >= 90.0 && rates[..10].is_sorted(),
        "{rates:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn answers_in_the_grace_period_do_not_lower_the_rate() {
    let late = |at: Duration| ms(if at < ms(3_900) { 1 } else { 5_000 });
    let (end, measured) = ran(late, options(rate(100.0, 0.0), 64, 4), never).await;
    assert_eq!((measured.all.done, end.at), (400, Duration::from_secs(4)));
    assert_eq!(measured.steady_seconds, 4.0);
    assert_eq!(measured.asked_per_second, 100.0);
}

#[tokio::test(start_paused = true)]
async fn a_run_ends_after_its_number_of_operations() {
    let bounded = RunOptions {
        duration: None,
        operations: Some(77),
        ..options(Schedule::CLOSED, 10, 0)
    };
    let (end, measured) = ran(|_| ms(5), bounded, never).await;
    assert_eq!((measured.all.done, end.at, end.not_begun), (77, ms(40), 0));
    // The run is shorter than a second, so the whole run counts as steady.
    assert_eq!(measured.asked_per_second, 1_925.0);
}

#[tokio::test(start_paused = true)]
async fn a_stopped_run_finishes_running_operations() {
    let (end, measured) = ran(
        |_| ms(700),
        options(Schedule::CLOSED, 3, 3_600),
        async || sleep(ms(1_000)).await,
    )
    .await;
    // At the stop, each worker was at its second operation. These operations ended before `stop` completed again.
    assert_eq!((measured.all.done, measured.all.failed), (6, 0));
    assert_eq!((end.at, end.is_interrupted), (ms(1_400), true));
}

#[tokio::test(start_paused = true)]
async fn operations_that_hang_at_the_end_count_as_failed() {
    let (end, measured) = ran(|_| ms(100_000), options(Schedule::CLOSED, 2, 5), never).await;
    assert_eq!((measured.all.done, measured.all.failed), (0, 2));
    assert_eq!(measured.failures["not finished at the end"], 2);
    assert!(
        measured.all.response.max_us.abs_diff(11_000_000) < 20_000,
        "{:?}",
        measured.all
    );
    assert_eq!(end.at, Duration::from_secs(5));
    // A run that is stopped twice ends at once.
    let stopped = ran(
        |_| ms(100_000),
        options(Schedule::CLOSED, 2, 50),
        async || sleep(ms(1_000)).await,
    )
    .await;
    assert_eq!((stopped.0.at, stopped.1.all.failed), (ms(2_000), 2));
}
