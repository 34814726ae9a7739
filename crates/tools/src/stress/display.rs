//! Formats figures as text.

pub use partita_load::thousands;

/// Formats a latency with three digits and a suitable unit: `850 µs`, `12.3 ms`, `1.25 s`.
pub fn latency(us: u64) -> String {
    let value = us as f64;
    match us {
        0..1_000 => format!("{us} µs"),
        1_000..10_000 => format!("{:.2} ms", value / 1e3),
        10_000..100_000 => format!("{:.1} ms", value / 1e3),
        100_000..1_000_000 => format!("{:.0} ms", value / 1e3),
        1_000_000..10_000_000 => format!("{:.2} s", value / 1e6),
        _ => format!("{:.1} s", value / 1e6),
    }
}

/// A number of bytes: `512 B`, `35.1 MiB`.
pub fn bytes(bytes: u64) -> String {
    const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    let mut value = bytes as f64 / 1024.0;
    let mut units = UNITS.iter();
    let mut unit = units.next();
    // A value that rounds up to 1024 gets the next unit.
    while value >= 1023.95 {
        let Some(next) = units.next() else { break };
        unit = Some(next);
        value /= 1024.0;
    }
    format!("{value:.1} {}", unit.copied().unwrap_or_default())
}

/// A rate per second: with one decimal below 10, else a whole number.
pub fn rate(per_second: f64) -> String {
    if per_second > 0.0 && per_second < 9.95 {
        format!("{per_second:.1}")
    } else {
        thousands(per_second.round())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_one_decimal_and_a_binary_unit() {
        for (number, text) in [
            (0, "0 B"),
            (1023, "1023 B"),
            (1024, "1.0 KiB"),
            (36_805_018, "35.1 MiB"),
            (1_048_570, "1.0 MiB"),
            (1_073_741_824 / 10 * 25, "2.5 GiB"),
            (u64::MAX, "16.0 EiB"),
        ] {
            assert_eq!(bytes(number), text);
        }
        assert_eq!(
            (rate(0.0), rate(5.55), rate(12_345.6)),
            ("0".into(), "5.5".into(), "12,346".into())
        );
    }

    #[test]
    fn latencies_have_units_and_three_digits() {
        for (us, text) in [
            (0, "0 µs"),
            (999, "999 µs"),
            (1_000, "1.00 ms"),
            (12_345, "12.3 ms"),
            (456_789, "457 ms"),
            (1_250_000, "1.25 s"),
            (61_000_000, "61.0 s"),
        ] {
            assert_eq!(latency(us), text);
        }
    }
}
