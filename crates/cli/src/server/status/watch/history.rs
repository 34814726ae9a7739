//! The last ten minutes of a server: requests, latency and bytes from its heat history, errors from its counters.

use partita_tools::admin::{AdminError, AdminPort, HeatQuery, HeatRows};
use partita_wire::admin::{HeatMetric, HeatRow, Status};
use std::collections::VecDeque;
use std::time::Duration;
use tokio::time::Instant;

/// The length of a point.
pub(super) const WINDOW: Duration = Duration::from_secs(10);
/// Points of the history: ten minutes.
pub(super) const POINTS: usize = 60;

/// A value for each point, oldest first; `None` where it is not known.
pub(super) type Series = Vec<Option<f64>>;

/// What the server knows of the last ten minutes.
#[derive(Debug, Default)]
pub(super) struct ServerHistory {
    /// Requests a second.
    pub(super) requests: Series,
    /// The 99th percentile of the latency, in microseconds.
    pub(super) p99_us: Series,
    /// Bytes of rows read and written a second.
    pub(super) bytes: Series,
}

impl ServerHistory {
    pub(super) async fn take(port: &AdminPort) -> Result<Self, AdminError> {
        let per_second = |value: f64| value / WINDOW.as_secs_f64();
        let rates = |series: Series| {
            let rates = series.into_iter().map(|value| value.map(per_second));
            rates.collect()
        };
        Ok(Self {
            requests: rates(series(port, HeatMetric::Requests).await?),
            p99_us: series(port, HeatMetric::P99Us).await?,
            bytes: rates(series(port, HeatMetric::Bytes).await?),
        })
    }
}

/// The last points of a metric of all keys.
async fn series(port: &AdminPort, metric: HeatMetric) -> Result<Series, AdminError> {
    let query = HeatQuery {
        to: None,
        last_seconds: POINTS as u64 * WINDOW.as_secs(),
        step_seconds: WINDOW.as_secs(),
        metric,
        by: HeatRows::Ranges,
        table: None,
        rows: 1,
    };
    let heat = port.heat(&query).await?.document;
    Ok(points(heat.rows.first()))
}

/// The values of a row up to the last known one, at most [`POINTS`]. The window of the last column may not be closed.
fn points(row: Option<&HeatRow>) -> Series {
    let values = row.map_or(&[][..], HeatRow::values);
    let end = values.iter().rposition(Option::is_some);
    let values = values.get(..end.map_or(0, |end| end + 1));
    let values = values.unwrap_or_default();
    let first = values.len().saturating_sub(POINTS);
    values.get(first..).unwrap_or_default().to_vec()
}

/// Errors a second, counted since the screen was opened: answers with status 4xx and 5xx.
#[derive(Debug, Default)]
pub(super) struct ErrorHistory {
    points: VecDeque<f64>,
    /// The start of the newest point, and the number of errors at that time.
    began: Option<(Instant, u64)>,
    /// Errors a second since the last sample.
    now: Option<f64>,
    last: Option<(Instant, u64)>,
}

impl ErrorHistory {
    /// Adds the counters of a sample. A restart of the server begins anew.
    pub(super) fn add(&mut self, at: Instant, status: &Status) {
        let operations = status.requests.operations.iter();
        let errors = operations.map(|it| it.client_errors + it.server_errors);
        let errors = errors.sum();
        self.now = per_second(self.last, (at, errors));
        self.last = Some((at, errors));
        let Some(rate) = per_second(self.began, (at, errors)) else {
            self.began = Some((at, errors));
            return;
        };
        match self.points.back_mut() {
            Some(point) => *point = rate,
            None => self.points.push_back(rate),
        }
        let is_complete = |(began, _): (Instant, u64)| at.duration_since(began) >= WINDOW;
        if self.began.is_some_and(is_complete) {
            self.began = Some((at, errors));
            self.points.push_back(0.0);
            if self.points.len() > POINTS {
                self.points.pop_front();
            }
        }
    }

    /// Errors a second between the last two samples.
    pub(super) const fn now(&self) -> Option<f64> {
        self.now
    }

    pub(super) fn series(&self) -> Series {
        self.points.iter().copied().map(Some).collect()
    }
}

/// The rate between two counts; `None` without a first one, or after a restart of the server.
fn per_second(from: Option<(Instant, u64)>, (at, count): (Instant, u64)) -> Option<f64> {
    let (began, before) = from?;
    let errors = count.checked_sub(before)?;
    let seconds = at.duration_since(began).as_secs_f64();
    (seconds > 0.0).then(|| errors as f64 / seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_end_with_the_last_known_value() {
        let row = |values: Vec<Option<f64>>| HeatRow::Range {
            start: None,
            end: None,
            values,
        };
        assert_eq!(points(None), []);
        assert_eq!(points(Some(&row(vec![None, None]))), []);
        let known = row(vec![None, Some(1.0), None, Some(2.0), None]);
        assert_eq!(points(Some(&known)), [None, Some(1.0), None, Some(2.0)]);
        let long = row((0..90).map(|at| Some(f64::from(at))).collect());
        let last = points(Some(&long));
        assert_eq!((last.len(), last[0]), (POINTS, Some(30.0)));
    }

    #[test]
    fn errors_are_counted_in_points_of_ten_seconds() {
        let json = include_str!("../../../../../wire/src/admin/golden/status.json");
        let mut status: Status = serde_json::from_str(json).unwrap();
        let mut history = ErrorHistory::default();
        let start = Instant::now();
        let mut count = 0;
        for second in 0..26 {
            for operation in &mut status.requests.operations {
                (operation.client_errors, operation.server_errors) = (0, 0);
            }
            // Three errors a second, later none.
            count += if second < 15 { 3 } else { 0 };
            status.requests.operations[0].client_errors = count;
            history.add(start + Duration::from_secs(second), &status);
        }
        let series = history.series();
        assert_eq!(series.len(), 3);
        assert_eq!(series[0], Some(3.0));
        assert_eq!(series[1], Some(1.2));
        assert_eq!((series[2], history.now()), (Some(0.0), Some(0.0)));
        // A restarted server counts from zero.
        status.requests.operations[0].client_errors = 0;
        history.add(start + Duration::from_secs(26), &status);
        assert_eq!(history.now(), None);
    }
}
