//! The newest rows, in memory until SlateDB has flushed them.
//!
//! SlateDB has a memtable of its own, but shows it only through its own iterators. This one shares keys and values with
//! it, so a row costs some 80 bytes more.
//!
//! The rows of a WAL record come in the order of their keys and become a chunk. Chunks of a similar size are merged, so a
//! memtable has few. A skip list takes longer, because it searches the place of each row.

use std::cmp::Ordering;
use std::ops::{Bound, Range};
use std::sync::atomic::{self, AtomicU64, AtomicUsize};
use std::sync::{Arc, OnceLock};

use arc_swap::ArcSwap;
use bytes::Bytes;
use partita_wal::WalId;
use slatedb::{RowEntry, ValueDeletable};

use super::filter::KeyHash;
use crate::KeyRange;

/// The bits of the filter of a memtable: two of them are set for each key.
const FILTER_BITS: usize = 1 << 20;

/// So many chunks of a similar size are merged. A memtable that gets no further rows has fewer.
const SIMILAR_CHUNKS: usize = 4;

/// A version of a row.
#[derive(Debug, Clone)]
struct Row {
    key: Bytes,
    seq: u64,
    /// `None`: the row is deleted.
    value: Option<Bytes>,
}

impl Row {
    fn of(entry: &RowEntry) -> Self {
        Self {
            key: entry.key.clone(),
            seq: entry.seq,
            value: match &entry.value {
                ValueDeletable::Value(value) | ValueDeletable::Merge(value) => Some(value.clone()),
                ValueDeletable::Tombstone => None,
            },
        }
    }

    /// By key, then from the newest to the oldest.
    fn order(&self, key: &[u8], seq: u64) -> Ordering {
        let order = self.key[..].cmp(key);
        order.then_with(|| seq.cmp(&self.seq))
    }
}

/// Rows in their order, which never change.
type Chunk = Arc<Vec<Row>>;

fn sorted(mut rows: Vec<Row>) -> Chunk {
    // A stable sort takes the runs of rows that are in order as they are, and merges them.
    rows.sort_by(|one, other| one.order(&other.key, other.seq));
    Arc::new(rows)
}

fn merged(chunks: &[Chunk]) -> Chunk {
    let rows = chunks.iter().flat_map(|chunk| chunk.iter().cloned());
    let mut all = Vec::with_capacity(chunks.iter().map(|chunk| chunk.len()).sum());
    all.extend(rows);
    sorted(all)
}

/// The same for chunks of 1 to 3 rows, of 4 to 15, of 16 to 63, and so on.
fn size_class(chunk: &Chunk) -> u32 {
    chunk.len().checked_ilog2().unwrap_or_default() / 2
}

/// While so many chunks at the end are of the last one's size class or a smaller one, merges them.
fn merge_similar(chunks: &mut Vec<Chunk>) {
    while let Some(last) = chunks.last() {
        let class = size_class(last);
        let similar = chunks.iter().rev();
        let similar = similar
            .take_while(|chunk| size_class(chunk) <= class)
            .count();
        if similar < SIMILAR_CHUNKS {
            return;
        }
        let similar = chunks.split_off(chunks.len() - similar);
        chunks.push(merged(&similar));
    }
}

/// Rows in memory. One thread at a time adds rows while many read.
#[derive(Debug, Default)]
pub(super) struct Memtable {
    /// From the oldest to the newest: for a key, all versions of its row in a chunk are newer than those in an earlier one.
    chunks: ArcSwap<Vec<Chunk>>,
    /// Made with the first row: a memtable of a range at rest takes no memory.
    filter: OnceLock<Box<[AtomicU64]>>,
    bytes: AtomicUsize,
    /// The last WAL record with rows in it; 0 if it is empty.
    last: AtomicU64,
}

impl Memtable {
    /// Adds the rows of a WAL record, which are newer than those of the records before.
    pub(super) fn add(&self, rows: &[RowEntry], record: WalId) {
        let mut bytes = 0;
        for row in rows {
            bytes += row.key.len() + row.value.len();
            self.note(KeyHash::of(&row.key));
        }
        let mut chunks = Vec::clone(&self.chunks.load());
        chunks.push(sorted(rows.iter().map(Row::of).collect()));
        merge_similar(&mut chunks);
        self.chunks.store(Arc::new(chunks));
        self.bytes.fetch_add(bytes, atomic::Ordering::Relaxed);
        self.last.store(record.0, atomic::Ordering::Release);
    }

    /// Merges all chunks unless there are few, for the reads of a memtable that gets no further rows.
    pub(super) fn merge(&self) {
        let chunks = self.chunks.load();
        if chunks.len() >= SIMILAR_CHUNKS {
            self.chunks.store(Arc::new(vec![merged(&chunks)]));
        }
    }

    fn note(&self, hash: KeyHash) {
        let words = self
            .filter
            .get_or_init(|| (0..FILTER_BITS / 64).map(|_| AtomicU64::new(0)).collect());
        for place in hash.places(FILTER_BITS) {
            if let Some(word) = words.get(place / 64) {
                word.fetch_or(1 << (place % 64), atomic::Ordering::Release);
            }
        }
    }

    fn may_contain(&self, hash: KeyHash) -> bool {
        let Some(words) = self.filter.get() else {
            return false;
        };
        hash.places(FILTER_BITS).iter().all(|place| {
            let word = words.get(place / 64);
            word.is_some_and(|word| word.load(atomic::Ordering::Acquire) & (1 << (place % 64)) != 0)
        })
    }

    /// The bytes of the keys and values in it.
    pub(super) fn bytes(&self) -> usize {
        self.bytes.load(atomic::Ordering::Relaxed)
    }

    /// Whether all its rows are in files once the records up to `flushed` are. True if it is empty.
    pub(super) fn is_flushed(&self, flushed: WalId) -> bool {
        self.last.load(atomic::Ordering::Acquire) <= flushed.0
    }

    /// Whether it has no rows.
    pub(super) fn is_empty(&self) -> bool {
        self.last.load(atomic::Ordering::Acquire) == 0
    }

    /// The newest version of a row up to a sequence number: `Some(None)` if it is a deletion, `None` if the memtable has
    /// no such version.
    pub(super) fn get(&self, key: &[u8], hash: KeyHash, seq: u64) -> Option<Option<Bytes>> {
        if !self.may_contain(hash) {
            return None;
        }
        let chunks = self.chunks.load();
        let found = chunks.iter().rev().find_map(|chunk| {
            let place = chunk.partition_point(|row| row.order(key, seq).is_lt());
            chunk.get(place).filter(|row| row.key == key)
        });
        found.map(|row| row.value.clone())
    }

    /// Places before the rows of a range that are in it now, each in a part of them.
    pub(super) fn cursors(&self, range: &KeyRange) -> Vec<ChunkCursor> {
        let chunks = self.chunks.load();
        let cursors = chunks.iter().map(|chunk| ChunkCursor::new(chunk, range));
        cursors.filter(|cursor| !cursor.rest.is_empty()).collect()
    }
}

/// A place in a part of the rows of a memtable.
#[derive(Debug)]
pub(super) struct ChunkCursor {
    rows: Chunk,
    /// The number of the row.
    row: usize,
    /// The numbers of the rows of the range that follow.
    rest: Range<usize>,
}

impl ChunkCursor {
    fn new(rows: &Chunk, range: &KeyRange) -> Self {
        let start = match &range.start {
            Bound::Included(key) => rows.partition_point(|row| row.key < *key),
            Bound::Excluded(key) => rows.partition_point(|row| row.key <= *key),
            Bound::Unbounded => 0,
        };
        let end = match &range.end {
            Bound::Included(key) => rows.partition_point(|row| row.key <= *key),
            Bound::Excluded(key) => rows.partition_point(|row| row.key < *key),
            Bound::Unbounded => rows.len(),
        };
        Self {
            rows: Arc::clone(rows),
            row: start,
            rest: start..end,
        }
    }

    /// Goes to the next row with at most this sequence number. `false` at the end.
    #[inline]
    pub(super) fn advance(&mut self, seq: u64) -> bool {
        let is_shown = |row: &usize| self.rows.get(*row).is_some_and(|row| row.seq <= seq);
        match self.rest.find(is_shown) {
            Some(row) => {
                self.row = row;
                true
            }
            None => false,
        }
    }

    /// The key of the row.
    #[inline]
    pub(super) fn key(&self) -> &[u8] {
        self.rows.get(self.row).map_or(&[], |row| &row.key)
    }

    /// The sequence number of the row.
    #[inline]
    pub(super) fn seq(&self) -> u64 {
        self.rows.get(self.row).map_or(0, |row| row.seq)
    }

    /// The value; `None` if the row is a deletion.
    #[inline]
    pub(super) fn value(&self) -> Option<&Bytes> {
        self.rows.get(self.row)?.value.as_ref()
    }
}

#[cfg(test)]
mod tests {
    use std::cmp::Reverse;
    use std::collections::BTreeMap;
    use std::ops::RangeBounds;

    use proptest::prelude::*;

    use super::*;

    /// The versions of rows, by key and from the newest to the oldest.
    type Model = BTreeMap<(Bytes, Reverse<u64>), Option<String>>;

    /// Records of rows: the number of the key, and whether the row is deleted.
    fn records() -> impl Strategy<Value = Vec<Vec<(u8, bool)>>> {
        let row = (any::<u8>(), any::<bool>());
        prop::collection::vec(prop::collection::vec(row, 1..40), 1..60)
    }

    fn key(number: u8) -> Bytes {
        Bytes::from(format!("key{number:03}"))
    }

    fn text(value: &Bytes) -> String {
        String::from_utf8(value.to_vec()).unwrap()
    }

    fn filled(records: &[Vec<(u8, bool)>]) -> (Memtable, Model) {
        let (memtable, mut model) = (Memtable::default(), Model::new());
        let mut seqs = 1..;
        for (record, rows) in (1..).zip(records) {
            let entries = rows.iter().map(|(number, is_deleted)| {
                let (key, seq) = (key(*number), seqs.next().unwrap());
                let text = (!is_deleted).then(|| seq.to_string());
                let value = text.clone().map_or(ValueDeletable::Tombstone, |text| {
                    ValueDeletable::Value(Bytes::from(text))
                });
                model.insert((key.clone(), Reverse(seq)), text);
                RowEntry {
                    key,
                    value,
                    seq,
                    create_ts: None,
                    expire_ts: None,
                }
            });
            memtable.add(&entries.collect::<Vec<_>>(), WalId(record));
        }
        (memtable, model)
    }

    fn expect_gets(memtable: &Memtable, model: &Model, shown: u64) {
        for key in (0..=u8::MAX).map(key) {
            let versions = model.range((key.clone(), Reverse(shown))..);
            let mut versions = versions.take_while(|((found, _), _)| *found == key);
            let found = memtable.get(&key, KeyHash::of(&key), shown);
            let found = found.map(|value| value.as_ref().map(text));
            assert_eq!(found, versions.next().map(|(_, value)| value.clone()));
        }
    }

    fn expect_range(memtable: &Memtable, model: &Model, shown: u64, range: &KeyRange) {
        let mut rows = Model::new();
        for mut cursor in memtable.cursors(range) {
            while cursor.advance(shown) {
                let id = (Bytes::copy_from_slice(cursor.key()), Reverse(cursor.seq()));
                assert_eq!(rows.insert(id, cursor.value().map(text)), None);
            }
        }
        let is_in = |key| (range.start.clone(), range.end.clone()).contains(key);
        let expected = model.iter();
        let expected = expected.filter(|((key, seq), _)| is_in(key) && seq.0 <= shown);
        let expected = expected.map(|(id, value)| (id.clone(), value.clone()));
        assert_eq!(rows, expected.collect());
    }

    proptest! {
        #[test]
        fn shows_each_row_at_each_sequence_number(
            records in records(),
            shown in 0..1_000_u64,
            first in any::<u8>(),
            is_full in any::<bool>(),
        ) {
            let (memtable, model) = filled(&records);
            if is_full {
                memtable.merge();
            }
            expect_gets(&memtable, &model, shown);
            let last = key(first.saturating_add(100));
            for range in [
                KeyRange::all(),
                KeyRange { start: Bound::Excluded(key(first)), end: Bound::Included(last.clone()) },
                KeyRange { start: Bound::Included(key(first)), end: Bound::Excluded(last) },
            ] {
                expect_range(&memtable, &model, shown, &range);
            }
        }
    }

    #[test]
    fn many_records_make_few_chunks() {
        for rows in [1, 7, 64] {
            let records = vec![vec![(0, false); rows]; 2_000];
            let (memtable, _) = filled(&records);
            let chunks = memtable.chunks.load();
            assert!(chunks.len() < 30, "{rows}: {}", chunks.len());
            memtable.merge();
            assert!(memtable.chunks.load().len() < SIMILAR_CHUNKS);
        }
    }
}
