//! Detects tables that grow at one end: nearly all inserts are beyond the first or last partition.
//!
//! Splits cannot balance such a table, because all inserts go to the range that holds the end. Concurrent clients
//! insert slightly out of order, so inserts are compared with the ends at the start of an *epoch*: 1,024 inserts, or
//! fewer if a window ends after at least 64. Requests are not reordered by that many inserts.
//!
//! The load of the newest keys moves with the end. So the search for a split point treats the keys of the last minutes
//! as one piece ([`GrowingEnd`]): a split between them would soon have all load on one side.

use bytes::Bytes;
use partita_rt::hash::FastRandomState;
use std::collections::HashMap;

/// The maximum number of tables that a range tracks at a time; the table with the fewest inserts is evicted.
pub(super) const TABLES_MAX: usize = 16;
/// The number of inserts in an epoch.
const EPOCH_INSERTS: u32 = 1_024;
/// The end of a window also ends an epoch that has at least this number of inserts.
const EPOCH_INSERTS_MIN: u32 = 64;
/// The minimum number of inserts for a result. The number of inserts is halved with every window, so 13 inserts per
/// second reach this minimum.
const INSERTS_MIN: u32 = 256;
/// The share of the inserts that must be beyond an end.
const END_SHARE_MIN: f64 = 0.9;
/// The minimum number of moves of the end. A single busy partition at the end does not move it.
const ADVANCES_MIN: u32 = 2;
/// The number of windows between two recordings of the ends: five minutes. The last two recordings are kept, so the
/// older one is five to ten minutes old.
const MARK_WINDOWS: u32 = 30;
/// The number of windows after which a table without inserts is dropped, and the moves of an end that has not
/// moved since are forgotten: an hour.
const WINDOWS_MAX: u32 = 360;

/// The end at which a table grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// At least 90 % of the inserts are at or after the last partition, and new partitions become the last one.
    AppendOnly,
    /// At least 90 % of the inserts are at or before the first partition, and new partitions become the first one.
    PrependOnly,
    /// Neither: inserts go to both ends, to partitions between them, or to an end that does not move.
    Spread,
}

/// The growth of one table.
#[derive(Clone, Debug, PartialEq)]
pub struct TableGrowth {
    /// The prefix of its keys.
    pub table: Bytes,
    /// The pattern.
    pub pattern: Pattern,
    /// The share of inserts beyond the end with more inserts, 0 to 1.
    pub end_share: f64,
}

/// The growing end of a table: the keys of the last minutes, and all keys beyond.
#[derive(Clone, Debug)]
pub(super) struct GrowingEnd {
    /// The prefix of the table's keys.
    pub(super) table: Bytes,
    pattern: Pattern,
    /// The position of the end some minutes ago.
    since: Box<[u8]>,
}

impl GrowingEnd {
    /// Whether the partition is at the growing end.
    pub(super) fn holds(&self, partition: &[u8]) -> bool {
        let beyond = match self.pattern {
            Pattern::AppendOnly => partition >= &*self.since,
            Pattern::PrependOnly => partition <= &*self.since,
            Pattern::Spread => false,
        };
        beyond && partition.starts_with(&self.table)
    }
}

/// The tables of a range with recent inserts.
#[derive(Debug, Default)]
pub(super) struct Growth {
    tables: HashMap<Box<[u8]>, Table, FastRandomState>,
}

#[derive(Debug)]
struct Table {
    first: End,
    last: End,
    /// Inserts compared with the ends, halved with every window.
    compared: u32,
    epoch_inserts: u32,
    /// Whether an epoch has passed, so that inserts can be compared with the ends.
    settled: bool,
    idle_windows: u32,
    /// Windows since the ends were recorded.
    unmarked_windows: u32,
}

/// The first or last partition of a table.
#[derive(Debug)]
struct End {
    /// The end now.
    now: Box<[u8]>,
    /// The end at the start of the epoch.
    before: Box<[u8]>,
    /// The end at the last two recordings, or at the first insert if that was later.
    marked: [Box<[u8]>; 2],
    /// Inserts at or beyond `before`, halved with every window.
    beyond: u32,
    /// The number of epochs in which the end moved; 0 again after [`WINDOWS_MAX`] windows without a move.
    advances: u32,
    /// The number of windows since the last move.
    still_windows: u32,
}

impl Growth {
    /// Counts a request that inserted a row into `partition`.
    pub(super) fn insert(&mut self, table: &[u8], partition: &[u8]) {
        if let Some(table) = self.tables.get_mut(table) {
            table.insert(partition);
            return;
        }
        if self.tables.len() >= TABLES_MAX {
            let activity = |table: &Table| (table.compared, table.epoch_inserts);
            let least = self.tables.iter().min_by_key(|(_, table)| activity(table));
            if let Some(name) = least.map(|(name, _)| name.clone()) {
                self.tables.remove(&name);
            }
        }
        self.tables.insert(table.into(), Table::new(partition));
    }

    /// Closes the window.
    pub(super) fn roll(&mut self) {
        self.tables.retain(|_, table| {
            table.roll();
            table.idle_windows <= WINDOWS_MAX
        });
    }

    /// The growth of each table with at least [`INSERTS_MIN`] inserts, in key order.
    pub(super) fn tables(&self) -> Vec<TableGrowth> {
        let told = self.tables.iter();
        let mut told: Vec<TableGrowth> = told
            .filter(|(_, table)| table.compared >= INSERTS_MIN)
            .map(|(name, table)| table.growth(name))
            .collect();
        told.sort_unstable_by(|a, b| a.table.cmp(&b.table));
        told
    }

    /// The growing ends of all growing tables.
    pub(super) fn growing(&self) -> Vec<GrowingEnd> {
        let told = self.tables.iter();
        told.filter(|(_, table)| table.compared >= INSERTS_MIN)
            .filter_map(|(name, table)| table.growing(name))
            .collect()
    }

    /// Bytes of the keys in memory.
    #[cfg(test)]
    pub(super) fn key_bytes(&self) -> usize {
        let end = |end: &End| {
            let marked: usize = end.marked.iter().map(|key| key.len()).sum();
            end.now.len() + end.before.len() + marked
        };
        let ends = |table: &Table| [end(&table.first), end(&table.last)];
        let tables = self.tables.iter();
        tables
            .map(|(name, table)| name.len() + ends(table).iter().sum::<usize>())
            .sum()
    }
}

impl Table {
    fn new(partition: &[u8]) -> Self {
        Self {
            first: End::new(partition),
            last: End::new(partition),
            compared: 0,
            epoch_inserts: 1,
            settled: false,
            idle_windows: 0,
            unmarked_windows: 0,
        }
    }

    fn insert(&mut self, partition: &[u8]) {
        if self.settled {
            self.compared += 1;
            self.first.beyond += u32::from(partition <= &*self.first.before);
            self.last.beyond += u32::from(partition >= &*self.last.before);
        }
        if partition < &*self.first.now {
            self.first.now = partition.into();
        }
        if partition > &*self.last.now {
            self.last.now = partition.into();
        }
        self.idle_windows = 0;
        self.epoch_inserts += 1;
        if self.epoch_inserts >= EPOCH_INSERTS {
            self.end_epoch();
        }
    }

    fn end_epoch(&mut self) {
        self.epoch_inserts = 0;
        if self.settled {
            self.first.advance();
            self.last.advance();
        } else {
            self.first.before = self.first.now.clone();
            self.last.before = self.last.now.clone();
        }
        self.settled = true;
    }

    fn roll(&mut self) {
        if self.epoch_inserts >= EPOCH_INSERTS_MIN {
            self.end_epoch();
        }
        self.compared /= 2;
        self.idle_windows += 1;
        self.unmarked_windows += 1;
        if self.unmarked_windows >= MARK_WINDOWS {
            self.unmarked_windows = 0;
            self.first.mark();
            self.last.mark();
        }
        for end in [&mut self.first, &mut self.last] {
            end.beyond /= 2;
            end.still_windows += 1;
            if end.still_windows > WINDOWS_MAX {
                end.advances = 0;
            }
        }
    }

    fn growth(&self, name: &[u8]) -> TableGrowth {
        TableGrowth {
            table: Bytes::copy_from_slice(name),
            pattern: self.pattern(),
            end_share: self.share(&self.first).max(self.share(&self.last)),
        }
    }

    /// The growing end of the table, if it grows.
    fn growing(&self, name: &[u8]) -> Option<GrowingEnd> {
        let pattern = self.pattern();
        let end = match pattern {
            Pattern::AppendOnly => &self.last,
            Pattern::PrependOnly => &self.first,
            Pattern::Spread => return None,
        };
        let [_, since] = &end.marked;
        Some(GrowingEnd {
            table: Bytes::copy_from_slice(name),
            pattern,
            since: since.clone(),
        })
    }

    fn pattern(&self) -> Pattern {
        let grows_at = |end: &End| self.share(end) >= END_SHARE_MIN && end.advances >= ADVANCES_MIN;
        if grows_at(&self.last) {
            Pattern::AppendOnly
        } else if grows_at(&self.first) {
            Pattern::PrependOnly
        } else {
            Pattern::Spread
        }
    }

    /// The share of the table's inserts beyond an end.
    fn share(&self, end: &End) -> f64 {
        f64::from(end.beyond) / f64::from(self.compared.max(1))
    }
}

impl End {
    fn new(partition: &[u8]) -> Self {
        Self {
            now: partition.into(),
            before: partition.into(),
            marked: [partition.into(), partition.into()],
            beyond: 0,
            advances: 0,
            still_windows: 0,
        }
    }

    fn mark(&mut self) {
        let [last, older] = &mut self.marked;
        *older = std::mem::replace(last, self.now.clone());
    }

    fn advance(&mut self) {
        if self.now != self.before {
            self.advances += 1;
            self.still_windows = 0;
            self.before = self.now.clone();
        }
    }
}
