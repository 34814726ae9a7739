//! The time that an attempt may take: the shorter of its own timeout and what is left of the operation's.

use crate::{ClientOptions, Error, ErrorKind};
use std::time::Duration;

/// The time limit of an attempt.
pub(super) struct TimeLimit {
    pub(super) left: Duration,
    /// The operation's timeout, if that ends first.
    operation: Option<Duration>,
}

impl TimeLimit {
    /// The limit of an attempt that begins `elapsed` after its operation.
    pub(super) fn of(options: &ClientOptions, elapsed: Duration) -> Self {
        let attempt = Self {
            left: options.attempt_timeout,
            operation: None,
        };
        let Some(all) = options.operation_timeout else {
            return attempt;
        };
        let left = all.saturating_sub(elapsed);
        if left >= attempt.left {
            return attempt;
        }
        Self {
            left,
            operation: Some(all),
        }
    }

    /// The error of an attempt that reached the limit.
    pub(super) fn error(&self) -> Error {
        let left = self.left.as_millis();
        let message = match self.operation {
            None => format!("timed out: no answer within the attempt timeout of {left} ms"),
            Some(all) => format!(
                "timed out: the operation timeout of {} ms ended, {left} ms after this attempt began",
                all.as_millis()
            ),
        };
        Error::new(ErrorKind::TimedOut, message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(attempt: u64, operation: Option<u64>, elapsed: u64) -> String {
        let options = ClientOptions {
            attempt_timeout: Duration::from_millis(attempt),
            operation_timeout: operation.map(Duration::from_millis),
            ..ClientOptions::default()
        };
        let limit = TimeLimit::of(&options, Duration::from_millis(elapsed));
        limit.error().to_string()
    }

    #[test]
    fn r7_a_timeout_names_the_limit_that_ended() {
        let attempt = "timed out: no answer within the attempt timeout of 100 ms";
        assert_eq!(message(100, None, 5_000), attempt);
        assert_eq!(message(100, Some(500), 200), attempt);
        assert_eq!(
            message(100, Some(500), 461),
            "timed out: the operation timeout of 500 ms ended, 39 ms after this attempt began"
        );
    }
}
