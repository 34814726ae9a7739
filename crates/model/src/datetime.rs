//! Date-times with the resolution and range of the service: 100 ns ticks, 1601-01-01 to 9999-12-31, always UTC.

use crate::stack_text::StackText;
use std::fmt;
use std::str::FromStr;
use std::time::{Duration, SystemTime};
use thiserror::Error;

const TICKS_PER_SECOND: u64 = 10_000_000;
const TICKS_PER_DAY: u64 = 86_400 * TICKS_PER_SECOND;
/// Days from 0001-01-01 to 1970-01-01.
const UNIX_EPOCH_DAYS: u64 = 719_162;
/// The ISO form, with letters in place of digits. The blanks at the end fill the length of [`DateTimeText`].
const PLAIN: [u8; 32] = *b"YYYY-MM-DDThh:mm:ss.fffffffZ    ";
/// The offsets of hours, minutes and seconds in [`PLAIN`].
const PLAIN_CLOCK: [usize; 3] = [11, 14, 17];

/// A point in time: 100 ns ticks since 0001-01-01T00:00:00Z (the tick count of .NET's `DateTime`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DateTime(u64);

/// Why a text is not a valid date-time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum ParseDateTimeError {
    /// The text does not have the form `YYYY-MM-DD[Thh:mm[:ss[.f…]]][Z|±hh:mm]`, or a field is out of its range.
    #[error("not a date-time")]
    Malformed,
    /// A valid date-time outside 1601-01-01 to 9999-12-31. The variant holds that time, because the service quotes it
    /// in its error message.
    #[error("date-time out of range")]
    OutOfRange(DateTime),
}

impl DateTime {
    /// 1601-01-01T00:00:00Z, the earliest time that the service stores.
    pub const MIN: Self = Self(504_911_232_000_000_000);
    /// 9999-12-31T23:59:59.9999999Z, the latest time that the service stores.
    pub const MAX: Self = Self(3_155_378_975_999_999_999);
    /// 1970-01-01T00:00:00Z.
    pub const UNIX_EPOCH: Self = Self(UNIX_EPOCH_DAYS * TICKS_PER_DAY);

    /// Converts a tick count; `None` outside [`DateTime::MIN`] to [`DateTime::MAX`].
    pub const fn from_ticks(ticks: u64) -> Option<Self> {
        if ticks >= Self::MIN.0 && ticks <= Self::MAX.0 {
            Some(Self(ticks))
        } else {
            None
        }
    }

    /// The tick count: 100 ns units since 0001-01-01.
    pub const fn ticks(self) -> u64 {
        self.0
    }

    /// Converts a system time, clamped to the range of the service.
    pub fn from_system(time: SystemTime) -> Self {
        let epoch = Self::UNIX_EPOCH.0;
        let ticks = |time: Duration| u64::try_from(time.as_nanos() / 100).unwrap_or(u64::MAX);
        let ticks = match time.duration_since(SystemTime::UNIX_EPOCH) {
            Ok(after) => epoch.saturating_add(ticks(after)),
            Err(before) => epoch.saturating_sub(ticks(before.duration())),
        };
        Self(ticks.clamp(Self::MIN.0, Self::MAX.0))
    }

    /// Converts to a system time.
    pub fn to_system(self) -> SystemTime {
        let nanos = |ticks: u64| {
            Duration::new(
                ticks / TICKS_PER_SECOND,
                (ticks % TICKS_PER_SECOND) as u32 * 100,
            )
        };
        match self.0.checked_sub(Self::UNIX_EPOCH.0) {
            Some(after) => SystemTime::UNIX_EPOCH + nanos(after),
            None => SystemTime::UNIX_EPOCH - nanos(Self::UNIX_EPOCH.0 - self.0),
        }
    }

    /// Converts nanoseconds since 1970, rounded down to 100 ns and clamped to the range of the service.
    pub fn from_unix_nanos(nanos: i128) -> Self {
        let ticks = i128::from(Self::UNIX_EPOCH.0) + nanos.div_euclid(100);
        let clamped = ticks.clamp(i128::from(Self::MIN.0), i128::from(Self::MAX.0));
        Self(clamped as u64)
    }

    /// Nanoseconds since 1970.
    pub const fn to_unix_nanos(self) -> i128 {
        (self.0 as i128 - Self::UNIX_EPOCH.0 as i128) * 100
    }

    /// The next tick; saturates at [`DateTime::MAX`].
    pub const fn next(self) -> Self {
        if self.0 < Self::MAX.0 {
            Self(self.0 + 1)
        } else {
            self
        }
    }

    /// Reads the forms of date-times that clients send: `YYYY-MM-DD[Thh:mm[:ss[.f…]]][Z|±hh:mm]`. A text without a zone
    /// is UTC. Fraction digits after the seventh are truncated (service document "Understanding the Table service data
    /// model").
    ///
    /// # Errors
    /// [`ParseDateTimeError`].
    pub fn parse(text: &str) -> Result<Self, ParseDateTimeError> {
        let mut reader = Reader {
            rest: text.as_bytes(),
        };
        let ticks = reader.read().ok_or(ParseDateTimeError::Malformed)?;
        let ticks = u64::try_from(ticks).map_err(|_| ParseDateTimeError::OutOfRange(Self(0)))?;
        Self::from_ticks(ticks).ok_or(ParseDateTimeError::OutOfRange(Self(ticks)))
    }

    /// Year, month, day, hour, minute, second and ticks of the second.
    pub fn fields(self) -> (u32, u32, u32, u32, u32, u32, u32) {
        let (days, rest) = (self.0 / TICKS_PER_DAY, self.0 % TICKS_PER_DAY);
        let (year, month, day) = civil_from_days(days);
        let seconds = (rest / TICKS_PER_SECOND) as u32;
        let ticks = (rest % TICKS_PER_SECOND) as u32;
        (
            year,
            month,
            day,
            seconds / 3600,
            seconds / 60 % 60,
            seconds % 60,
            ticks,
        )
    }

    /// The ISO form with trailing zeros of the fraction trimmed, as the service writes values and Timestamps:
    /// `2013-08-02T17:37:43.9004348Z`, `2008-07-10T00:00:00Z`.
    pub fn text(self) -> DateTimeText {
        fill(PLAIN, PLAIN_CLOCK, self, Fraction::Trimmed)
    }

    /// The ISO form with all seven fraction digits, as in error messages and access policies.
    pub fn text_seven_digits(self) -> DateTimeText {
        fill(PLAIN, PLAIN_CLOCK, self, Fraction::SevenDigits)
    }

    /// The trimmed form with `:` as `%3A`, as in ETags.
    pub(crate) fn text_escaped(self) -> DateTimeText {
        let form = *b"YYYY-MM-DDThh%3Amm%3Ass.fffffffZ";
        fill(form, [11, 16, 21], self, Fraction::Trimmed)
    }
}

impl From<SystemTime> for DateTime {
    /// As [`DateTime::from_system`].
    fn from(time: SystemTime) -> Self {
        Self::from_system(time)
    }
}

impl From<DateTime> for SystemTime {
    fn from(time: DateTime) -> Self {
        time.to_system()
    }
}

impl FromStr for DateTime {
    type Err = ParseDateTimeError;

    /// As [`DateTime::parse`].
    fn from_str(text: &str) -> Result<Self, ParseDateTimeError> {
        Self::parse(text)
    }
}

impl fmt::Display for DateTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text())
    }
}

/// The text of a date-time.
pub type DateTimeText = StackText<32>;

/// Writes a date-time into `form`; `clock`: the offsets of hours, minutes and seconds in `form`. Always inlined, so
/// that the offsets are constants, because a page formats several date-times per row.
#[inline(always)]
fn fill(form: [u8; 32], clock: [usize; 3], at: DateTime, fraction: Fraction) -> DateTimeText {
    let (year, month, day, hour, minute, second, ticks) = at.fields();
    let mut bytes = form;
    let mut pair = |at: usize, number: u32| {
        bytes[at] = b'0' + (number / 10) as u8;
        bytes[at + 1] = b'0' + (number % 10) as u8;
    };
    pair(0, year / 100);
    pair(2, year % 100);
    pair(5, month);
    pair(8, day);
    let [hours, minutes, seconds] = clock;
    pair(hours, hour);
    pair(minutes, minute);
    pair(seconds, second);
    let point = seconds + 2;
    pair(point + 1, ticks / 100_000);
    pair(point + 3, ticks / 1000 % 100);
    pair(point + 5, ticks / 10 % 100);
    bytes[point + 7] = b'0' + (ticks % 10) as u8;
    let mut end = point + 8;
    if fraction == Fraction::Trimmed {
        if ticks == 0 {
            end = point;
        }
        while bytes[end - 1] == b'0' && end > point {
            end -= 1;
        }
        bytes[end] = b'Z';
    }
    DateTimeText::new(bytes, end + 1)
}

/// How the fraction of a second is written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fraction {
    /// Without trailing zeros; a fraction of zero is left out.
    Trimmed,
    /// Always seven digits.
    SevenDigits,
}

/// Days since 0001-01-01 of a date of the proleptic Gregorian calendar (Howard Hinnant's algorithm, with
/// days counted from 0001-01-01 instead of 1970-01-01).
fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * (month + if month > 2 { -3 } else { 9 }) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 306
}

/// The inverse of [`days_from_civil`] for days in the range of [`DateTime`].
fn civil_from_days(days: u64) -> (u32, u32, u32) {
    let shifted = days + 306;
    let era = shifted / 146_097;
    let day_of_era = shifted % 146_097;
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 {
        shifted_month + 3
    } else {
        shifted_month - 9
    };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    (year as u32, month as u32, day as u32)
}

fn days_in_month(year: i64, month: i64) -> i64 {
    match month {
        4 | 6 | 9 | 11 => 30,
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        _ => 31,
    }
}

/// Reads the text of a date-time from left to right.
struct Reader<'a> {
    rest: &'a [u8],
}

impl Reader<'_> {
    fn read(&mut self) -> Option<i64> {
        let year = self.number(4)?;
        self.expect(b'-')?;
        let month = self.number(2)?;
        self.expect(b'-')?;
        let day = self.number(2)?;
        if year == 0 || !(1..=12).contains(&month) || day == 0 || day > days_in_month(year, month) {
            return None;
        }
        let mut ticks = days_from_civil(year, month, day) * TICKS_PER_DAY as i64;
        if self.rest.is_empty() {
            return Some(ticks);
        }
        if !self.take(b'T') {
            self.expect(b' ')?;
        }
        ticks += self.time()?;
        let offset_minutes = self.zone()?;
        self.rest
            .is_empty()
            .then_some(ticks - offset_minutes * 60 * TICKS_PER_SECOND as i64)
    }

    fn time(&mut self) -> Option<i64> {
        let hour = self.number(2)?;
        self.expect(b':')?;
        let minute = self.number(2)?;
        let second = if self.take(b':') { self.number(2)? } else { 0 };
        if hour > 23 || minute > 59 || second > 59 {
            return None;
        }
        let mut ticks = (hour * 3600 + minute * 60 + second) * TICKS_PER_SECOND as i64;
        if self.take(b'.') {
            ticks += self.fraction()?;
        }
        Some(ticks)
    }

    fn fraction(&mut self) -> Option<i64> {
        let (mut ticks, mut unit, mut any) = (0, TICKS_PER_SECOND as i64 / 10, false);
        while let Some((&digit @ b'0'..=b'9', rest)) = self.rest.split_first() {
            ticks += i64::from(digit - b'0') * unit;
            unit /= 10;
            any = true;
            self.rest = rest;
        }
        any.then_some(ticks)
    }

    /// The offset from UTC in minutes, positive to the east; 0 for `Z` or no zone. `None` for any other text.
    fn zone(&mut self) -> Option<i64> {
        if self.rest.is_empty() || self.take(b'Z') || self.take(b'z') {
            return Some(0);
        }
        let sign = if self.take(b'+') { 1 } else { -1 };
        if sign < 0 {
            self.expect(b'-')?;
        }
        let hour = self.number(2)?;
        self.expect(b':')?;
        let minute = self.number(2)?;
        (hour <= 14 && minute <= 59).then_some(sign * (hour * 60 + minute))
    }

    fn number(&mut self, width: usize) -> Option<i64> {
        let (digits, rest) = self.rest.split_at_checked(width)?;
        self.rest = rest;
        digits.iter().try_fold(0, |number, digit| {
            digit
                .is_ascii_digit()
                .then(|| number * 10 + i64::from(digit - b'0'))
        })
    }

    fn take(&mut self, byte: u8) -> bool {
        match self.rest.split_first() {
            Some((&first, rest)) if first == byte => {
                self.rest = rest;
                true
            }
            _ => false,
        }
    }

    fn expect(&mut self, byte: u8) -> Option<()> {
        self.take(byte).then_some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn text(input: &str) -> String {
        DateTime::parse(input).unwrap().to_string()
    }

    #[test]
    fn constants_are_the_documented_times() {
        assert_eq!(DateTime::MIN.to_string(), "1601-01-01T00:00:00Z");
        assert_eq!(DateTime::MAX.to_string(), "9999-12-31T23:59:59.9999999Z");
        assert_eq!(DateTime::UNIX_EPOCH.to_string(), "1970-01-01T00:00:00Z");
        assert_eq!(
            DateTime::from_system(SystemTime::UNIX_EPOCH),
            DateTime::UNIX_EPOCH
        );
    }

    #[test]
    fn trailing_zeros_are_trimmed_and_seven_digits_are_kept() {
        // From the recordings cosmosdbpython--… (date-times) and go--TestBatchComplex.
        assert_eq!(text("1973-10-04T00:00:00.000000Z"), "1973-10-04T00:00:00Z");
        assert_eq!(
            text("2003-09-27T09:52:43.283000Z"),
            "2003-09-27T09:52:43.283Z"
        );
        assert_eq!(
            text("2013-08-02T17:37:43.0090043Z"),
            "2013-08-02T17:37:43.0090043Z"
        );
        assert_eq!(text("2024-02-29T12:00+02:00"), "2024-02-29T10:00:00Z");
        assert_eq!(
            text("2024-01-02T03:04:05.123456789"),
            "2024-01-02T03:04:05.1234567Z"
        );
        assert_eq!(
            &*DateTime::parse("2024-01-02T03:04:05.12Z")
                .unwrap()
                .text_seven_digits(),
            "2024-01-02T03:04:05.1200000Z"
        );
    }

    #[test]
    fn malformed_and_out_of_range_times_are_refused() {
        for bad in [
            "",
            "2024",
            "2024-13-01",
            "2024-02-30",
            "2023-02-29",
            "2024-01-01T25:00Z",
            "2024-01-01T00:60Z",
            "2024-01-01T00:00:00.Z",
            "2024-01-01T00:00:00ZZ",
            "24-01-01",
            "2024-01-01T00:00:00+15:00",
            "x",
            "0000-01-01",
            "2024-1-1",
        ] {
            assert_eq!(
                DateTime::parse(bad),
                Err(ParseDateTimeError::Malformed),
                "{bad}"
            );
        }
        for far in [
            "1600-12-31T23:59:59Z",
            "0001-01-01T00:00:00Z",
            "0001-01-01T00:00:00+10:00",
        ] {
            assert!(
                matches!(DateTime::parse(far), Err(ParseDateTimeError::OutOfRange(_))),
                "{far}"
            );
        }
        assert!(DateTime::parse("9999-12-31T23:59:59-01:00").is_err());
    }

    proptest! {
        #[test]
        fn text_round_trips(ticks in DateTime::MIN.0..=DateTime::MAX.0) {
            let at = DateTime(ticks);
            prop_assert_eq!(DateTime::parse(&at.text()), Ok(at));
            prop_assert_eq!(DateTime::parse(&at.text_seven_digits()), Ok(at));
        }

        #[test]
        fn system_time_round_trips(ticks in DateTime::MIN.0..=DateTime::MAX.0) {
            let at = DateTime(ticks);
            prop_assert_eq!(DateTime::from_system(at.to_system()), at);
        }

        #[test]
        fn parsing_random_text_does_not_panic(text: String) {
            let _ = DateTime::parse(&text);
        }
    }
}
