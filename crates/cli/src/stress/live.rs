//! The screen of a running test, as lines of text: a pure function of the numbers, for tests.

use crate::screen::{truncate, wrap};
use crate::units::{count, latency};
use partita_tools::stress::{Counts, Live, Point, Settings};

/// Width of the names at the beginning of lines.
const NAME_WIDTH: usize = 11;
/// Minimum line width. Narrower terminals wrap the lines.
const WIDTH_MIN: usize = 40;
/// Line width if stdout is not a terminal.
const WIDTH: usize = 80;
/// The characters of a bar chart, from the lowest bar to the highest.
const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// The screen of a run: its settings, which do not change, and its current numbers.
pub(super) struct LivePage {
    head: String,
    seconds: Option<f64>,
    pub(super) operations: Option<u64>,
}

impl LivePage {
    pub(super) fn new(settings: &Settings) -> Self {
        let Settings {
            table,
            endpoint,
            pattern,
            mix,
            schedule,
            workers,
            ..
        } = settings;
        Self {
            head: format!(
                "table {table} at {endpoint}: {pattern}; {mix}; {schedule}, {workers} workers"
            ),
            seconds: settings.duration_seconds,
            operations: settings.operations,
        }
    }

    /// All lines, for a terminal of this size (columns, lines).
    pub(super) fn text(&self, live: &Live, size: Option<(usize, usize)>) -> String {
        let width = size.map_or(WIDTH, |(columns, _)| columns).max(WIDTH_MIN);
        let mut lines = vec![self.progress(live), self.head.clone(), String::new()];
        let room = width - NAME_WIDTH;
        let named = |name: &str, text: &str| format!("{name:<NAME_WIDTH$}{text}");
        if let Some(latest) = &live.latest {
            lines.push(named("now", &now(latest)));
            lines.push(named("latency", &latencies(latest)));
        }
        lines.push(named("done/s", &bars(&live.points, room, Point::done_sum)));
        if live.tries.refused_sum() > 0 {
            lines.push(named(
                "refused/s",
                &bars(&live.points, room, |point| point.refused_per_second),
            ));
        }
        lines.push(String::new());
        if let Some((key, asked)) = &live.busiest {
            let key = truncate(key, 40);
            lines.push(named(
                "busiest",
                &format!("{key}: {} entities requested in this second", count(*asked)),
            ));
        }
        lines.push(named("refused", &listed(&live.tries.refused, "nothing")));
        let tries = &live.tries;
        let retries = format!(
            "{} ({} waits by Retry-After), {} operations succeeded by a retry",
            count(tries.retried_sum()),
            count(tries.waits_asked),
            count(tries.saved)
        );
        lines.push(named("retries", &retries));
        lines.push(named("failed", &listed(&live.failures, "nothing")));
        let fit = |line: &String| {
            let indent = if line.starts_with("table ") {
                2
            } else {
                NAME_WIDTH
            };
            wrap(line, width, indent)
        };
        let mut text = lines.iter().flat_map(fit).collect::<Vec<_>>().join("\n");
        text.push('\n');
        text
    }

    fn progress(&self, live: &Live) -> String {
        let done = count(live.done + live.failed);
        let of = self
            .operations
            .map(|all| format!(" of {}", count(all)))
            .unwrap_or_default();
        let seconds = self
            .seconds
            .map(|all| format!(" of {all:.0}"))
            .unwrap_or_default();
        format!(
            "{done}{of} operations in {:.1}{seconds} s; Ctrl-C ends the run, with its report",
            live.seconds
        )
    }
}

fn now(point: &Point) -> String {
    format!(
        "{} operations/s, {} entities/s, {} refused/s, {} failed/s",
        whole(point.done_sum()),
        whole(point.entities_per_second),
        whole(point.refused_per_second),
        whole(point.failed_per_second)
    )
}

fn latencies(point: &Point) -> String {
    let of = |us: Option<u64>| us.map_or_else(|| "-".to_owned(), latency);
    format!(
        "p50 {}, p99 {}, p99.9 {}",
        of(point.p50_us),
        of(point.p99_us),
        of(point.p999_us)
    )
}

/// A bar chart of the last points, as many as fit into `room` columns, and the value of the highest bar.
fn bars(points: &[Point], room: usize, of: impl Fn(&Point) -> f64) -> String {
    // The last point is omitted, because its window is not complete.
    let complete = points
        .get(..points.len().saturating_sub(1))
        .unwrap_or_default();
    let label_room = 14;
    let points = &complete[complete
        .len()
        .saturating_sub(room.saturating_sub(label_room))..];
    let most = points.iter().map(&of).fold(0.0, f64::max);
    if most <= 0.0 {
        return String::new();
    }
    let bar = |point: &Point| {
        let height = (of(point) / most * 7.0).round();
        BARS[(height as usize).min(7)]
    };
    let bars: String = points.iter().map(bar).collect();
    format!("{bars} max {}", whole(most))
}

fn whole(value: f64) -> String {
    count(value.round() as u64)
}

fn listed(counts: &Counts, none: &str) -> String {
    let each = counts
        .iter()
        .map(|(word, number)| format!("{} {}", truncate(word, 60), count(*number)));
    let all = each.collect::<Vec<_>>().join(", ");
    if all.is_empty() { none.to_owned() } else { all }
}

#[cfg(test)]
mod tests {
    use super::*;
    use partita_tools::stress::Tries;

    fn live() -> Live {
        let point = |at: u32| Point {
            at_seconds: f64::from(at),
            seconds: 1.0,
            done_per_second: [f64::from(at) * 100.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
            failed_per_second: 0.0,
            refused_per_second: if at > 3 { 40.0 } else { 0.0 },
            entities_per_second: f64::from(at) * 100.0,
            p50_us: Some(850),
            p99_us: Some(12_345),
            p999_us: Some(1_250_000),
        };
        let points: Vec<_> = (0..9).map(point).collect();
        Live {
            seconds: 8.4,
            done: 2_800,
            failed: 3,
            latest: points.get(7).cloned(),
            points,
            tries: Tries {
                attempts: 3_000,
                refused: Counts::from([("partition-target".to_owned(), 160)]),
                retried: Counts::from([("status 503".to_owned(), 150)]),
                waits_asked: 150,
                saved: 120,
                ..Tries::default()
            },
            busiest: Some(("a\u{1b}[2J".to_owned(), 456)),
            failures: Counts::from([("503 ServerBusy".to_owned(), 3)]),
        }
    }

    fn page() -> LivePage {
        LivePage {
            head: "table t at http://h".to_owned(),
            seconds: Some(30.0),
            operations: None,
        }
    }

    #[test]
    fn the_screen_has_every_number() {
        let expected = "\
2,803 operations in 8.4 of 30 s; Ctrl-C ends the run, with its report
table t at http://h

now        700 operations/s, 700 entities/s, 40 refused/s, 0 failed/s
latency    p50 850 µs, p99 12.3 ms, p99.9 1.25 s
done/s     ▁▂▃▄▅▆▇█ max 700
refused/s  ▁▁▁▁████ max 40

busiest    a\\u{1b}[2J: 456 entities requested in this second
refused    partition-target 160
retries    150 (150 waits by Retry-After), 120 operations succeeded by a retry
failed     503 ServerBusy 3
";
        assert_eq!(page().text(&live(), Some((200, 50))), expected);
    }

    #[test]
    fn no_line_is_wider_than_the_terminal() {
        let text = page().text(&live(), Some((44, 50)));
        assert!(
            text.lines().all(|line| line.chars().count() <= 44),
            "{text}"
        );
    }
}
