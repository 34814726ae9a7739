//! The rows that a group changes.

use bytes::Bytes;
use partita_engine::Batch;
use std::collections::BTreeMap;
use std::ops::Range;

/// Changed rows by key. The last change of a row counts; a row that a group both creates and deletes is not written.
#[derive(Debug, Default)]
pub(super) struct Changes {
    rows: BTreeMap<Bytes, Change>,
}

#[derive(Debug)]
enum Change {
    /// A row that does not exist before the group.
    Created(Bytes),
    Put(Bytes),
    Deleted,
}

impl Changes {
    /// Whether nothing changed.
    pub(super) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The number of changed rows.
    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    /// Writes a row. `exists` tells whether the store may have a row with this key before the group.
    pub(super) fn put(&mut self, key: Bytes, row: Bytes, exists: bool) {
        let change = match self.rows.get(&key) {
            None if !exists => Change::Created(row),
            Some(Change::Created(_)) => Change::Created(row),
            None | Some(Change::Put(_) | Change::Deleted) => Change::Put(row),
        };
        self.rows.insert(key, change);
    }

    /// Deletes a row.
    pub(super) fn delete(&mut self, key: Bytes) {
        if let Some(Change::Created(_)) = self.rows.get(&key) {
            self.rows.remove(&key);
        } else {
            self.rows.insert(key, Change::Deleted);
        }
    }

    /// The row after the changes: `None` if the group did not change it, `Some(None)` if it deleted it.
    pub(super) fn get(&self, key: &[u8]) -> Option<Option<&Bytes>> {
        Some(match self.rows.get(key)? {
            Change::Created(row) | Change::Put(row) => Some(row),
            Change::Deleted => None,
        })
    }

    /// The rows written within a range of keys, in order.
    pub(super) fn written(&self, keys: Range<Bytes>) -> impl Iterator<Item = (&Bytes, &Bytes)> {
        let changed = self.rows.range(keys);
        changed.filter_map(|(key, change)| match change {
            Change::Created(row) | Change::Put(row) => Some((key, row)),
            Change::Deleted => None,
        })
    }

    /// The batch of all changes, in key order.
    pub(super) fn into_batch(self) -> Batch {
        let mut batch = Batch::with_capacity(self.rows.len());
        for (key, change) in self.rows {
            match change {
                Change::Created(row) | Change::Put(row) => batch.put(key, row),
                Change::Deleted => batch.delete(key),
            }
        }
        batch
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(text: &'static str) -> Bytes {
        Bytes::from_static(text.as_bytes())
    }

    #[test]
    fn the_last_change_of_a_row_counts() {
        let mut changes = Changes::default();
        // Created and deleted: nothing to write.
        changes.put(key("a"), key("1"), false);
        changes.put(key("a"), key("2"), true);
        changes.delete(key("a"));
        // Deleted and written again: the store has an older row.
        changes.delete(key("b"));
        changes.put(key("b"), key("3"), false);
        changes.put(key("c"), key("4"), true);
        changes.delete(key("c"));
        assert_eq!(changes.get(b"a"), None);
        assert_eq!(changes.get(b"b"), Some(Some(&key("3"))));
        assert_eq!(changes.get(b"c"), Some(None));
        let written: Vec<_> = changes.written(key("a")..key("z")).collect();
        assert_eq!(written, [(&key("b"), &key("3"))]);
        let writes = changes.into_batch().into_writes();
        let writes: Vec<_> = writes
            .into_iter()
            .map(|write| (write.key, write.value))
            .collect();
        assert_eq!(writes, [(key("b"), Some(key("3"))), (key("c"), None)]);
    }
}
