//! Times and spans of time on a command line.

use crate::error::Failure;
use partita_client::DateTime;
use std::time::Duration;

/// What the help says.
pub(crate) const SPAN_HELP: &str = "such as 500ms, 30s, 10m, 2h or 7d";

/// Reads a span of time: whole numbers with their units.
pub(crate) fn span(text: &str) -> Result<Duration, Failure> {
    humantime::parse_duration(text)
        .map_err(|_| Failure::usage(format!("{text:?} is no span of time, {SPAN_HELP}")))
}

/// Reads a time: a date-time, or a span before now.
pub(crate) fn since(text: &str, now: DateTime) -> Result<DateTime, Failure> {
    if let Ok(time) = DateTime::parse(text) {
        return Ok(time);
    }
    let Ok(span) = span(text) else {
        let what = format!("{text:?} is no time, and no span of time, {SPAN_HELP}");
        return Err(Failure::Usage(what));
    };
    let ticks = u64::try_from(span.as_nanos() / 100).unwrap_or(u64::MAX);
    let ticks = now.ticks().saturating_sub(ticks);
    Ok(DateTime::from_ticks(ticks).unwrap_or(DateTime::MIN))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_have_units() {
        for (text, ms) in [
            ("0s", 0),
            ("500ms", 500),
            ("30s", 30_000),
            ("10m", 600_000),
            ("2h", 7_200_000),
            ("7d", 604_800_000),
        ] {
            assert_eq!(span(text).unwrap(), Duration::from_millis(ms), "{text}");
        }
        let too_much = ["99999999999999999999s", "99999999999999999d"];
        for text in ["", "10", "m", "-1s", "1x", "soon"] {
            assert!(span(text).is_err(), "{text}");
        }
        assert!(too_much.iter().all(|text| span(text).is_err()));
    }

    #[test]
    fn times_are_read_or_counted_back() {
        let now = DateTime::parse("2026-11-21T20:15:00Z").unwrap();
        let of = |text: &str| since(text, now).unwrap().text().to_string();
        assert_eq!(of("10m"), "2026-11-21T20:05:00Z");
        assert_eq!(of("2026-11-21T20:15:00.5Z"), "2026-11-21T20:15:00.5Z");
        assert_eq!(of("2026-11-21"), "2026-11-21T00:00:00Z");
        assert_eq!(of("400000d"), "1601-01-01T00:00:00Z");
        assert!(since("yesterday", now).is_err());
    }
}
