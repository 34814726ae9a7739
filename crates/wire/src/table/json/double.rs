//! Writes doubles as the service does: the shortest digits that read back the same. A fraction or an exponent always
//! distinguishes a double from an integer.
//!
//! As in .NET's round-trip format, values below 1E-04 and from 1E+15 on (from 1E+17 on for more than fifteen digits)
//! have an exponent. An exponent has a sign and at least two digits: `1.23456789012346E+24`, `1E-05`. Recordings show
//! only `3.0`, `3.1` and `200.23`; for very large and small numbers, this form is derived from .NET, which the service
//! uses.

use std::io::Write as _;

/// Appends a double as a JSON value. NaN and the infinities are strings, so the caller must annotate their type.
#[inline]
pub(super) fn push_double(value: f64, out: &mut Vec<u8>) {
    let magnitude = value.abs();
    if (1e-4..1e15).contains(&magnitude) || magnitude == 0.0 {
        // In this range, the crate `zmij` always writes a fraction and never an exponent.
        out.extend_from_slice(zmij::Buffer::new().format_finite(value + 0.0).as_bytes());
    } else if value.is_finite() {
        push_extreme(value, out);
    } else {
        out.extend_from_slice(match value {
            f64::INFINITY => b"\"Infinity\"",
            f64::NEG_INFINITY => b"\"-Infinity\"",
            _ => b"\"NaN\"",
        });
    }
}

fn push_extreme(value: f64, out: &mut Vec<u8>) {
    let scientific = format!("{value:e}");
    let (mantissa, exponent) = scientific
        .split_once('e')
        .expect("the exponential form has an e");
    let exponent: i32 = exponent.parse().expect("the exponent is a number");
    let digits = mantissa.bytes().filter(u8::is_ascii_digit).count();
    let threshold = if digits > 15 { 17 } else { 15 };
    let written = if exponent <= -5 || exponent >= threshold {
        let sign = if exponent < 0 { '-' } else { '+' };
        write!(out, "{mantissa}E{sign}{:02}", exponent.abs())
    } else {
        let plain = value.to_string();
        let fraction = if plain.contains('.') { "" } else { ".0" };
        write!(out, "{plain}{fraction}")
    };
    written.expect("writing to a vector cannot fail");
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn text(value: f64) -> String {
        let mut out = Vec::new();
        push_double(value, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn doubles_have_the_recorded_forms() {
        // The first values are from recordings: cosmosdbpython--test_table_entity_test_get_entity (3.0, 3.1),
        // gostorage--StorageEntitySuite_TestGet.
        for (value, expected) in [
            (3.0, "3.0"),
            (3.1, "3.1"),
            (200.23, "200.23"),
            (-0.5, "-0.5"),
            (0.0, "0.0"),
            (-0.0, "0.0"),
            (0.0001, "0.0001"),
            (0.00012345678901234567, "0.00012345678901234567"),
            (0.00001, "1E-05"),
            (123_456_789.0, "123456789.0"),
            (999_999_999_999_999.0, "999999999999999.0"),
            (1e15, "1E+15"),
            (1_234_567_890_123_456.0, "1234567890123456.0"),
            (12_345_678_901_234_568.0, "12345678901234568.0"),
            (123_456_789_012_345_680.0, "1.2345678901234568E+17"),
            (1.23456789012346e24, "1.23456789012346E+24"),
            (1e100, "1E+100"),
            (-2.5e-7, "-2.5E-07"),
            (f64::MAX, "1.7976931348623157E+308"),
            (f64::NAN, "\"NaN\""),
            (f64::INFINITY, "\"Infinity\""),
            (f64::NEG_INFINITY, "\"-Infinity\""),
        ] {
            assert_eq!(text(value), expected);
        }
    }

    proptest! {
        #[test]
        fn doubles_round_trip(bits: u64) {
            let value = f64::from_bits(bits);
            prop_assume!(value.is_finite());
            let text = text(value);
            prop_assert_eq!(text.parse::<f64>().unwrap(), value);
            prop_assert!(text.contains(['.', 'E']), "{}", text);
        }
    }
}
