//! Outcomes of attempts: refused attempts by reason, and decisions of the retry policy.

use partita_client::{AttemptEvent, Decision, Error, ErrorKind, GiveUp, RetryReason};
use partita_load::{Counts, count};
use serde::{Deserialize, Serialize};

/// Outcomes of attempts.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tries {
    /// Number of attempts. Each is an HTTP request.
    pub attempts: u64,
    /// Attempts that the server answered with 503 or 429, by reason: the word in `x-partita-reason`, or status and
    /// error code.
    pub refused: Counts,
    /// Attempts that were retried, by reason.
    pub retried: Counts,
    /// The total time of the waits before retries, in milliseconds.
    pub waited_ms: u64,
    /// Number of waits whose length the server requested.
    pub waits_asked: u64,
    /// Number of requests that succeeded after a retry. Each operation is one request; a scan is one for each page.
    pub saved: u64,
    /// Requests that failed, by the reason why they were not retried again.
    pub given_up: Counts,
}

impl Tries {
    /// Counts an attempt that failed, or that succeeded after failed ones. Returns whether the server refused it
    /// because it was busy.
    pub(super) fn count(&mut self, event: &AttemptEvent<'_>) -> bool {
        let refusal = refusal(event);
        if let Some(word) = &refusal {
            count(&mut self.refused, word);
        }
        match event.decision {
            Decision::Done => self.saved += u64::from(event.attempt > 1),
            Decision::Retry {
                reason,
                wait,
                asked,
            } => {
                count(&mut self.retried, &cause(reason));
                self.waited_ms += u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
                self.waits_asked += u64::from(asked);
            }
            Decision::GiveUp(why) => count(&mut self.given_up, given_up(why)),
            _ => {}
        }
        refusal.is_some()
    }

    /// The number of refused attempts, for all reasons.
    pub fn refused_sum(&self) -> u64 {
        self.refused.values().sum()
    }

    /// The number of retried attempts, for all reasons.
    pub fn retried_sum(&self) -> u64 {
        self.retried.values().sum()
    }
}

/// Why the server refused an attempt; `None` unless it answered 503 or 429.
fn refusal(event: &AttemptEvent<'_>) -> Option<String> {
    let status = event.error.and_then(Error::status).or(event.status)?;
    if !matches!(status, 429 | 503) {
        return None;
    }
    let code = event.error.map_or("", Error::code_text);
    let reason = event.busy_reason.map(str::to_owned);
    Some(reason.unwrap_or_else(|| status_and_code(status, code)))
}

fn status_and_code(status: u16, code: &str) -> String {
    format!("{status} {code}").trim_end().to_owned()
}

fn cause(reason: RetryReason) -> String {
    match reason {
        RetryReason::Connect => "cannot connect".to_owned(),
        RetryReason::Broken => "connection broken".to_owned(),
        RetryReason::TimedOut => "timed out".to_owned(),
        RetryReason::Status(status) => format!("status {status}"),
        _ => "another reason".to_owned(),
    }
}

const fn given_up(why: GiveUp) -> &'static str {
    match why {
        GiveUp::NotRetried => "not worth another attempt",
        GiveUp::AttemptsUsedUp => "attempts used up",
        GiveUp::BudgetUsedUp => "retry budget used up",
        GiveUp::AskedTooLong => "the server requested too long a wait",
        GiveUp::OutOfTime => "out of time",
        _ => "another reason",
    }
}

/// The reason why an operation failed, in a few words.
pub(in crate::stress) fn failure(error: &Error) -> String {
    if let Some(status) = error.status() {
        return status_and_code(status, error.code_text());
    }
    let word = match error.kind() {
        ErrorKind::Input => "invalid request",
        ErrorKind::Credential => "no credential",
        ErrorKind::Connect => "cannot connect",
        ErrorKind::Tls => "TLS failed",
        ErrorKind::Broken => "connection broken",
        ErrorKind::TimedOut => "timed out",
        ErrorKind::Service | ErrorKind::Unreadable => "invalid answer",
        _ => "another failure",
    };
    word.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use partita_client::GiveUp;
    use std::time::Duration;

    fn event(
        status: u16,
        busy_reason: Option<&'static str>,
        attempt: u32,
        decision: Decision,
    ) -> AttemptEvent<'static> {
        AttemptEvent {
            operation: "InsertEntity",
            attempt,
            client_request_id: "",
            request_id: None,
            took: Duration::ZERO,
            status: Some(status),
            bytes: (0, 0),
            busy_reason,
            error: None,
            decision,
        }
    }

    #[test]
    fn attempts_are_counted_by_decision() {
        let retry = |reason, ms, asked| Decision::Retry {
            reason,
            wait: Duration::from_millis(ms),
            asked,
        };
        let mut tries = Tries::default();
        let busy = Some("partition-target");
        assert!(tries.count(&event(
            503,
            busy,
            1,
            retry(RetryReason::Status(503), 1_000, true)
        )));
        assert!(tries.count(&event(
            503,
            busy,
            2,
            retry(RetryReason::Status(503), 500, false)
        )));
        assert!(!tries.count(&event(204, None, 3, Decision::Done)));
        assert!(tries.count(&event(
            503,
            None,
            5,
            Decision::GiveUp(GiveUp::AttemptsUsedUp)
        )));
        assert!(!tries.count(&event(
            500,
            None,
            1,
            retry(RetryReason::Status(500), 1, false)
        )));
        assert!(!tries.count(&event(204, None, 1, Decision::Done)));
        let words = |counts: &Counts| format!("{counts:?}");
        assert_eq!(
            words(&tries.refused),
            r#"{"503": 1, "partition-target": 2}"#
        );
        assert_eq!(
            words(&tries.retried),
            r#"{"status 500": 1, "status 503": 2}"#
        );
        assert_eq!(words(&tries.given_up), r#"{"attempts used up": 1}"#);
        assert_eq!(
            (tries.waited_ms, tries.waits_asked, tries.saved),
            (1_501, 1, 1)
        );
        assert_eq!((tries.refused_sum(), tries.retried_sum()), (3, 3));
    }
}
