//! A writer's model of its rows, which the stored rows are compared with.
//!
//! A writer owns its keys and sends one request at a time, so the answers determine every row exactly, except for the request under
//! way when the server is killed: that one happened wholly or not at all.

use std::collections::{BTreeMap, HashSet};
use std::sync::atomic::{AtomicU64, Ordering};

use partita_load::mix;

/// The keys of an entity.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Key {
    pub(crate) partition: String,
    pub(crate) row: String,
}

impl Key {
    /// The entity's path under the account. The keys here need no escaping.
    pub(crate) fn path(&self) -> String {
        format!(
            "/{}(PartitionKey='{}',RowKey='{}')",
            super::TABLE,
            self.partition,
            self.row
        )
    }
}

/// The number of a write, unique in a run. The stored text is derived from the number, so a text identifies its write,
/// and the check finds truncated texts.
pub(crate) type WriteId = u64;

/// The id of the next write of the whole run.
static NEXT_WRITE_ID: AtomicU64 = AtomicU64::new(1);

/// Takes the id of the next write.
pub(crate) fn next_write_id() -> WriteId {
    NEXT_WRITE_ID.fetch_add(1, Ordering::Relaxed)
}

/// The text that the write with this id stores: the id, then up to 3 KB that follow from it.
pub(crate) fn payload(id: WriteId) -> String {
    let words = mix(id) % 190;
    let mut text = format!("{id:016x}");
    for word in 0..words {
        text += &format!("{:016x}", mix(id.wrapping_add(word)));
    }
    text
}

/// The id of a stored text; `None` for a text that no write made.
pub(crate) fn write_id_of(text: &str) -> Option<WriteId> {
    let id = WriteId::from_str_radix(text.get(..16)?, 16).ok()?;
    (payload(id) == text).then_some(id)
}

/// A present row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Row {
    /// The ETag in the answer; `None` without an answer.
    pub(crate) etag: Option<String>,
    /// The write that set property `A`.
    pub(crate) a: Option<WriteId>,
    /// The write that set property `B`.
    pub(crate) b: Option<WriteId>,
}

/// One change of one row, and its condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EntityChange {
    /// Insert with `A`.
    Insert,
    /// Replace by `A` alone, if the ETag matches.
    Replace,
    /// Set `B` and leave `A`, if the ETag matches.
    Merge,
    /// Insert Or Replace.
    UpsertReplace,
    /// Insert Or Merge.
    UpsertMerge,
    /// Delete, if the ETag matches.
    Delete,
}

impl EntityChange {
    /// The row after this change, or the status code if the service must refuse it. `matching` is whether the request
    /// has the row's ETag.
    ///
    /// Source: "Inserting and Updating Entities", and the recorded answers for a missing row.
    pub(crate) fn apply(
        self,
        row: Option<&Row>,
        id: WriteId,
        matching: bool,
    ) -> Result<Option<Row>, u16> {
        let (a, b) = match (self, row) {
            (Self::Insert, Some(_)) => return Err(409),
            (Self::Replace | Self::Merge | Self::Delete, None) => return Err(404),
            (Self::Replace | Self::Merge | Self::Delete, Some(_)) if !matching => return Err(412),
            (Self::Delete, Some(_)) => return Ok(None),
            (Self::Insert | Self::Replace | Self::UpsertReplace, _) => (Some(id), None),
            (Self::Merge | Self::UpsertMerge, row) => (row.and_then(|row| row.a), Some(id)),
        };
        Ok(Some(Row { etag: None, a, b }))
    }
}

/// Rows by key.
pub(crate) type Rows = BTreeMap<Key, Row>;

/// The model of one writer.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ledger {
    /// The keys it owns.
    pub(crate) keys: Vec<Key>,
    /// The acknowledged rows.
    pub(crate) rows: Rows,
    /// The rows that the request under way changes, in their state after it; `None` for a deleted row.
    pub(crate) doubt: Option<Vec<(Key, Option<Row>)>>,
    /// Every ETag acknowledged for a key.
    pub(crate) etags: BTreeMap<Key, HashSet<String>>,
}

impl Ledger {
    /// Applies the request in doubt to the acknowledged rows, with the answered ETags.
    ///
    /// # Errors
    /// When an ETag was used before for the same key.
    pub(crate) fn acknowledge(&mut self, etags: Vec<Option<String>>) -> Result<(), String> {
        for ((key, row), etag) in self.doubt.take().unwrap_or_default().into_iter().zip(etags) {
            let Some(mut row) = row else {
                self.rows.remove(&key);
                continue;
            };
            if let Some(etag) = &etag {
                let etags = self.etags.entry(key.clone()).or_default();
                if !etags.insert(etag.clone()) {
                    return Err(format!("{key:?}: the ETag {etag} was given out twice"));
                }
            }
            row.etag = etag;
            self.rows.insert(key, row);
        }
        Ok(())
    }

    /// Compares the model with the stored rows, and finds out from them whether the request in doubt was executed.
    pub(crate) fn compare(&mut self, stored: &Rows) -> Vec<String> {
        let mut faults = Vec::new();
        let doubt = self.doubt.take().unwrap_or_default();
        let (mut happened, mut missing) = (Vec::new(), Vec::new());
        for (key, row) in &doubt {
            let after = agrees(row.as_ref(), stored.get(key));
            let before = agrees(self.rows.get(key), stored.get(key));
            match (before, after) {
                (false, true) => happened.push(key.clone()),
                (true, false) => missing.push(key.clone()),
                // Both states fit, for example after the deletion of an absent row.
                (true, true) => {}
                (false, false) => faults.push(format!(
                    "{key:?}: neither before nor after the request under way: stored {:?}, before {:?}, after {row:?}",
                    stored.get(key),
                    self.rows.get(key)
                )),
            }
        }
        if let (Some(done), Some(lost)) = (happened.first(), missing.first()) {
            faults.push(format!("half a batch: {done:?} is there, {lost:?} is not"));
        }
        for key in &self.keys {
            let in_doubt = doubt.iter().any(|(other, _)| other == key);
            if !in_doubt && !agrees(self.rows.get(key), stored.get(key)) {
                let (now, before) = (stored.get(key), self.rows.get(key));
                faults.push(format!("{key:?}: acknowledged {before:?}, stored {now:?}"));
            }
        }
        self.adopt(stored);
        faults
    }

    /// Makes the stored rows the acknowledged rows.
    fn adopt(&mut self, stored: &Rows) {
        for key in &self.keys {
            match stored.get(key) {
                Some(row) => {
                    let etag = row.etag.clone().unwrap_or_default();
                    self.etags.entry(key.clone()).or_default().insert(etag);
                    self.rows.insert(key.clone(), row.clone());
                }
                None => drop(self.rows.remove(key)),
            }
        }
    }
}

/// Whether a stored row equals the expected one. If the ETag of the expected row is unknown, any ETag is right.
fn agrees(expected: Option<&Row>, stored: Option<&Row>) -> bool {
    match (expected, stored) {
        (None, None) => true,
        (Some(expected), Some(stored)) => {
            let tag_fits = expected.etag.is_none() || expected.etag == stored.etag;
            tag_fits && (expected.a, expected.b) == (stored.a, stored.b)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests;
