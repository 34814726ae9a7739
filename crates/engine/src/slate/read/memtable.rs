//! The newest rows, in memory until SlateDB has flushed them.
//!
//! SlateDB has a memtable of its own, but shows it only through its own iterators. This one shares keys and values with
//! it, so a row costs some 150 bytes more for its place in the skip list.

use std::cmp::Reverse;
use std::ops::Bound;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use bytes::Bytes;
use crossbeam_skiplist::SkipMap;
use partita_wal::WalId;
use slatedb::{RowEntry, ValueDeletable};

use super::filter::KeyHash;
use crate::KeyRange;

/// The bits of the filter of a memtable: two of them are set for each key.
const FILTER_BITS: usize = 1 << 20;

/// How many rows a cursor takes out of a memtable at a time.
const CURSOR_ROWS: usize = 64;

/// A version of a row: ordered by key, then from the newest to the oldest.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct RowId {
    key: Bytes,
    seq: Reverse<u64>,
}

/// Rows in memory. One thread adds rows while many read.
#[derive(Debug, Default)]
pub(super) struct Memtable {
    /// `None`: the row is deleted.
    rows: SkipMap<RowId, Option<Bytes>>,
    /// Made with the first row: a memtable of a range at rest takes no memory.
    filter: OnceLock<Box<[AtomicU64]>>,
    bytes: AtomicUsize,
    /// The last WAL record with rows in it; 0 if it is empty.
    last: AtomicU64,
}

impl Memtable {
    /// Adds the rows of a WAL record.
    pub(super) fn add(&self, rows: &[RowEntry], record: WalId) {
        let mut bytes = 0;
        for row in rows {
            let value = match &row.value {
                ValueDeletable::Value(value) | ValueDeletable::Merge(value) => Some(value.clone()),
                ValueDeletable::Tombstone => None,
            };
            bytes += row.key.len() + row.value.len();
            self.note(KeyHash::of(&row.key));
            let id = RowId {
                key: row.key.clone(),
                seq: Reverse(row.seq),
            };
            self.rows.insert(id, value);
        }
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        self.last.store(record.0, Ordering::Release);
    }

    fn note(&self, hash: KeyHash) {
        let words = self
            .filter
            .get_or_init(|| (0..FILTER_BITS / 64).map(|_| AtomicU64::new(0)).collect());
        for place in hash.places(FILTER_BITS) {
            if let Some(word) = words.get(place / 64) {
                word.fetch_or(1 << (place % 64), Ordering::Release);
            }
        }
    }

    fn may_contain(&self, hash: KeyHash) -> bool {
        let Some(words) = self.filter.get() else {
            return false;
        };
        hash.places(FILTER_BITS).iter().all(|place| {
            let word = words.get(place / 64);
            word.is_some_and(|word| word.load(Ordering::Acquire) & (1 << (place % 64)) != 0)
        })
    }

    /// The bytes of the keys and values in it.
    pub(super) fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Whether all its rows are in files once the records up to `flushed` are. True if it is empty.
    pub(super) fn is_flushed(&self, flushed: WalId) -> bool {
        self.last.load(Ordering::Acquire) <= flushed.0
    }

    /// Whether it has no rows.
    pub(super) fn is_empty(&self) -> bool {
        self.last.load(Ordering::Acquire) == 0
    }

    /// The newest version of a row up to a sequence number: `Some(None)` if it is a deletion, `None` if the memtable has
    /// no such version.
    pub(super) fn get(&self, key: &[u8], hash: KeyHash, seq: u64) -> Option<Option<Bytes>> {
        if !self.may_contain(hash) {
            return None;
        }
        let wanted = RowId {
            key: Bytes::copy_from_slice(key),
            seq: Reverse(seq),
        };
        let found = self.rows.lower_bound(Bound::Included(&wanted))?;
        (found.key().key == wanted.key).then(|| found.value().clone())
    }
}

/// A place in a memtable. It copies references to some rows at a time, because an iterator of the skip list cannot be
/// stored beside the list.
#[derive(Debug)]
pub(super) struct MemtableCursor {
    rows: std::collections::VecDeque<(RowId, Option<Bytes>)>,
    after: Bound<RowId>,
    end: Bound<Bytes>,
    /// Whether no rows follow those that were taken out.
    is_last: bool,
}

impl MemtableCursor {
    /// Before the first row of a range.
    pub(super) fn new(range: &KeyRange) -> Self {
        let id = |key: &Bytes, seq| RowId {
            key: key.clone(),
            seq: Reverse(seq),
        };
        Self {
            rows: std::collections::VecDeque::new(),
            after: match &range.start {
                Bound::Included(key) => Bound::Included(id(key, u64::MAX)),
                Bound::Excluded(key) => Bound::Excluded(id(key, 0)),
                Bound::Unbounded => Bound::Unbounded,
            },
            end: range.end.clone(),
            is_last: false,
        }
    }

    /// Goes to the next row with at most this sequence number. `false` at the end.
    pub(super) fn advance(&mut self, memtable: &Memtable, seq: u64) -> bool {
        self.rows.pop_front();
        if self.rows.is_empty() && !self.is_last {
            self.fill(memtable, seq);
        }
        !self.rows.is_empty()
    }

    fn fill(&mut self, memtable: &Memtable, seq: u64) {
        self.is_last = true;
        let found = memtable.rows.range((self.after.clone(), Bound::Unbounded));
        for row in found {
            let is_within = match &self.end {
                Bound::Included(end) => row.key().key <= *end,
                Bound::Excluded(end) => row.key().key < *end,
                Bound::Unbounded => true,
            };
            if !is_within {
                return;
            }
            if row.key().seq.0 <= seq {
                self.rows
                    .push_back((row.key().clone(), row.value().clone()));
            }
            if self.rows.len() == CURSOR_ROWS {
                self.after = Bound::Excluded(row.key().clone());
                self.is_last = false;
                return;
            }
        }
    }

    /// The key of the row.
    pub(super) fn key(&self) -> &[u8] {
        self.rows.front().map_or(&[], |(id, _)| &id.key)
    }

    /// The sequence number of the row.
    pub(super) fn seq(&self) -> u64 {
        self.rows.front().map_or(0, |(id, _)| id.seq.0)
    }

    /// The value; `None` if the row is a deletion.
    pub(super) fn value(&self) -> Option<&Bytes> {
        self.rows.front()?.1.as_ref()
    }
}
