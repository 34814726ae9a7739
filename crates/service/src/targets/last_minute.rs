//! The scopes that exceeded a target in the last minute, each with its number of refused requests.

use std::collections::BTreeMap;

/// The owner of a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    /// One PartitionKey of a table.
    Partition,
    /// A table.
    Table,
    /// An account.
    Account,
}

impl Scope {
    /// Its name in the admin API.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Partition => "partition",
            Self::Table => "table",
            Self::Account => "account",
        }
    }
}

/// A partition, a container or an account whose requests were refused because a target was exceeded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limited {
    /// The owner of the target.
    pub scope: Scope,
    /// The names of the first refused request.
    names: ScopeNames,
    /// Requests refused in the last minute.
    pub throttled: u64,
}

impl Limited {
    /// The account.
    #[must_use]
    pub fn account(&self) -> &str {
        &self.names.account
    }

    /// The table; `None` for the target of an account.
    #[must_use]
    pub fn table(&self) -> Option<&str> {
        (self.scope != Scope::Account).then_some(&self.names.container)
    }

    /// The PartitionKey; `None` for the target of a table or an account.
    #[must_use]
    pub fn partition_key(&self) -> Option<&str> {
        (self.scope == Scope::Partition).then_some(&self.names.partition)
    }
}

/// The names of the account, container and partition that a request is charged to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScopeNames {
    /// The account.
    pub account: String,
    /// The table, or another container.
    pub container: String,
    /// The PartitionKey.
    pub partition: String,
}

/// The maximum number of scopes that are counted. At the limit, the one with the fewest refusals is dropped.
const ENTRIES_MAX: usize = 64;
/// The number of pieces of a minute. Old counts are dropped piece by piece.
const PIECES: u64 = 6;
const PIECE_NANOS: u64 = 10_000_000_000;

/// Refused requests of the last minute.
#[derive(Debug, Default)]
pub(super) struct LastMinute {
    entries: BTreeMap<(Scope, u64), Entry>,
}

#[derive(Debug)]
struct Entry {
    limited: Limited,
    counts: [u64; PIECES as usize],
    /// The number of the newest piece, counted from the start of the clock.
    piece: u64,
}

impl LastMinute {
    /// Counts a refusal; calls `names` for the first refusal of a key.
    pub(super) fn note(
        &mut self,
        scope: Scope,
        key: u64,
        now: u64,
        names: impl FnOnce() -> ScopeNames,
    ) {
        if !self.entries.contains_key(&(scope, key)) {
            self.make_room(now);
            let limited = Limited {
                scope,
                names: names(),
                throttled: 0,
            };
            self.entries.insert((scope, key), Entry::new(limited, now));
        }
        if let Some(entry) = self.entries.get_mut(&(scope, key)) {
            entry.advance(now);
            if let Some(count) = entry.counts.first_mut() {
                *count += 1;
            }
        }
    }

    /// The `limit` scopes with the most refusals, most refusals first.
    pub(super) fn top(&mut self, now: u64, limit: usize) -> Vec<Limited> {
        let all = self.all(now).into_iter();
        let mut all: Vec<Limited> = all.map(|(_, limited)| limited).collect();
        all.sort_by_key(|one| std::cmp::Reverse(one.throttled));
        all.truncate(limit);
        all
    }

    /// All scopes with refusals, by their keys: at most [`ENTRIES_MAX`].
    pub(super) fn all(&mut self, now: u64) -> Vec<(u64, Limited)> {
        let mut all = Vec::new();
        for ((_, key), entry) in &mut self.entries {
            entry.advance(now);
            let throttled = entry.total();
            if throttled > 0 {
                let limited = entry.limited.clone();
                let limited = Limited {
                    throttled,
                    ..limited
                };
                all.push((*key, limited));
            }
        }
        all
    }

    fn make_room(&mut self, now: u64) {
        if self.entries.len() < ENTRIES_MAX {
            return;
        }
        for entry in self.entries.values_mut() {
            entry.advance(now);
        }
        let least = self.entries.iter().min_by_key(|(_, entry)| entry.total());
        if let Some(least) = least.map(|(key, _)| *key) {
            self.entries.remove(&least);
        }
    }
}

impl Entry {
    fn new(limited: Limited, now: u64) -> Self {
        Self {
            limited,
            counts: [0; PIECES as usize],
            piece: now / PIECE_NANOS,
        }
    }

    /// Shifts the counts, one for each piece from the newest to the oldest, so that the first is for the piece that
    /// contains `now`.
    fn advance(&mut self, now: u64) {
        let passed = (now / PIECE_NANOS).saturating_sub(self.piece);
        self.piece += passed;
        // At most PIECES, which is the length of the counts.
        let passed = passed.min(PIECES) as usize;
        self.counts.rotate_right(passed);
        self.counts
            .iter_mut()
            .take(passed)
            .for_each(|count| *count = 0);
    }

    fn total(&self) -> u64 {
        self.counts.iter().sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(number: u64) -> ScopeNames {
        ScopeNames {
            account: "account".into(),
            container: "People".into(),
            partition: number.to_string(),
        }
    }

    const SECOND: u64 = 1_000_000_000;

    #[test]
    fn a_minute_is_counted_and_then_dropped() {
        let mut minute = LastMinute::default();
        for second in 0..30 {
            minute.note(Scope::Partition, 7, second * SECOND, || names(7));
        }
        minute.note(Scope::Account, 7, 29 * SECOND, || names(7));
        let top = minute.top(30 * SECOND, 9);
        assert_eq!((top.len(), top[0].throttled), (2, 30));
        assert_eq!(top[0].partition_key(), Some("7"));
        assert_eq!((top[1].table(), top[1].partition_key()), (None, None));
        assert_eq!(
            minute.top(65 * SECOND, 9)[0].throttled,
            20,
            "the first ten seconds are older than a minute"
        );
        assert!(minute.top(90 * SECOND, 9).is_empty());
        assert!(minute.top(u64::MAX, 9).is_empty());
    }

    #[test]
    fn the_most_frequent_scopes_are_kept_beyond_the_limit() {
        let mut minute = LastMinute::default();
        for _ in 0..1_000 {
            minute.note(Scope::Partition, 1, 0, || names(1));
        }
        for number in 2..10_000 {
            minute.note(Scope::Partition, number, 0, || names(number));
        }
        assert_eq!(minute.entries.len(), ENTRIES_MAX);
        let top = minute.top(0, 1);
        assert_eq!(
            (top[0].throttled, top[0].partition_key()),
            (1_000, Some("1"))
        );
    }
}
