//! Metrics over time, in windows of one second; in a long run, of 2, 4, 8 … seconds.

use super::super::mix::Kind;
use partita_load::WindowHistogram;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Maximum number of windows. When more are needed, pairs of windows are merged into windows of double length.
const WINDOWS_MAX: usize = 600;

/// The metrics of a window.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Point {
    /// The start of the window, in seconds from the start of the run.
    pub at_seconds: f64,
    /// The length of the window, in seconds; the last one may be shorter.
    pub seconds: f64,
    /// Operations per second that succeeded, for each kind in the order of [`Kind::ALL`].
    pub done_per_second: [f64; 7],
    /// Operations per second that failed.
    pub failed_per_second: f64,
    /// Attempts per second that the server refused because it was busy.
    pub refused_per_second: f64,
    /// Entities per second that were read or written.
    pub entities_per_second: f64,
    /// The median latency of the operations that ended in the window, in microseconds; `None` without operations.
    pub p50_us: Option<u64>,
    /// The 99th percentile of these latencies.
    pub p99_us: Option<u64>,
    /// The 99.9th percentile of these latencies.
    pub p999_us: Option<u64>,
}

/// The counts of a window.
#[derive(Debug, Clone, Default)]
pub(super) struct Window {
    pub(super) done: [u64; 7],
    pub(super) failed: u64,
    pub(super) refused: u64,
    pub(super) entities: u64,
    pub(super) latencies: WindowHistogram,
}

/// All windows of a run.
#[derive(Debug)]
pub(super) struct Series {
    length: Duration,
    windows: Vec<Window>,
}

impl Window {
    fn add(&mut self, other: &Self) {
        for (done, more) in self.done.iter_mut().zip(other.done) {
            *done += more;
        }
        self.failed += other.failed;
        self.refused += other.refused;
        self.entities += other.entities;
        self.latencies.merge(&other.latencies);
    }

    fn point(&self, at: Duration, length: Duration) -> Point {
        let seconds = length.as_secs_f64();
        let per_second = |count: u64| tenths(count as f64 / seconds.max(1e-3));
        Point {
            at_seconds: at.as_secs_f64(),
            seconds,
            done_per_second: self.done.map(per_second),
            failed_per_second: per_second(self.failed),
            refused_per_second: per_second(self.refused),
            entities_per_second: per_second(self.entities),
            p50_us: self.latencies.quantile_us(0.5),
            p99_us: self.latencies.quantile_us(0.99),
            p999_us: self.latencies.quantile_us(0.999),
        }
    }
}

impl Series {
    pub(super) fn new() -> Self {
        Self {
            length: Duration::from_secs(1),
            windows: Vec::new(),
        }
    }

    /// The window that contains this time; created if necessary.
    pub(super) fn at(&mut self, at: Duration) -> &mut Window {
        let mut index = self.index(at);
        while index >= WINDOWS_MAX {
            self.halve();
            index = self.index(at);
        }
        while self.windows.len() <= index {
            self.windows.push(Window::default());
        }
        &mut self.windows[index]
    }

    fn index(&self, at: Duration) -> usize {
        usize::try_from(at.as_nanos() / self.length.as_nanos()).unwrap_or(usize::MAX)
    }

    fn halve(&mut self) {
        let pairs = self.windows.chunks(2).map(|pair| {
            let mut sum = pair[0].clone();
            pair[1..].iter().for_each(|other| sum.add(other));
            sum
        });
        self.windows = pairs.collect();
        self.length *= 2;
    }

    /// The metrics of all windows up to `end`, the current end of the run.
    pub(super) fn points(&self, end: Duration) -> Vec<Point> {
        let begins = (0_u32..).map(|number| self.length * number);
        let windows = begins.zip(&self.windows);
        // Rates of a very short last window are not meaningful, so it is omitted.
        let shortest = self.length / 10;
        let points = windows.filter_map(|(at, one)| {
            let length = self.length.min(end.saturating_sub(at));
            (length >= shortest || self.windows.len() == 1).then(|| one.point(at, length))
        });
        points.collect()
    }

    /// The metrics of the last complete window, or of the current one if no window is complete.
    pub(super) fn latest(&self, now: Duration) -> Option<Point> {
        let under_way = self.index(now);
        let index = under_way
            .saturating_sub(1)
            .min(self.windows.len().saturating_sub(1));
        let at = self.length * u32::try_from(index).ok()?;
        let length = self.length.min(now.saturating_sub(at));
        Some(self.windows.get(index)?.point(at, length))
    }
}

impl Point {
    /// Operations per second that succeeded, of all kinds.
    pub fn done_sum(&self) -> f64 {
        self.done_per_second.iter().sum()
    }

    /// Operations per second of a kind that succeeded.
    pub fn done(&self, kind: Kind) -> f64 {
        self.done_per_second[kind.index()]
    }
}

/// Rounds to a tenth.
pub(super) fn tenths(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_run_takes_bounded_memory_and_keeps_all_counts() {
        let mut series = Series::new();
        for second in 0..5_000 {
            let one = series.at(Duration::from_millis(second * 1_000 + 500));
            one.done[1] += 2;
            one.refused += 1;
            one.latencies.record(Duration::from_millis(10));
        }
        let points = series.points(Duration::from_secs(5_000));
        assert!(
            (WINDOWS_MAX / 2..=WINDOWS_MAX).contains(&points.len()),
            "{}",
            points.len()
        );
        let sum = |of: fn(&Point) -> f64| {
            points
                .iter()
                .map(|point| of(point) * point.seconds)
                .sum::<f64>()
        };
        assert!((sum(|point| point.done(Kind::Insert)) - 10_000.0).abs() < 1.0);
        assert!((sum(|point| point.refused_per_second) - 5_000.0).abs() < 1.0);
        assert!(
            points
                .iter()
                .all(|point| point.p50_us.is_some_and(|us| us.abs_diff(10_000) < 200))
        );
        assert!(
            points
                .windows(2)
                .all(|pair| pair[0].at_seconds + pair[0].seconds == pair[1].at_seconds)
        );
    }

    #[test]
    fn the_last_window_ends_with_the_run() {
        let mut series = Series::new();
        series.at(Duration::from_millis(100)).done[0] += 1;
        series.at(Duration::from_millis(1_100)).done[0] += 50;
        let points = series.points(Duration::from_millis(1_500));
        assert_eq!(points.len(), 2);
        assert_eq!(points[1].done(Kind::Get), 100.0);
        assert_eq!(
            series.points(Duration::from_millis(1_050)).len(),
            1,
            "a window of 50 ms is too short for a rate"
        );
        assert_eq!(
            series
                .latest(Duration::from_millis(1_500))
                .unwrap()
                .done_sum(),
            1.0
        );
    }
}
