//! Groups rows of chunks into batches to write. This is a state machine without I/O.
//!
//! Invariants:
//! - a batch has rows of one partition, each key once, with at most [`BATCH_OPERATIONS_MAX`] rows and
//!   [`BATCH_BYTES_MAX`] bytes;
//! - a key is in at most one open or running batch. A second row with the same key waits, and so do all rows after it;
//! - there are at most [`ROWS_MAX`] rows that are not yet being written, plus the rows of one chunk.

use super::marks::ChunkId;
use partita_bulk::{BATCH_BYTES_MAX, entity_bytes, operation_bytes_max};
use partita_client::Entity;
use partita_model::limits::BATCH_OPERATIONS_MAX;
use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::hash::{BuildHasher as _, RandomState};

/// With at least this many rows in memory, no further chunk is added. The number is so large that rows in random order
/// of many small partitions still form batches.
const ROWS_MAX: usize = 20_000;
/// With at least this many bytes of rows in memory, no further chunk is added.
const BYTES_MAX: u64 = 64 * 1024 * 1024;

/// Rows of one partition, to write with one request.
#[derive(Debug, Default)]
pub(super) struct Batch {
    pub(super) rows: Vec<Entity>,
    pub(super) receipt: Receipt,
    bytes: u64,
}

/// What is kept of a batch until it is written.
#[derive(Debug, Default)]
pub(super) struct Receipt {
    /// The number of rows from each chunk.
    pub(super) chunks: Vec<(ChunkId, usize)>,
    /// The size of the rows by the service's formula, in bytes.
    pub(super) row_bytes: u64,
    /// The hashes of the rows' keys.
    keys: Vec<u64>,
}

/// A row that is not yet in a batch.
#[derive(Debug)]
struct Waiting {
    row: Entity,
    /// The hash of its keys.
    key: u64,
    chunk: ChunkId,
    /// The maximum size of its operation in a batch, in bytes.
    bytes: u64,
}

/// All rows that are not yet being written.
#[derive(Debug, Default)]
pub(super) struct Batches {
    /// Batches that can take more rows, by their number; the lowest is the oldest.
    open: BTreeMap<u64, Batch>,
    /// The number of the open batch of each partition.
    by_partition: HashMap<String, u64>,
    /// The number of the newest batch.
    born: u64,
    full: VecDeque<Batch>,
    /// A row whose key is in an open, full or running batch, and the rows after it.
    waiting: VecDeque<Waiting>,
    /// Hashes of the keys in open, full and running batches. If two keys have the same hash, one waits for the other,
    /// which does no harm.
    keys: HashSet<u64>,
    hasher: RandomState,
    rows: usize,
    bytes: u64,
}

impl Batches {
    /// Adds the rows of a chunk.
    pub(super) fn add(&mut self, rows: Vec<Entity>, chunk: ChunkId) {
        for row in rows {
            let bytes = operation_bytes_max(&row);
            let key = self.hasher.hash_one((row.partition_key(), row.row_key()));
            (self.rows, self.bytes) = (self.rows + 1, self.bytes + bytes);
            self.waiting.push_back(Waiting {
                row,
                key,
                chunk,
                bytes,
            });
        }
        self.gather();
    }

    /// The next batch to write now. Returns a full batch if there is one. Otherwise returns the oldest open batch if
    /// memory is full, if a row waits, or if no more rows will be added (`is_ended`).
    pub(super) fn next(&mut self, is_ended: bool) -> Option<Batch> {
        let batch = match self.full.pop_front() {
            Some(batch) => batch,
            None if is_ended || self.is_full() || !self.waiting.is_empty() => {
                let oldest = *self.open.first_key_value()?.0;
                self.close(oldest)?
            }
            None => return None,
        };
        self.rows -= batch.rows.len();
        self.bytes -= batch.bytes;
        Some(batch)
    }

    /// Records that a batch has been written. Rows that waited for its keys can then be written.
    pub(super) fn done(&mut self, receipt: &Receipt) {
        for key in &receipt.keys {
            self.keys.remove(key);
        }
        self.gather();
    }

    /// Whether so many rows are in memory that no further chunk should be added.
    pub(super) fn is_full(&self) -> bool {
        self.rows >= ROWS_MAX || self.bytes >= BYTES_MAX
    }

    /// Whether all rows are written.
    pub(super) fn is_empty(&self) -> bool {
        self.rows == 0 && self.keys.is_empty()
    }

    /// Puts waiting rows into batches, up to the first one whose key is in another batch.
    fn gather(&mut self) {
        while let Some(next) = self.waiting.front() {
            if !self.keys.insert(next.key) {
                break;
            }
            if let Some(next) = self.waiting.pop_front() {
                self.put(next);
            }
        }
    }

    fn put(&mut self, next: Waiting) {
        let partition = next.row.partition_key();
        let mut place = self.by_partition.get(partition).copied();
        let is_too_large = |batch: &Batch| batch.bytes + next.bytes > BATCH_BYTES_MAX;
        if let Some(at) = place.take_if(|at| self.open.get(at).is_some_and(is_too_large)) {
            let batch = self.close(at);
            self.full.extend(batch);
        }
        let place = place.unwrap_or_else(|| {
            self.born += 1;
            self.by_partition.insert(partition.to_owned(), self.born);
            self.born
        });
        let batch = self.open.entry(place).or_default();
        batch.push(next);
        if batch.rows.len() == BATCH_OPERATIONS_MAX {
            let batch = self.close(place);
            self.full.extend(batch);
        }
    }

    /// Removes and returns an open batch, which takes no more rows.
    fn close(&mut self, place: u64) -> Option<Batch> {
        let batch = self.open.remove(&place)?;
        if let Some(first) = batch.rows.first() {
            self.by_partition.remove(first.partition_key());
        }
        Some(batch)
    }
}

impl Batch {
    fn push(&mut self, next: Waiting) {
        let receipt = &mut self.receipt;
        receipt.keys.push(next.key);
        receipt.row_bytes += entity_bytes(&next.row);
        match receipt.chunks.last_mut() {
            Some((last, rows)) if *last == next.chunk => *rows += 1,
            _ => receipt.chunks.push((next.chunk, 1)),
        }
        self.bytes += next.bytes;
        self.rows.push(next.row);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn row(partition: &str, row: &str) -> Entity {
        Entity::new(partition, row)
    }

    fn keys(batch: &Batch) -> Vec<(&str, &str)> {
        let keys = |row| (Entity::partition_key(row), Entity::row_key(row));
        batch.rows.iter().map(keys).collect()
    }

    #[test]
    fn rows_of_one_partition_are_written_together() {
        let mut batches = Batches::default();
        batches.add(vec![row("a", "1"), row("b", "1"), row("a", "2")], 0);
        assert!(batches.next(false).is_none(), "the batch is not full");
        batches.add(vec![row("b", "2")], 1);
        let first = batches.next(true).unwrap();
        assert_eq!(keys(&first), [("a", "1"), ("a", "2")]);
        let second = batches.next(true).unwrap();
        assert_eq!(second.receipt.chunks, [(0, 1), (1, 1)]);
        batches.done(&first.receipt);
        assert!(!batches.is_empty());
        batches.done(&second.receipt);
        assert!(batches.is_empty());
    }

    #[test]
    fn a_row_waits_until_the_earlier_row_with_its_key_is_written() {
        let mut batches = Batches::default();
        batches.add(
            vec![row("a", "1"), row("b", "1"), row("a", "1"), row("c", "1")],
            0,
        );
        let first = batches.next(false).unwrap();
        assert_eq!(keys(&first), [("a", "1")]);
        let other = batches.next(false).unwrap();
        assert_eq!(keys(&other), [("b", "1")]);
        assert!(batches.next(true).is_none());
        batches.done(&first.receipt);
        assert_eq!(keys(&batches.next(true).unwrap()), [("a", "1")]);
        assert_eq!(keys(&batches.next(true).unwrap()), [("c", "1")]);
    }

    #[test]
    fn batches_are_bounded_in_bytes() {
        let mut large = row("a", "1");
        for name in ["a", "b", "c", "d", "e", "f"] {
            large.insert(name, "\u{1}".repeat(32 * 1024));
        }
        let rows = (0..10).map(|at| large.clone().with_keys("a", at.to_string()));
        let mut batches = Batches::default();
        batches.add(rows.collect(), 0);
        let mut written = 0;
        while let Some(batch) = batches.next(true) {
            assert!(batch.bytes <= BATCH_BYTES_MAX && batch.rows.len() <= 3);
            written += batch.rows.len();
        }
        assert_eq!(written, 10);
    }

    proptest! {
        #[test]
        fn a_body_does_not_exceed_the_estimate(entities in crate::formats::tests::entities()) {
            for entity in entities {
                let mut body = Vec::new();
                let properties = entity.iter().map(|(name, value)| (name, value.as_ref()));
                let keys = (entity.partition_key(), entity.row_key());
                partita_wire::table::write_entity(keys.0, keys.1, properties, &mut body);
                let mut path = Vec::new();
                partita_wire::table::push_entity_path("Table", keys.0, keys.1, &mut path);
                let bytes = (body.len() + path.len() + 500) as u64;
                prop_assert!(bytes <= operation_bytes_max(&entity), "{bytes}");
            }
        }

        /// For random rows and random orders in which writes end: each row is written once, rows with the same key are
        /// written in their order, and each batch has rows of one partition, each key once.
        #[test]
        fn every_row_is_written_once(
            chunks in proptest::collection::vec(proptest::collection::vec((0..4_u8, 0..150_u8), 0..200), 0..6),
            events in proptest::collection::vec(any::<u8>(), 0..60),
        ) {
            let mut batches = Batches::default();
            let (mut under_way, mut written, mut sent) = (Vec::<Batch>::new(), Vec::new(), Vec::new());
            let mut chunks = chunks.into_iter().enumerate();
            let mut events = events.into_iter();
            let mut count = 0;
            let mut is_ended = false;
            while !(is_ended && batches.is_empty()) {
                match events.next().unwrap_or(if is_ended { 1 } else { 0 }) % 4 {
                    0 => match chunks.next() {
                        None => is_ended = true,
                        Some((id, rows)) => {
                            let rows = rows.into_iter().map(|(partition, key)| {
                                count += 1;
                                let mut row = row(&partition.to_string(), &key.to_string());
                                row.insert("n", count);
                                row
                            });
                            let rows: Vec<_> = rows.collect();
                            sent.extend(rows.clone());
                            batches.add(rows, id as u64);
                        }
                    },
                    1 => match batches.next(is_ended) {
                        Some(batch) => under_way.push(batch),
                        None if !under_way.is_empty() => {
                            let batch = under_way.swap_remove(0);
                            batches.done(&batch.receipt);
                            written.push(batch);
                        }
                        None => {}
                    },
                    at if !under_way.is_empty() => {
                        let batch = under_way.swap_remove(usize::from(at) % under_way.len());
                        batches.done(&batch.receipt);
                        written.push(batch);
                    }
                    _ => {}
                }
            }
            for batch in &written {
                let mut keys = keys(batch);
                prop_assert!(!keys.is_empty() && keys.len() <= BATCH_OPERATIONS_MAX);
                prop_assert!(keys.iter().all(|key| key.0 == keys[0].0));
                keys.sort();
                keys.dedup();
                prop_assert_eq!(keys.len(), batch.rows.len());
            }
            let of = |rows: Vec<Entity>| {
                let mut by_key = BTreeMap::<_, Vec<_>>::new();
                for row in rows {
                    let key = (row.partition_key().to_owned(), row.row_key().to_owned());
                    by_key.entry(key).or_default().push(format!("{:?}", row.get("n")));
                }
                by_key
            };
            prop_assert_eq!(of(written.into_iter().flat_map(|batch| batch.rows).collect()), of(sent));
        }
    }
}
