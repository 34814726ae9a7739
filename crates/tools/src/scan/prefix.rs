//! The trie of PartitionKeys: which keys begin with a prefix, as an interval whose ends are keys themselves.
//!
//! The service orders keys by UTF-16 code unit. On texts without lone surrogates, and a key is such a text, that order is the
//! lexicographic order of characters in which U+D7FF is followed by U+10000, and U+10FFFF by U+E000. So the keys that begin
//! with a prefix lie together, from the prefix itself up to its [`successor`], and both ends are texts that a filter can hold.
//!
//! The usual bound, "less than the prefix and U+FFFF", is not the same: U+FFFF may stand in a key, and such a key would be
//! passed over.

/// The least text behind all that begin with `prefix`; `None` if nothing lies behind them.
#[must_use]
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

/// The prefix of `key` that is one character longer than `prefix`, a surrogate pair being one character; `None` if the key is
/// the prefix, or does not begin with it.
#[must_use]
pub fn lengthen<'a>(prefix: &str, key: &'a str) -> Option<&'a str> {
    let next = key.strip_prefix(prefix)?.chars().next()?;
    key.get(..prefix.len() + next.len_utf8())
}

/// The character behind `c` in the order of UTF-16.
fn next_char(c: char) -> Option<char> {
    match c {
        '\u{D7FF}' => Some('\u{10000}'),
        '\u{10FFFF}' => Some('\u{E000}'),
        '\u{FFFF}' => None,
        other => char::from_u32(u32::from(other) + 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use partita_model::compare_utf16;
    use proptest::prelude::*;

    fn text() -> impl Strategy<Value = String> {
        prop_oneof![
            "[\u{0}ab\u{D7FF}\u{E000}\u{FFFE}\u{FFFF}\u{10000}\u{103FF}\u{10FFFF}]{0,4}",
            any::<String>(),
        ]
    }

    #[test]
    fn the_next_prefix() {
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

    #[test]
    fn a_pair_is_one_character() {
        assert_eq!(lengthen("a", "a\u{1F600}b"), Some("a\u{1F600}"));
        assert_eq!(lengthen("a", "a"), None);
        assert_eq!(lengthen("b", "ab"), None);
        assert_eq!(lengthen("", "é"), Some("é"));
    }

    proptest! {
        /// A key lies in the prefix's interval exactly if it begins with the prefix.
        #[test]
        fn the_interval_is_the_prefix(prefix in text(), tail in text(), other in text()) {
            for key in [format!("{prefix}{tail}"), other, format!("{prefix}\u{FFFF}{tail}")] {
                let from = compare_utf16(&key, &prefix).is_ge();
                let before = successor(&prefix).is_none_or(|end| compare_utf16(&key, &end).is_lt());
                prop_assert_eq!(from && before, key.starts_with(&prefix), "{:?}", key);
            }
        }

        /// Nothing lies between a prefix's keys and its successor.
        #[test]
        fn the_successor_is_the_least(prefix in text(), key in text()) {
            if let Some(end) = successor(&prefix) {
                let between = compare_utf16(&key, &prefix).is_gt() && compare_utf16(&key, &end).is_lt();
                prop_assert!(!between || key.starts_with(&prefix));
                prop_assert!(!end.starts_with(&prefix));
            }
        }
    }
}
