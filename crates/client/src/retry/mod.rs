//! Decides which failed attempts are retried, and reads the wait that a server requests.
//!
//! | the attempt failed with | retried | may have happened |
//! | --- | --- | --- |
//! | no connection | yes | no |
//! | connection broken, timeout | yes | yes |
//! | 408, 500, 502, 504 | yes | yes |
//! | 429, 503 | yes | no: the service refuses before it executes anything |
//! | 505 and above | no | yes |
//! | any other status: 3xx, 4xx, 501 | no | no |
//!
//! Every write can be retried: [`crate::TableClient`] detects a retry that meets the effect of its own earlier attempt;
//! [`crate::QueueClient`] lists the effects of a retry on messages.

mod budget;
mod policy;

pub(crate) use budget::Bucket;
pub use budget::RetryBudget;
pub use policy::RetryPolicy;

use crate::{Error, ErrorKind, Outcome};
use http::HeaderMap;
use partita_model::DateTime;
use partita_wire::parse_http_date;
use std::time::Duration;

/// The longest wait or timeout. Timers add it to the current time, which must not overflow.
pub(crate) const DURATION_MAX: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// The most that jitter adds to a wait that the server requests, as a part of that wait.
const REQUESTED_JITTER: f64 = 0.2;

/// The wait before a retry when the server requests `asked`: at least `min`, and up to 20 % longer, so that clients that
/// were refused together do not return together. `spread` from 0.0 to 1.0 selects the jitter.
pub(crate) fn requested_wait(asked: Duration, min: Duration, spread: f64) -> Duration {
    let wait = asked.max(min).min(DURATION_MAX);
    wait.mul_f64(1.0 + REQUESTED_JITTER * spread.clamp(0.0, 1.0))
}

/// Whether the client retries a request that was answered with `status`: 408, 429, 500, 502, 503 or 504.
#[must_use]
pub const fn is_retried_status(status: u16) -> bool {
    matches!(status, 408 | 429 | 500 | 502 | 503 | 504)
}

impl Error {
    /// Whether the client retries such a failure: no connection, a broken one, a timeout, or a status for which
    /// [`is_retried_status`] is true.
    #[must_use]
    pub fn is_retried(&self) -> bool {
        match self.kind() {
            ErrorKind::Connect | ErrorKind::Broken | ErrorKind::TimedOut => true,
            ErrorKind::Service => self.status().is_some_and(is_retried_status),
            _ => false,
        }
    }
}

/// The outcome of a write that was answered with `status`.
pub(crate) const fn outcome_of_status(status: u16) -> Outcome {
    match status {
        408 | 500 | 502 | 504..=599 => Outcome::MayHaveHappened,
        _ => Outcome::DidNotHappen,
    }
}

/// The wait that the server requests: `retry-after-ms` or `x-ms-retry-after-ms` in milliseconds, else `Retry-After` in
/// seconds or as a date. The official SDKs honour the same headers.
pub(crate) fn retry_after(headers: &HeaderMap, now: DateTime) -> Option<Duration> {
    let text = |name: &str| headers.get(name)?.to_str().ok().map(str::trim);
    for name in ["retry-after-ms", "x-ms-retry-after-ms"] {
        if let Some(wait) = text(name).and_then(|text| text.parse().ok()) {
            return Some(Duration::from_millis(wait));
        }
    }
    let text = text("retry-after")?;
    if let Ok(seconds) = text.parse() {
        return Some(Duration::from_secs(seconds));
    }
    let ticks = parse_http_date(text)?.ticks().saturating_sub(now.ticks());
    Some(Duration::from_nanos(ticks.saturating_mul(100)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;

    #[test]
    fn each_status_has_its_outcome() {
        for status in 100..600 {
            let retried = [408, 429, 500, 502, 503, 504].contains(&status);
            assert_eq!(is_retried_status(status), retried, "{status}");
            // 501 and 503 mean that nothing was executed; other server errors and 408 do not.
            let is_unknown = status == 408 || (status >= 500 && ![501, 503].contains(&status));
            let expected = if is_unknown {
                Outcome::MayHaveHappened
            } else {
                Outcome::DidNotHappen
            };
            assert_eq!(outcome_of_status(status), expected, "{status}");
        }
    }

    #[test]
    fn r2_requested_waits_have_a_minimum_and_jitter() {
        let [zero, min, second] = [0, 100, 1_000].map(Duration::from_millis);
        let bounds = |asked| [0.0, 1.0].map(|spread| requested_wait(asked, min, spread));
        assert_eq!(bounds(zero), [100, 120].map(Duration::from_millis));
        assert_eq!(bounds(second), [1_000, 1_200].map(Duration::from_millis));
        assert!(requested_wait(Duration::MAX, Duration::MAX, 1.0) < DURATION_MAX * 2);
    }

    #[test]
    fn requested_waits_are_read() {
        let now = DateTime::parse("2024-01-02T03:04:05Z").unwrap();
        let requested = |headers: &[(&'static str, &'static str)]| {
            let headers: HeaderMap = headers
                .iter()
                .map(|(name, value)| (name.parse().unwrap(), HeaderValue::from_static(value)))
                .collect();
            retry_after(&headers, now).map(|wait| wait.as_millis())
        };
        assert_eq!(requested(&[]), None);
        assert_eq!(requested(&[("retry-after", "2")]), Some(2_000));
        assert_eq!(requested(&[("retry-after", "0")]), Some(0));
        assert_eq!(
            requested(&[("retry-after", "Tue, 02 Jan 2024 03:04:15 GMT")]),
            Some(10_000)
        );
        assert_eq!(
            requested(&[("retry-after", "Tue, 02 Jan 2024 03:04:00 GMT")]),
            Some(0)
        );
        assert_eq!(requested(&[("retry-after", "soon")]), None);
        assert_eq!(requested(&[("retry-after", "-1")]), None);
        let both = [("retry-after", "2"), ("x-ms-retry-after-ms", "150")];
        assert_eq!(requested(&both), Some(150));
        assert_eq!(requested(&[("retry-after-ms", "7")]), Some(7));
    }
}
