//! When a shared access signature or a stored policy is valid: `--start` and `--expiry`.

use crate::error::CommandError;
use crate::units::{DURATION_HELP, parse_duration};
use partita_client::DateTime;
use std::time::Duration;

/// A time: a date-time in UTC, or a duration from now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum When {
    At(DateTime),
    In(Duration),
}

impl When {
    /// Parses a date-time or a duration.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        if let Ok(time) = DateTime::parse(text) {
            return Ok(Self::At(time));
        }
        parse_duration(text).map(Self::In).map_err(|_| {
            format!(
                "{text:?} is neither a time, such as 2027-01-31T12:00:00Z, nor a duration from now, {DURATION_HELP}"
            )
        })
    }

    /// The absolute time, in whole seconds, if it is now `now`.
    fn time(self, now: DateTime) -> DateTime {
        let ticks = match self {
            Self::At(time) => time.ticks(),
            Self::In(duration) => {
                let ticks = u64::try_from(duration.as_nanos() / 100).unwrap_or(u64::MAX);
                now.ticks().saturating_add(ticks)
            }
        };
        DateTime::from_ticks(ticks - ticks % TICKS_PER_SECOND).unwrap_or(DateTime::MAX)
    }
}

const TICKS_PER_SECOND: u64 = 10_000_000;

/// The flags of a period.
#[derive(Debug, clap::Args)]
pub(crate) struct ValidityArgs {
    /// When it becomes valid: a time in UTC, or a duration from now such as 10m [default: at once]
    #[arg(long, value_name = "TIME", value_parser = When::parse)]
    start: Option<When>,
    /// When it expires: a time in UTC such as 2027-01-31T12:00:00Z, or a duration from now such as 2h
    #[arg(long, value_name = "TIME", value_parser = When::parse)]
    expiry: Option<When>,
}

impl ValidityArgs {
    /// Start and expiry.
    pub(crate) fn times(
        &self,
        now: DateTime,
    ) -> Result<(Option<DateTime>, Option<DateTime>), CommandError> {
        let time = |when: Option<When>| when.map(|when| when.time(now));
        let (start, expiry) = (time(self.start), time(self.expiry));
        match (start, expiry) {
            (Some(start), Some(expiry)) if start >= expiry => Err(CommandError::usage(format!(
                "--expiry {expiry} is not after --start {start}"
            ))),
            times => Ok(times),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_absolute_or_from_now() {
        let now = DateTime::parse("2026-11-26T10:00:00.75Z").unwrap();
        let of = |start: Option<&str>, expiry: Option<&str>| {
            let when = |text: Option<&str>| text.map(|text| When::parse(text).unwrap());
            let (start, expiry) = (when(start), when(expiry));
            let times = ValidityArgs { start, expiry }.times(now);
            let (start, expiry) = times.map_err(|error| error.chain())?;
            let text = |time: Option<DateTime>| time.map(|time| time.text().to_string());
            Ok::<_, String>((text(start), text(expiry)))
        };
        let own = |text: &str| Some(text.to_owned());
        assert_eq!(
            of(None, Some("2h")),
            Ok((None, own("2026-11-26T12:00:00Z")))
        );
        assert_eq!(
            of(Some("2026-11-27"), Some("3d")),
            Ok((own("2026-11-27T00:00:00Z"), own("2026-11-29T10:00:00Z")))
        );
        assert_eq!(
            of(None, Some("9999999d")),
            Ok((None, own("9999-12-31T23:59:59.9999999Z")))
        );
        let refused = of(Some("1d"), Some("2h")).unwrap_err();
        assert!(refused.contains("is not after --start"), "{refused}");
        let refused = When::parse("tomorrow").unwrap_err();
        assert!(refused.contains("2027-01-31T12:00:00Z"), "{refused}");
    }
}
