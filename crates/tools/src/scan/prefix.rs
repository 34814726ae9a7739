//! The trie of PartitionKeys: the keys that begin with a prefix form an interval between two keys.
//!
//! The service orders keys by UTF-16 code unit. A key does not contain unpaired surrogates, so that order is the
//! lexicographic order of characters in which U+10000 follows U+D7FF, and U+E000 follows U+10FFFF. So the keys with a
//! prefix are contiguous, from the prefix itself up to its successor ([`partita_model::successor`]), and a filter can
//! express both ends.
//!
//! The usual bound, "less than the prefix and U+FFFF", is wrong: it skips keys in which U+FFFF follows the prefix.

/// The prefix of `key` that is one character longer than `prefix` (a surrogate pair is one character); `None` if `key`
/// equals `prefix` or does not begin with it.
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
