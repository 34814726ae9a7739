//! Parameters of a page, from its query string. Untrusted input: each name is known, occurs once, and has a checked
//! value.

use std::fmt::Display;
use std::ops::RangeInclusive;
use std::str::FromStr;
use std::time::{Duration, SystemTime};

use partita_model::DateTime;
use partita_wire::Query;

use super::answer::Answer;

/// The end of the year 9999, in seconds since 1970.
const SECONDS_MAX: u64 = 253_402_300_799;

/// Why a query string is refused.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(super) struct InvalidParams(pub(super) String);

impl From<InvalidParams> for Answer {
    fn from(InvalidParams(why): InvalidParams) -> Self {
        Self::invalid_query(why)
    }
}

/// The parameters of a page.
#[derive(Debug, Clone, Copy)]
pub(super) struct Params<'q>(Query<'q>);

impl<'q> Params<'q> {
    /// Reads the query string `raw`, whose parameters may be `names`.
    pub(super) fn new(raw: Option<&'q str>, names: &[&str]) -> Result<Self, InvalidParams> {
        let raw = raw.unwrap_or_default();
        let mut seen: Vec<&str> = Vec::new();
        for pair in raw.split('&').filter(|pair| !pair.is_empty()) {
            let (name, _) = pair.split_once('=').unwrap_or((pair, ""));
            if !names.contains(&name) {
                let names = names.join(", ");
                let text = format!("unknown parameter {name:?}; expected one of {names}");
                return Err(InvalidParams(text));
            }
            if seen.contains(&name) {
                return Err(InvalidParams(format!("parameter {name} is given twice")));
            }
            seen.push(name);
        }
        Ok(Self(Query::new(raw)))
    }

    /// The value of a parameter; an empty value counts as none.
    pub(super) fn text(self, name: &str) -> Result<Option<String>, InvalidParams> {
        let text = self.0.get(name);
        let text = text.map_err(|_| InvalidParams(format!("{name} is not valid UTF-8")))?;
        Ok(text
            .map(|text| text.into_owned())
            .filter(|text| !text.is_empty()))
    }

    /// A whole number within bounds.
    pub(super) fn number<T: FromStr + PartialOrd + Display>(
        self,
        name: &str,
        range: RangeInclusive<T>,
    ) -> Result<Option<T>, InvalidParams> {
        let Some(text) = self.text(name)? else {
            return Ok(None);
        };
        let number = text.parse().ok().filter(|number| range.contains(number));
        number.map(Some).ok_or_else(|| {
            let (least, most) = (range.start(), range.end());
            InvalidParams(format!("{name} must be a number from {least} to {most}"))
        })
    }

    /// A time: RFC 3339, or seconds since 1970.
    pub(super) fn time(self, name: &str) -> Result<Option<SystemTime>, InvalidParams> {
        let Some(text) = self.text(name)? else {
            return Ok(None);
        };
        let time = match text.parse::<u64>() {
            Ok(seconds) if seconds <= SECONDS_MAX => {
                Some(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds))
            }
            Ok(_) => None,
            Err(_) => DateTime::parse(&text).ok().map(DateTime::to_system),
        };
        let time = time.filter(|time| *time >= SystemTime::UNIX_EPOCH);
        time.map(Some).ok_or_else(|| {
            InvalidParams(format!(
                "{name} must be a time such as 2026-01-31T12:00:00Z, or seconds since 1970"
            ))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: [&str; 2] = ["from", "limit"];

    #[test]
    fn known_names_occur_once() {
        assert!(Params::new(None, &NAMES).is_ok() && Params::new(Some("&"), &NAMES).is_ok());
        for (raw, expected) in [
            (
                "form=1",
                "unknown parameter \"form\"; expected one of from, limit",
            ),
            ("from=1&from=2", "parameter from is given twice"),
            (
                "%66rom=1",
                "unknown parameter \"%66rom\"; expected one of from, limit",
            ),
        ] {
            assert_eq!(Params::new(Some(raw), &NAMES).unwrap_err().0, expected);
        }
    }

    #[test]
    fn values_are_checked() {
        let number = |raw| {
            Params::new(Some(raw), &NAMES)
                .unwrap()
                .number("limit", 1..=9_u64)
        };
        assert_eq!(
            (number("limit=9"), number("limit="), number("")),
            (Ok(Some(9)), Ok(None), Ok(None))
        );
        for raw in [
            "limit=10",
            "limit=0",
            "limit=-1",
            "limit=x",
            "limit=99999999999999999999",
        ] {
            assert_eq!(
                number(raw).unwrap_err().0,
                "limit must be a number from 1 to 9",
                "{raw}"
            );
        }
        let time = |raw| Params::new(Some(raw), &NAMES).unwrap().time("from");
        let hour = Some(SystemTime::UNIX_EPOCH + Duration::from_secs(3600));
        assert_eq!(
            (time("from=3600"), time("from=1970-01-01T01%3A00:00Z")),
            (Ok(hour), Ok(hour))
        );
        for raw in [
            "from=-1",
            "from=1h",
            "from=1969-12-31T23:00:00Z",
            "from=99999999999999",
            "from=%ff",
        ] {
            assert!(time(raw).is_err(), "{raw}");
        }
    }
}
