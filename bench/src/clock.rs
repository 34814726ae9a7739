//! The current time as the text of an HTTP date, and waiting.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};

use time::OffsetDateTime;
use time::macros::format_description;

/// Bytes of a date in RFC 1123 form.
pub(crate) const DATE_LEN: usize = 29;

/// Seconds by which the dates of requests differ from the clock.
static DATE_SHIFT: AtomicI64 = AtomicI64::new(0);

/// Shifts the dates of all further requests: for a server whose clock is shifted, which refuses a date that differs by
/// more than 15 minutes.
pub fn shift_dates(seconds: i64) {
    DATE_SHIFT.store(seconds, Ordering::Relaxed);
}

/// The time of a request as RFC 1123 text, whole seconds.
pub(crate) fn rfc1123_now() -> String {
    let format = format_description!(
        "[weekday repr:short], [day] [month repr:short] [year] [hour]:[minute]:[second] GMT"
    );
    let shift = time::Duration::seconds(DATE_SHIFT.load(Ordering::Relaxed));
    let text = (OffsetDateTime::now_utc() + shift)
        .format(format)
        .expect("a date of this century fits the format");
    debug_assert_eq!(text.len(), DATE_LEN);
    text
}

/// Parks this thread for `time`. An unpark in between does not end the wait.
pub fn park_for(time: Duration) {
    let end = Instant::now() + time;
    while let Some(left) = end.checked_duration_since(Instant::now()) {
        std::thread::park_timeout(left);
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn has_the_fixed_length_the_templates_rely_on() {
        assert_eq!(super::rfc1123_now().len(), super::DATE_LEN);
    }
}
