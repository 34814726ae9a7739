//! Strings in the order of the service: by UTF-16 code unit.
//!
//! UTF-8 bytes order by code point; UTF-16 code units order a supplementary character (a surrogate pair, D800..DFFF)
//! below U+E000..U+FFFF. The two differ only there, and in UTF-8 the difference is in the lead byte: EE and EF lead
//! U+E000..U+FFFF, F0..F4 lead the supplementary characters. Moving EE and EF above F4 makes byte order equal UTF-16
//! order. No other byte changes: at the first difference of two valid strings, a lead byte is never compared with a
//! continuation byte.

use std::cmp::Ordering;

/// Moves the lead bytes EE and EF above F0..F4; every other byte stays.
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

/// The smallest text after all texts that begin with `prefix`; `None` if no text follows them. In UTF-16 order,
/// surrogate pairs are between U+D7FF and U+E000: U+10000 follows U+D7FF, and U+E000 follows U+10FFFF.
pub fn successor(prefix: &str) -> Option<String> {
    let mut chars = prefix.chars();
    while let Some(last) = chars.next_back() {
        if let Some(next) = next_char(last) {
            let mut successor = String::from(chars.as_str());
            successor.push(next);
            return Some(successor);
        }
    }
    None
}

fn next_char(c: char) -> Option<char> {
    match c {
        '\u{D7FF}' => Some('\u{10000}'),
        '\u{10FFFF}' => Some('\u{E000}'),
        '\u{FFFF}' => None,
        other => char::from_u32(u32::from(other) + 1),
    }
}

/// The number of UTF-16 code units of a string: the unit of the service's length limits.
pub fn len(text: &str) -> usize {
    // One unit for each lead byte, and another unit for each four-byte sequence.
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

    #[test]
    fn successors_of_prefixes() {
        let cases = [
            ("D", Some("E")),
            ("ab\u{FFFF}", Some("ac")),
            ("\u{FFFF}\u{FFFF}", None),
            ("", None),
            ("x\u{D7FF}", Some("x\u{10000}")),
            ("x\u{103FF}", Some("x\u{10400}")),
            ("x\u{10FFFF}", Some("x\u{E000}")),
            ("\u{0}", Some("\u{1}")),
        ];
        for (prefix, expected) in cases {
            assert_eq!(successor(prefix).as_deref(), expected, "{prefix:?}");
        }
    }

    fn text() -> impl Strategy<Value = String> {
        prop_oneof![
            "[\u{0}ab\u{D7FF}\u{E000}\u{FFFE}\u{FFFF}\u{10000}\u{103FF}\u{10FFFF}]{0,4}",
            any::<String>(),
        ]
    }

    proptest! {
        /// A text is between a prefix and its successor if and only if it begins with the prefix.
        #[test]
        fn texts_with_a_prefix_are_contiguous(prefix in text(), tail in text(), other in text()) {
            for key in [format!("{prefix}{tail}"), other, format!("{prefix}\u{FFFF}{tail}")] {
                let from = compare(&key, &prefix).is_ge();
                let before = successor(&prefix).is_none_or(|end| compare(&key, &end).is_lt());
                prop_assert_eq!(from && before, key.starts_with(&prefix), "{:?}", key);
            }
        }

        /// No text is between the texts with the prefix and the successor.
        #[test]
        fn the_successor_is_the_least(prefix in text(), key in text()) {
            if let Some(end) = successor(&prefix) {
                let between = compare(&key, &prefix).is_gt() && compare(&key, &end).is_lt();
                prop_assert!(!between || key.starts_with(&prefix));
                prop_assert!(!end.starts_with(&prefix));
            }
        }

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
