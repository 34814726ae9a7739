//! RowKeys that sort the newest row of a log first.

use partita_model::DateTime;
use std::cmp::Reverse;
use std::fmt;
use std::str::FromStr;
use thiserror::Error;

/// Digits of the number in a key: as many as the ticks of `DateTime::MAX` have.
const DIGITS: usize = 19;
/// Separates the number from a suffix. A hyphen sorts before digits and letters.
const SEPARATOR: char = '-';
/// The longest suffix, in characters: enough for a GUID.
const SUFFIX_CHARS_MAX: usize = 64;

/// The RowKey of a row of a log: the ticks of 100 ns from its time to the last [`DateTime`], as 19 digits with leading
/// zeros, so that the newest rows come first. In .NET this is `DateTime.MaxValue.Ticks - UtcNow.Ticks`, with
/// 3155378975999999999 for `MaxValue`. Rows of the same tick differ by an optional suffix: a hyphen and 1 to 64 ASCII
/// letters, digits and hyphens.
///
/// Keys compare as their texts do in a table: later times come first; within a tick, the key without suffix comes
/// first.
///
/// ```
/// use partita_client::{DateTime, LogTailKey};
///
/// let key = LogTailKey::of(DateTime::parse("2026-11-21T20:15:00Z")?);
/// assert_eq!(key.to_string(), "2516070086999999999");
/// assert_eq!(key.time().text().to_string(), "2026-11-21T20:15:00Z");
///
/// let second = key.clone().with_suffix("b7")?;
/// assert_eq!(second.to_string(), "2516070086999999999-b7");
/// assert!(key < second);
/// assert_eq!("2516070086999999999-b7".parse(), Ok(second));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LogTailKey {
    time: Reverse<DateTime>,
    suffix: Option<Box<str>>,
}

/// Why a text is not a key of a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum InvalidLogTailKey {
    /// The text does not begin with 19 digits.
    #[error("a key of a log must begin with 19 digits")]
    Digits,
    /// The digits mean a time before the year 1601.
    #[error("the digits are not a timestamp between the years 1601 and 9999")]
    Time,
    /// The rest is not a hyphen with 1 to 64 ASCII letters, digits and hyphens.
    #[error("a suffix must be a hyphen and 1 to 64 letters, digits and hyphens")]
    Suffix,
}

impl LogTailKey {
    /// The key of `time`, without suffix.
    #[must_use]
    pub const fn of(time: DateTime) -> Self {
        Self {
            time: Reverse(time),
            suffix: None,
        }
    }

    /// Sets the suffix, without the hyphen before it: 1 to 64 ASCII letters, digits and hyphens.
    ///
    /// # Errors
    /// [`InvalidLogTailKey::Suffix`] for another text.
    pub fn with_suffix(self, suffix: &str) -> Result<Self, InvalidLogTailKey> {
        check_suffix(suffix)?;
        Ok(Self {
            suffix: Some(suffix.into()),
            ..self
        })
    }

    /// The time.
    #[must_use]
    pub const fn time(&self) -> DateTime {
        self.time.0
    }

    /// The suffix, without the hyphen before it.
    #[must_use]
    pub fn suffix(&self) -> Option<&str> {
        self.suffix.as_deref()
    }

    /// An exclusive bound for filters: in a table's order, exactly the keys of `time` and of later times, with any
    /// suffix, sort before it.
    #[must_use]
    pub fn end_of(time: DateTime) -> String {
        digits(left(time) + 1)
    }
}

/// The ticks from `time` to the last `DateTime`.
const fn left(time: DateTime) -> u64 {
    DateTime::MAX.ticks() - time.ticks()
}

fn digits(number: u64) -> String {
    format!("{number:0width$}", width = DIGITS)
}

fn check_suffix(suffix: &str) -> Result<(), InvalidLogTailKey> {
    let is_known = |c: char| c.is_ascii_alphanumeric() || c == SEPARATOR;
    if (1..=SUFFIX_CHARS_MAX).contains(&suffix.len()) && suffix.chars().all(is_known) {
        Ok(())
    } else {
        Err(InvalidLogTailKey::Suffix)
    }
}

impl fmt::Display for LogTailKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&digits(left(self.time())))?;
        match &self.suffix {
            Some(suffix) => write!(f, "{SEPARATOR}{suffix}"),
            None => Ok(()),
        }
    }
}

impl FromStr for LogTailKey {
    type Err = InvalidLogTailKey;

    fn from_str(text: &str) -> Result<Self, InvalidLogTailKey> {
        let (number, rest) = text
            .split_at_checked(DIGITS)
            .ok_or(InvalidLogTailKey::Digits)?;
        if !number.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(InvalidLogTailKey::Digits);
        }
        let left: u64 = number.parse().map_err(|_| InvalidLogTailKey::Digits)?;
        let ticks = DateTime::MAX.ticks().checked_sub(left);
        let time = ticks.and_then(DateTime::from_ticks);
        let key = Self::of(time.ok_or(InvalidLogTailKey::Time)?);
        if rest.is_empty() {
            return Ok(key);
        }
        let suffix = rest.strip_prefix(SEPARATOR);
        key.with_suffix(suffix.ok_or(InvalidLogTailKey::Suffix)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Keys with times at the ends of the range, and with times that are close together.
    fn key() -> impl Strategy<Value = LogTailKey> {
        let (min, max) = (DateTime::MIN.ticks(), DateTime::MAX.ticks());
        let near = 0..4_u64;
        let ticks = prop_oneof![
            min..=max,
            near.clone().prop_map(move |ticks| min + ticks),
            near.clone().prop_map(move |ticks| max - ticks),
            near.prop_map(|ticks| DateTime::UNIX_EPOCH.ticks() + ticks),
        ];
        let suffix = prop_oneof![
            Just(None),
            "[0-9A-Za-z-]{1,3}".prop_map(Some),
            "[0-9A-Za-z-]{60,64}".prop_map(Some)
        ];
        (ticks, suffix).prop_map(|(ticks, suffix)| {
            let key = LogTailKey::of(DateTime::from_ticks(ticks).unwrap());
            match suffix {
                Some(suffix) => key.with_suffix(&suffix).unwrap(),
                None => key,
            }
        })
    }

    proptest! {
        #[test]
        fn texts_round_trip(key in key()) {
            let text = key.to_string();
            prop_assert!(text.len() >= DIGITS);
            prop_assert_eq!(text.parse(), Ok(key));
        }

        #[test]
        fn texts_sort_as_keys_newest_first(a in key(), b in key()) {
            let texts = partita_model::compare_utf16(&a.to_string(), &b.to_string());
            prop_assert_eq!(texts, a.cmp(&b));
            if a.time() != b.time() {
                prop_assert_eq!(texts, b.time().cmp(&a.time()));
            }
        }

        #[test]
        fn an_end_sorts_after_its_time_and_before_older_times(a in key(), b in key()) {
            let lies_before = partita_model::compare_utf16(&a.to_string(), &LogTailKey::end_of(b.time())).is_lt();
            prop_assert_eq!(lies_before, a.time() >= b.time());
        }

        #[test]
        fn accepted_texts_round_trip(text in "\\PC*|[0-9]{17,21}(-[0-9a-z-]{0,3})?") {
            if let Ok(key) = text.parse::<LogTailKey>() {
                prop_assert_eq!(key.to_string(), text);
            }
        }
    }

    #[test]
    fn keys_of_dot_net_programs_are_read() {
        // 2000-01-01T00:00:00Z is 630822816000000000 ticks in .NET's documents.
        let key: LogTailKey = "2524556159999999999".parse().unwrap();
        assert_eq!(key.time().text().to_string(), "2000-01-01T00:00:00Z");
        let with_guid = "2524556159999999999-01234567-89ab-cdef-0123-456789abcdef";
        assert_eq!(
            with_guid.parse::<LogTailKey>().unwrap().to_string(),
            with_guid
        );
        assert_eq!(
            LogTailKey::of(DateTime::MAX).to_string(),
            "0000000000000000000"
        );
    }

    #[test]
    fn invalid_keys_are_refused() {
        use InvalidLogTailKey::{Digits, Suffix, Time};
        for (text, expected) in [
            ("", Digits),
            ("252455615999999999", Digits),
            ("252455615999999999x", Digits),
            ("252455615999999999é", Digits),
            ("+524556159999999999", Digits),
            ("9999999999999999999", Time),
            ("3155378976000000000", Time),
            ("3000000000000000000", Time),
            ("25245561599999999990", Suffix),
            ("2524556159999999999-", Suffix),
            ("2524556159999999999_a", Suffix),
            ("2524556159999999999-a b", Suffix),
            ("2524556159999999999-é", Suffix),
        ] {
            assert_eq!(text.parse::<LogTailKey>(), Err(expected), "{text}");
        }
        let long = format!("2524556159999999999-{}", "a".repeat(65));
        assert_eq!(long.parse::<LogTailKey>(), Err(Suffix));
    }
}
