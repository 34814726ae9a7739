//! Converts DateTimes to and from Parquet's times.

use partita_model::DateTime;

/// Ticks of 100 ns per microsecond.
const TICKS_PER_MICRO: i64 = 10;

/// The microseconds since 1970, and the next digit: the remaining units of 100 ns, 0 to 9.
pub(super) fn to_micros(time: DateTime) -> (i64, i32) {
    let ticks = time.ticks().cast_signed() - DateTime::UNIX_EPOCH.ticks().cast_signed();
    let digit = ticks.rem_euclid(TICKS_PER_MICRO);
    let digit = i32::try_from(digit).expect("a digit is 0 to 9");
    (ticks.div_euclid(TICKS_PER_MICRO), digit)
}

/// Converts a time since 1970, in units of which `per_second` make a second; `None` outside the service's range. Drops
/// the last two digits of nanoseconds.
pub(super) fn from_units(units: i64, per_second: i64) -> Option<DateTime> {
    const TICKS_PER_SECOND: i64 = 10_000_000;
    let ticks = if per_second <= TICKS_PER_SECOND {
        units.checked_mul(TICKS_PER_SECOND / per_second)?
    } else {
        units.div_euclid(per_second / TICKS_PER_SECOND)
    };
    from_ticks(ticks.checked_add(DateTime::UNIX_EPOCH.ticks().cast_signed())?)
}

/// Adds units of 100 ns, 0 to 9, to a time of whole microseconds; `None` if an argument is invalid.
pub(super) fn with_digit(time: DateTime, digit: i32) -> Option<DateTime> {
    let fits = (0..10).contains(&digit) && time.ticks().is_multiple_of(10);
    let ticks = time.ticks().cast_signed() + i64::from(digit);
    fits.then(|| from_ticks(ticks)).flatten()
}

fn from_ticks(ticks: i64) -> Option<DateTime> {
    DateTime::from_ticks(u64::try_from(ticks).ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_first_and_last_times_round_trip() {
        for time in [DateTime::MIN, DateTime::UNIX_EPOCH, DateTime::MAX] {
            let (micros, digit) = to_micros(time);
            let read = from_units(micros, 1_000_000).unwrap();
            assert_eq!(with_digit(read, digit), Some(time));
        }
        assert_eq!(to_micros(DateTime::UNIX_EPOCH), (0, 0));
        assert_eq!(from_units(i64::MAX, 1000), None);
        assert_eq!(
            from_units(i64::MIN, 1_000_000_000),
            DateTime::parse("1677-09-21T00:12:43.1452241Z").ok()
        );
        assert_eq!(with_digit(DateTime::UNIX_EPOCH, 10), None);
    }

    proptest! {
        #[test]
        fn round_trip(ticks in DateTime::MIN.ticks()..=DateTime::MAX.ticks()) {
            let time = DateTime::from_ticks(ticks).unwrap();
            let (micros, digit) = to_micros(time);
            let read = from_units(micros, 1_000_000).and_then(|read| with_digit(read, digit));
            prop_assert_eq!(read, Some(time));
        }
    }
}
