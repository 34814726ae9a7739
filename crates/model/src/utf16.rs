//! Strings as the service sees them: sequences of UTF-16 code units, in ordinal order.
//!
//! UTF-8 bytes order by code point; UTF-16 code units order a supplementary character (a surrogate pair, D800..DFFF)
//! below U+E000..U+FFFF. The two differ only there, and in UTF-8 the difference sits in the lead byte: EE and EF lead
//! U+E000..U+FFFF, F0..F4 lead the supplementary characters. Moving EE and EF above F4 makes byte order equal
//! UTF-16 order; no other byte changes, because lead bytes never meet continuation bytes in the same place of two
//! different valid strings with a common prefix.

use std::cmp::Ordering;

/// Lifts the lead bytes EE and EF above F0..F4; every other byte stays.
pub(crate) const fn lift(byte: u8) -> u8 {
    match byte {
        0xEE => 0xF5,
        0xEF => 0xF6,
        other => other,
    }
}

/// Undoes [`lift`].
pub(crate) const fn lower(byte: u8) -> u8 {
    match byte {
        0xF5 => 0xEE,
        0xF6 => 0xEF,
        other => other,
    }
}

/// Compares two strings by UTF-16 code units, ordinally (case-sensitive), as the service orders keys and strings.
#[must_use]
pub fn compare(a: &str, b: &str) -> Ordering {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    match a.iter().zip(b).position(|(x, y)| x != y) {
        None => a.len().cmp(&b.len()),
        Some(at) => {
            let of = |bytes: &[u8]| bytes.get(at).copied().map(lift);
            of(a).cmp(&of(b))
        }
    }
}

/// The number of UTF-16 code units of a string: the unit of the service's length limits.
#[must_use]
pub fn len(text: &str) -> usize {
    // One unit for each byte that begins a character, and one more for each four-byte sequence.
    let bytes = text.as_bytes();
    if bytes.is_ascii() {
        return bytes.len();
    }
    bytes
        .iter()
        .map(|&byte| usize::from(byte & 0xC0 != 0x80) + usize::from(byte >= 0xF0))
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn units(text: &str) -> Vec<u16> {
        text.encode_utf16().collect()
    }

    #[test]
    fn a_supplementary_character_sorts_before_the_last_bmp_ones() {
        assert_eq!(compare("\u{10000}", "\u{FFFD}"), Ordering::Less);
        assert_eq!(compare("\u{E000}", "\u{10FFFF}"), Ordering::Greater);
        assert_eq!(compare("B", "b"), Ordering::Less);
        assert_eq!(compare("a", "ab"), Ordering::Less);
    }

    proptest! {
        #[test]
        fn order_is_that_of_code_units(a: String, b: String) {
            prop_assert_eq!(compare(&a, &b), units(&a).cmp(&units(&b)));
        }

        #[test]
        fn order_holds_where_encodings_differ(
            a in "[a\u{D7FF}\u{E000}\u{FFFD}\u{FFFF}\u{10000}\u{10FFFF}]{0,4}",
            b in "[a\u{D7FF}\u{E000}\u{FFFD}\u{FFFF}\u{10000}\u{10FFFF}]{0,4}",
        ) {
            prop_assert_eq!(compare(&a, &b), units(&a).cmp(&units(&b)));
        }

        #[test]
        fn length_counts_code_units(text: String) {
            prop_assert_eq!(len(&text), units(&text).len());
        }
    }
}
