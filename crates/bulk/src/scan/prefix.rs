//! Prefixes of PartitionKeys: all keys that begin with a prefix form one interval.
//!
//! The service orders keys by UTF-16 code unit. Keys do not contain unpaired surrogates. So they sort character by
//! character, with U+10000 directly after U+D7FF, and U+E000 directly after U+10FFFF. Keys with the same prefix are
//! therefore neighbours, from the prefix itself up to its successor ([`partita_model::successor`]), and a filter can
//! express both ends.
//!
//! The usual bound, "less than the prefix and U+FFFF", is wrong: it skips keys in which U+FFFF follows the prefix.

/// The prefix of `key` that is one character longer than `prefix`; a surrogate pair is one character. `None` if `key`
/// equals `prefix` or does not begin with `prefix`.
pub(super) fn lengthen<'a>(prefix: &str, key: &'a str) -> Option<&'a str> {
    let next = key.strip_prefix(prefix)?.chars().next()?;
    key.get(..prefix.len() + next.len_utf8())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_surrogate_pair_is_one_character() {
        assert_eq!(lengthen("a", "a\u{1F600}b"), Some("a\u{1F600}"));
        assert_eq!(lengthen("a", "a"), None);
        assert_eq!(lengthen("b", "ab"), None);
        assert_eq!(lengthen("", "é"), Some("é"));
    }
}
