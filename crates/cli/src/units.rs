//! How numbers, sizes and times are written, in output, messages and flags: `27,004 rows`, `35.1 MiB`, `12.3 ms`,
//! `24h`.

use indicatif::HumanCount;
use partita_client::DateTime;
use std::fmt::Write as _;
use std::time::Duration;

/// Examples of durations, for help texts and errors.
pub(crate) const DURATION_HELP: &str = "such as 500ms, 30s, 10m, 2h or 7d";

/// A number with thousands separators.
pub(crate) fn count(number: u64) -> String {
    HumanCount(number).to_string()
}

/// A number of things: `1 row`, `2 rows`.
pub(crate) fn many(number: u64, one: &str, several: &str) -> String {
    let noun = if number == 1 { one } else { several };
    format!("{} {noun}", count(number))
}

// A size (`35.1 MiB`), a latency (`850 µs`, `12.3 ms`, `1.25 s`), and a rate with one decimal below 10.
pub(crate) use partita_tools::stress::display::{bytes, latency, rate};

/// A duration in whole seconds, exactly, such as `30d`, `1d 12h` or `1m 30s`.
pub(crate) fn duration(duration: Duration) -> String {
    const UNITS: [(u64, char); 4] = [(86_400, 'd'), (3_600, 'h'), (60, 'm'), (1, 's')];
    let mut rest = duration.as_secs();
    let mut text = String::new();
    for (seconds, unit) in UNITS {
        if rest >= seconds {
            let gap = if text.is_empty() { "" } else { " " };
            let _ = write!(text, "{gap}{}{unit}", rest / seconds);
            rest %= seconds;
        }
    }
    if text.is_empty() {
        text.push_str("0s");
    }
    text
}

/// A duration by its two largest units: `2h 1m`.
pub(crate) fn rough_duration(duration: Duration) -> String {
    let exact = self::duration(duration);
    let units: Vec<&str> = exact.split(' ').take(2).collect();
    units.join(" ")
}

/// Reads a duration: whole numbers with units, such as `1h 30m`.
pub(crate) fn parse_duration(text: &str) -> Result<Duration, String> {
    humantime::parse_duration(text)
        .map_err(|_| format!("{text:?} is not a duration, {DURATION_HELP}"))
}

/// Reads a duration above zero.
pub(crate) fn parse_duration_above_zero(text: &str) -> Result<Duration, String> {
    match parse_duration(text)? {
        Duration::ZERO => Err(format!("expected a duration above 0, {DURATION_HELP}")),
        duration => Ok(duration),
    }
}

/// A parser of durations in whole seconds within `range`. A plain number, an old spelling, means seconds.
pub(crate) fn seconds_within(
    range: std::ops::RangeInclusive<u64>,
) -> impl Fn(&str) -> Result<u64, String> + Clone + Send + Sync + 'static {
    move |text| {
        let expected = || {
            let [from, to] = [*range.start(), *range.end()].map(Duration::from_secs);
            let (from, to) = (duration(from), duration(to));
            format!("expected whole seconds from {from} to {to}, {DURATION_HELP}")
        };
        let time = match text.parse() {
            Ok(seconds) => Duration::from_secs(seconds),
            Err(_) => parse_duration(text)?,
        };
        let seconds = Some(time.as_secs()).filter(|seconds| range.contains(seconds));
        seconds
            .filter(|_| time.subsec_nanos() == 0)
            .ok_or_else(expected)
    }
}

/// A parser of sizes within `range`, in the syntax of the server's settings: `1KiB`, `4 MiB`, or a number of bytes.
pub(crate) fn size_within(
    range: std::ops::RangeInclusive<u64>,
) -> impl Fn(&str) -> Result<u64, String> + Clone + Send + Sync + 'static {
    move |text| {
        let size = partita_server::config::parse_bytes(text);
        size.filter(|size| range.contains(size)).ok_or_else(|| {
            let [from, to] = [*range.start(), *range.end()].map(bytes);
            format!("expected a size from {from} to {to}, such as 512, 1KiB or 4MiB")
        })
    }
}

/// A time: a date-time, or a duration before now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Since {
    Time(DateTime),
    Ago(Duration),
}

impl Since {
    /// Parses a date-time or a duration.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        if let Ok(time) = DateTime::parse(text) {
            return Ok(Self::Time(time));
        }
        let invalid =
            |_| format!("{text:?} is neither a date-time nor a duration, {DURATION_HELP}");
        parse_duration(text).map(Self::Ago).map_err(invalid)
    }

    /// The absolute time, if it is now `now`.
    pub(crate) fn time(self, now: DateTime) -> DateTime {
        match self {
            Self::Time(time) => time,
            Self::Ago(duration) => {
                let ticks = u64::try_from(duration.as_nanos() / 100).unwrap_or(u64::MAX);
                let ticks = now.ticks().saturating_sub(ticks);
                DateTime::from_ticks(ticks).unwrap_or(DateTime::MIN)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_things_have_separators() {
        assert_eq!(many(1, "row", "rows"), "1 row");
        assert_eq!(many(27_004, "row", "rows"), "27,004 rows");
    }

    #[test]
    fn durations_are_written_as_flags_read_them() {
        for (seconds, text) in [
            (0, "0s"),
            (90, "1m 30s"),
            (43_500, "12h 5m"),
            (30 * 86_400, "30d"),
        ] {
            let value = Duration::from_secs(seconds);
            assert_eq!(duration(value), text);
            assert_eq!(parse_duration(text), Ok(value));
        }
        assert_eq!(rough_duration(Duration::from_secs(93_784)), "1d 2h");
    }

    #[test]
    fn durations_have_units() {
        for (text, ms) in [
            ("0s", 0),
            ("500ms", 500),
            ("30s", 30_000),
            ("10m", 600_000),
            ("2h", 7_200_000),
            ("7d", 604_800_000),
        ] {
            assert_eq!(
                parse_duration(text),
                Ok(Duration::from_millis(ms)),
                "{text}"
            );
        }
        let too_long = ["99999999999999999999s", "99999999999999999d"];
        for text in ["", "10", "m", "-1s", "1x", "soon"] {
            assert!(parse_duration(text).is_err(), "{text}");
        }
        assert!(too_long.iter().all(|text| parse_duration(text).is_err()));
        assert!(parse_duration_above_zero("0s").is_err());
    }

    #[test]
    fn times_of_flags_have_units_and_plain_numbers_are_seconds() {
        let parse = seconds_within(5..=86_400);
        assert_eq!(
            (parse("90s"), parse("2m"), parse("60")),
            (Ok(90), Ok(120), Ok(60))
        );
        for text in ["4s", "2d", "5500ms", "x", ""] {
            assert!(parse(text).is_err(), "{text}");
        }
        assert!(parse("4s").unwrap_err().contains("from 5s to 1d"));
    }

    #[test]
    fn sizes_of_flags_have_binary_units_or_are_bytes() {
        let parse = size_within(0..=32_768);
        assert_eq!(
            (parse("512"), parse("1KiB"), parse("32 KiB"), parse("7B")),
            (Ok(512), Ok(1024), Ok(32_768), Ok(7))
        );
        for text in ["33KiB", "1kb", "1.5KiB", "-1", ""] {
            let refused = parse(text).unwrap_err();
            assert!(
                refused.contains("from 0 B to 32.0 KiB"),
                "{text}: {refused}"
            );
        }
    }

    #[test]
    fn times_are_absolute_or_before_now() {
        let now = DateTime::parse("2026-11-21T20:15:00Z").unwrap();
        let of = |text: &str| Since::parse(text).unwrap().time(now).text().to_string();
        assert_eq!(of("10m"), "2026-11-21T20:05:00Z");
        assert_eq!(of("2026-11-21T20:15:00.5Z"), "2026-11-21T20:15:00.5Z");
        assert_eq!(of("2026-11-21"), "2026-11-21T00:00:00Z");
        assert_eq!(of("400000d"), "1601-01-01T00:00:00Z");
        assert!(Since::parse("yesterday").is_err());
    }
}
