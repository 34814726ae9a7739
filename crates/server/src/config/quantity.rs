//! Sizes and durations as text: `64KiB`, `4MiB`, `30s`, `500ms`.

use std::time::Duration;

const UNITS_BYTES: [(&str, u64); 4] = [
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
    ("B", 1),
];

const UNITS_MS: [(&str, u64); 5] = [
    ("ms", 1),
    ("s", 1_000),
    ("m", 60_000),
    ("h", 3_600_000),
    ("d", 86_400_000),
];

/// A number of bytes: digits, then optionally B, KiB, MiB or GiB. `None` for anything else and for overflow.
pub fn bytes(text: &str) -> Option<u64> {
    scaled(text, &UNITS_BYTES, 1)
}

/// A duration: digits, then optionally ms, s, m, h or d. A number without a unit is in seconds, as in Azurite's flags.
pub(crate) fn time(text: &str) -> Option<Duration> {
    scaled(text, &UNITS_MS, 1_000).map(Duration::from_millis)
}

fn scaled(text: &str, units: &[(&str, u64)], unit_default: u64) -> Option<u64> {
    let text = text.trim();
    let (digits, factor) = units
        .iter()
        .find_map(|(unit, factor)| Some((text.strip_suffix(unit)?, *factor)))
        .unwrap_or((text, unit_default));
    let digits = digits.trim_end();
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    digits.parse::<u64>().ok()?.checked_mul(factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_with_and_without_unit() {
        assert_eq!(bytes("4194304"), Some(4_194_304));
        assert_eq!(bytes("64KiB"), Some(65_536));
        assert_eq!(bytes("4 MiB"), Some(4_194_304));
        assert_eq!(bytes("1GiB"), Some(1 << 30));
        assert_eq!(bytes("7B"), Some(7));
    }

    #[test]
    fn times_default_to_seconds() {
        assert_eq!(time("5"), Some(Duration::from_secs(5)));
        assert_eq!(time("500ms"), Some(Duration::from_millis(500)));
        assert_eq!(time("2m"), Some(Duration::from_secs(120)));
        assert_eq!(time("24h"), time("1d"));
    }

    #[test]
    fn invalid_quantities_are_refused() {
        for text in [
            "",
            "MiB",
            "-1",
            "1.5s",
            "4MB",
            "99999999999999GiB",
            "1 0",
            "+3",
        ] {
            assert_eq!(bytes(text), None, "{text}");
        }
        assert_eq!(time("1w"), None);
        assert_eq!(time("18446744073709551615m"), None);
    }
}
