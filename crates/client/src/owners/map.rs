//! Which server has which part of which table or queue, as far as hints have said.

use partita_model::compare_utf16;
use std::cmp::Ordering;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// The maximum number of parts. When it is reached, all are removed: the next requests bring new hints.
const PARTS_MAX: usize = 4096;

/// A PartitionKey, in the order of the service.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Key(String);

impl PartialOrd for Key {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Key {
    fn cmp(&self, other: &Self) -> Ordering {
        compare_utf16(&self.0, &other.0)
    }
}

/// A part of a table or queue, from its key in the map on.
#[derive(Debug, Clone)]
struct Part {
    /// The first key after it; `None` for the end.
    to: Option<Key>,
    /// The URL of its server.
    server: Arc<str>,
}

impl Part {
    fn ends_after(&self, key: &Key) -> bool {
        self.to.as_ref().is_none_or(|to| to > key)
    }
}

/// The known parts of all tables and queues of an account.
#[derive(Debug, Default)]
pub(super) struct OwnerMap {
    containers: HashMap<String, BTreeMap<Key, Part>>,
    /// At least the number of parts.
    count: usize,
}

impl OwnerMap {
    /// The URL of the server of a key, if it is known.
    pub(super) fn find(&self, container: &str, key: &str) -> Option<&Arc<str>> {
        let key = Key(key.to_owned());
        let parts = self.containers.get(container)?;
        let (_, part) = parts.range(..=&key).next_back()?;
        part.ends_after(&key).then_some(&part.server)
    }

    /// Notes the server of a part. It replaces what was known of these keys.
    pub(super) fn learn(
        &mut self,
        container: &str,
        (from, to): (&str, Option<&str>),
        server: Arc<str>,
    ) {
        let (from, to) = (Key(from.to_owned()), to.map(|to| Key(to.to_owned())));
        if to.as_ref().is_some_and(|to| *to <= from) {
            return;
        }
        if self.count >= PARTS_MAX {
            self.containers.clear();
            self.count = 0;
        }
        let parts = self.containers.entry(container.to_owned()).or_default();
        let before = parts.range(..&from).next_back();
        let before = before.filter(|(_, part)| part.ends_after(&from));
        let within = parts.range(&from..);
        let within = within.take_while(|(start, _)| to.as_ref().is_none_or(|to| *start < to));
        let replaced = before.into_iter().chain(within);
        let replaced: Vec<_> = replaced.map(|(start, _)| start.clone()).collect();
        for start in replaced {
            let Some(part) = parts.remove(&start) else {
                continue;
            };
            if let Some(to) = &to
                && part.ends_after(to)
            {
                parts.insert(to.clone(), part.clone());
            }
            if start < from {
                let to = Some(from.clone());
                parts.insert(start, Part { to, ..part });
            }
        }
        parts.insert(from, Part { to, server });
        // A part is replaced by at most three.
        self.count += 2;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn learn(map: &mut OwnerMap, from: &str, to: Option<&str>, server: &str) {
        map.learn("t", (from, to), server.into());
    }

    fn found(map: &OwnerMap, key: &str) -> String {
        map.find("t", key)
            .map_or_else(|| "-".to_owned(), |server| server.to_string())
    }

    #[test]
    fn a_newer_hint_replaces_what_was_known_of_its_keys() {
        let mut map = OwnerMap::default();
        assert_eq!(found(&map, "a"), "-");
        learn(&mut map, "", None, "a");
        learn(&mut map, "h", Some("p"), "b");
        let all = |map: &OwnerMap| ["", "g", "h", "o", "p", "z"].map(|key| found(map, key));
        assert_eq!(all(&map), ["a", "a", "b", "b", "a", "a"]);
        learn(&mut map, "g", Some("i"), "c");
        assert_eq!(all(&map), ["a", "c", "c", "b", "a", "a"]);
        learn(&mut map, "i", Some("i"), "d");
        assert_eq!(found(&map, "i"), "b");
        assert_eq!(map.find("other", "a"), None);
    }

    #[test]
    fn keys_have_the_order_of_the_service() {
        let mut map = OwnerMap::default();
        // By UTF-16, a character beyond the basic plane is before U+FFFD.
        learn(&mut map, "\u{FFFD}", None, "a");
        assert_eq!(found(&map, "\u{10000}"), "-");
        learn(&mut map, "", Some("\u{FFFD}"), "b");
        assert_eq!(found(&map, "\u{10000}"), "b");
    }

    #[test]
    fn the_number_of_parts_is_bounded() {
        let mut map = OwnerMap::default();
        for number in 0..3 * PARTS_MAX {
            let (from, to) = (format!("{number:06}"), format!("{number:06}!"));
            learn(&mut map, &from, Some(&to), "a");
            assert_eq!(found(&map, &from), "a");
            let parts = map.containers.values().map(BTreeMap::len).sum::<usize>();
            assert!(parts <= PARTS_MAX, "{parts}");
        }
    }

    proptest! {
        /// The map answers like a list of hints in which the latest that has the key counts.
        #[test]
        fn the_latest_hint_counts(
            hints in proptest::collection::vec(("[a-d]{0,2}", proptest::option::of("[a-d]{0,2}"), 0..4_u8), 0..12),
            key in "[a-d]{0,2}",
        ) {
            let mut map = OwnerMap::default();
            let mut expected = "-".to_owned();
            for (from, to, server) in &hints {
                let server = server.to_string();
                learn(&mut map, from, to.as_deref(), &server);
                if *from <= key && to.as_ref().is_none_or(|to| key < *to) {
                    expected = server;
                }
            }
            prop_assert_eq!(found(&map, &key), expected);
        }
    }
}
