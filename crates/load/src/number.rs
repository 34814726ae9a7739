//! Numbers as text.

/// Displays a number with commas between thousands: `27,004`. Numbers below 100 that are not whole have one decimal.
#[must_use]
pub fn thousands(value: f64) -> String {
    if value < 100.0 && value.fract() != 0.0 {
        return format!("{value:.1}");
    }
    let digits = format!("{value:.0}");
    let mut text = String::with_capacity(digits.len() + 4);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_separated_and_small_numbers_have_a_decimal() {
        for (value, text) in [
            (0.0, "0"),
            (7.25, "7.2"),
            (99.0, "99"),
            (999.6, "1,000"),
            (27_004.0, "27,004"),
            (1_234_567.4, "1,234,567"),
        ] {
            assert_eq!(thousands(value), text);
        }
    }
}
