//! Who was over a target in the last minute: a few, with how often.

use crate::Place;
use std::collections::BTreeMap;

/// What a target is of.
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
    /// Its word in the admin API.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Partition => "partition",
            Self::Table => "table",
            Self::Account => "account",
        }
    }
}

/// Somebody whose requests were refused because a target was passed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limited {
    /// Whose target it was.
    pub scope: Scope,
    /// The account.
    pub account: String,
    /// The table; `None` when the account was over.
    pub table: Option<String>,
    /// The PartitionKey; `None` when the table or the account was over.
    pub partition_key: Option<String>,
    /// Requests refused in the last minute.
    pub throttled: u64,
}

/// Those known at a time. When more are over, the least of them gives way.
const ENTRIES_MAX: usize = 64;
/// A minute in pieces: what is older falls out a piece at a time.
const PIECES: u64 = 6;
const PIECE_NANOS: u64 = 10_000_000_000;

/// Counts of the last minute.
#[derive(Debug, Default)]
pub(super) struct LastMinute {
    entries: BTreeMap<(Scope, u64), Entry>,
}

#[derive(Debug)]
struct Entry {
    who: Limited,
    counts: [u64; PIECES as usize],
    /// The piece of time counted last, since the clock's zero.
    piece: u64,
}

impl LastMinute {
    /// Counts a refusal; `place` is asked for names when it is the first one of its key.
    pub(super) fn note(&mut self, scope: Scope, key: u64, now: u64, place: impl FnOnce() -> Place) {
        if !self.entries.contains_key(&(scope, key)) {
            self.make_room(now);
            let who = named(scope, place());
            self.entries.insert((scope, key), Entry::new(who, now));
        }
        if let Some(entry) = self.entries.get_mut(&(scope, key)) {
            entry.turn(now);
            if let Some(count) = entry.counts.first_mut() {
                *count += 1;
            }
        }
    }

    /// The `limit` that were refused most often, most first.
    pub(super) fn top(&mut self, now: u64, limit: usize) -> Vec<Limited> {
        let mut all: Vec<Limited> = Vec::new();
        for entry in self.entries.values_mut() {
            entry.turn(now);
            let throttled = entry.total();
            if throttled > 0 {
                let who = entry.who.clone();
                all.push(Limited { throttled, ..who });
            }
        }
        all.sort_by_key(|one| std::cmp::Reverse(one.throttled));
        all.truncate(limit);
        all
    }

    fn make_room(&mut self, now: u64) {
        if self.entries.len() < ENTRIES_MAX {
            return;
        }
        for entry in self.entries.values_mut() {
            entry.turn(now);
        }
        let least = self.entries.iter().min_by_key(|(_, entry)| entry.total());
        if let Some(least) = least.map(|(key, _)| *key) {
            self.entries.remove(&least);
        }
    }
}

impl Entry {
    fn new(who: Limited, now: u64) -> Self {
        Self {
            who,
            counts: [0; PIECES as usize],
            piece: now / PIECE_NANOS,
        }
    }

    /// The counts, newest first, as of now.
    fn turn(&mut self, now: u64) {
        let passed = (now / PIECE_NANOS).saturating_sub(self.piece);
        self.piece += passed;
        // At most PIECES, which is the length.
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

fn named(scope: Scope, place: Place) -> Limited {
    let Place {
        account,
        table,
        table_id: _,
        partition_key,
    } = place;
    Limited {
        scope,
        account,
        table: table.filter(|_| scope != Scope::Account),
        partition_key: Some(partition_key).filter(|_| scope == Scope::Partition),
        throttled: 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use partita_model::TableId;

    fn place(number: u64) -> Place {
        Place {
            account: "account".into(),
            table: Some("People".into()),
            table_id: TableId(1),
            partition_key: number.to_string(),
        }
    }

    const SECOND: u64 = 1_000_000_000;

    #[test]
    fn a_minute_is_remembered_and_then_forgotten() {
        let mut minute = LastMinute::default();
        for second in 0..30 {
            minute.note(Scope::Partition, 7, second * SECOND, || place(7));
        }
        minute.note(Scope::Account, 7, 29 * SECOND, || place(7));
        let top = minute.top(30 * SECOND, 9);
        assert_eq!((top.len(), top[0].throttled), (2, 30));
        assert_eq!(top[0].partition_key.as_deref(), Some("7"));
        assert_eq!((&top[1].table, &top[1].partition_key), (&None, &None));
        assert_eq!(
            minute.top(65 * SECOND, 9)[0].throttled,
            20,
            "the first ten seconds are over"
        );
        assert!(minute.top(90 * SECOND, 9).is_empty());
        assert!(minute.top(u64::MAX, 9).is_empty());
    }

    #[test]
    fn the_busiest_stay_when_there_are_too_many() {
        let mut minute = LastMinute::default();
        for _ in 0..1_000 {
            minute.note(Scope::Partition, 1, 0, || place(1));
        }
        for number in 2..10_000 {
            minute.note(Scope::Partition, number, 0, || place(number));
        }
        assert_eq!(minute.entries.len(), ENTRIES_MAX);
        let top = minute.top(0, 1);
        assert_eq!(
            (top[0].throttled, top[0].partition_key.as_deref()),
            (1_000, Some("1"))
        );
    }
}
