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

#[cfg(test)]
mod tests {
    use super::*;

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
