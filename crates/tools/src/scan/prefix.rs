//! The trie of PartitionKeys: which keys begin with a prefix, as an interval whose ends are keys themselves.
//!
//! The service orders keys by UTF-16 code unit. On texts without lone surrogates, and a key is such a text, that order is the
//! lexicographic order of characters in which U+D7FF is followed by U+10000, and U+10FFFF by U+E000. So the keys that begin
//! with a prefix lie together, from the prefix itself up to its successor ([`partita_model::successor`]), and both ends are texts that a filter can hold.
//!
//! The usual bound, "less than the prefix and U+FFFF", is not the same: U+FFFF may stand in a key, and such a key would be
//! passed over.

/// The prefix of `key` that is one character longer than `prefix`, a surrogate pair being one character; `None` if the key is
/// the prefix, or does not begin with it.
#[must_use]
pub fn lengthen<'a>(prefix: &str, key: &'a str) -> Option<&'a str> {
    let next = key.strip_prefix(prefix)?.chars().next()?;
    key.get(..prefix.len() + next.len_utf8())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pair_is_one_character() {
        assert_eq!(lengthen("a", "a\u{1F600}b"), Some("a\u{1F600}"));
        assert_eq!(lengthen("a", "a"), None);
        assert_eq!(lengthen("b", "ab"), None);
        assert_eq!(lengthen("", "é"), Some("é"));
    }
}
