//! What a writer knows of its rows: the plain model that the server is compared with.
//!
//! A writer owns its keys and sends one request at a time, so what it was answered fixes every row exactly, but for the
//! one request under way when the server dies: that one happened wholly or not at all.

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

/// A write's number, unique in a run. The text it writes is made from it, so a value tells who wrote it and whether it
/// is whole.
pub(crate) type Stamp = u64;

/// The stamp of the next write of the whole run.
static NEXT_STAMP: AtomicU64 = AtomicU64::new(1);

/// Takes the stamp of the next write.
pub(crate) fn next_stamp() -> Stamp {
    NEXT_STAMP.fetch_add(1, Ordering::Relaxed)
}

/// The text that the write with this stamp stores: the stamp, then up to 3 KB that follow from it.
pub(crate) fn payload(stamp: Stamp) -> String {
    let words = mix(stamp) % 190;
    let mut text = format!("{stamp:016x}");
    for word in 0..words {
        text += &format!("{:016x}", mix(stamp.wrapping_add(word)));
    }
    text
}

/// The stamp of a stored text; `None` for a text that no write made.
pub(crate) fn stamp_of(text: &str) -> Option<Stamp> {
    let stamp = Stamp::from_str_radix(text.get(..16)?, 16).ok()?;
    (payload(stamp) == text).then_some(stamp)
}

/// A present row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Row {
    /// The tag the server answered; `None` when the answer never came.
    pub(crate) etag: Option<String>,
    /// Who wrote property `A`.
    pub(crate) a: Option<Stamp>,
    /// Who wrote property `B`.
    pub(crate) b: Option<Stamp>,
}

/// One change of one row, with what it needs to be accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// Insert with `A`.
    Insert,
    /// Replace by `A` alone, if the tag matches.
    Replace,
    /// Set `B` and leave `A`, if the tag matches.
    Merge,
    /// Insert Or Replace.
    UpsertReplace,
    /// Insert Or Merge.
    UpsertMerge,
    /// Delete, if the tag matches.
    Delete,
}

impl Change {
    /// The row after this change, or the status of its refusal. `matching` says whether the right tag is sent.
    ///
    /// Source: "Inserting and Updating Entities", and the recorded answers for a missing row.
    pub(crate) fn apply(
        self,
        row: Option<&Row>,
        stamp: Stamp,
        matching: bool,
    ) -> Result<Option<Row>, u16> {
        let replaced = Some(Row {
            etag: None,
            a: Some(stamp),
            b: None,
        });
        let merged = |row: Option<&Row>| {
            Some(Row {
                etag: None,
                a: row.and_then(|row| row.a),
                b: Some(stamp),
            })
        };
        match (self, row) {
            (Self::Insert, Some(_)) => Err(409),
            (Self::Insert, None) | (Self::UpsertReplace, _) => Ok(replaced),
            (Self::UpsertMerge, row) => Ok(merged(row)),
            (Self::Replace | Self::Merge | Self::Delete, None) => Err(404),
            (Self::Replace | Self::Merge | Self::Delete, Some(_)) if !matching => Err(412),
            (Self::Replace, Some(_)) => Ok(replaced),
            (Self::Merge, row) => Ok(merged(row)),
            (Self::Delete, Some(_)) => Ok(None),
        }
    }
}

/// Rows by key, those that are there.
pub(crate) type Rows = BTreeMap<Key, Row>;

/// One writer's knowledge.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ledger {
    /// The keys it owns.
    pub(crate) keys: Vec<Key>,
    /// What was acknowledged.
    pub(crate) rows: Rows,
    /// The rows that the request under way would leave, had it happened: `None` for a deleted one.
    pub(crate) doubt: Option<Vec<(Key, Option<Row>)>>,
    /// Every tag acknowledged for a key.
    pub(crate) etags: BTreeMap<Key, HashSet<String>>,
}

impl Ledger {
    /// Takes what was acknowledged: the rows after the request in doubt, with the tags answered.
    ///
    /// # Errors
    /// When a tag was used before for the same key.
    pub(crate) fn acknowledge(&mut self, etags: Vec<Option<String>>) -> Result<(), String> {
        for ((key, row), etag) in self.doubt.take().unwrap_or_default().into_iter().zip(etags) {
            let Some(mut row) = row else {
                self.rows.remove(&key);
                continue;
            };
            if let Some(etag) = &etag
                && !self
                    .etags
                    .entry(key.clone())
                    .or_default()
                    .insert(etag.clone())
            {
                return Err(format!("{key:?}: the tag {etag} was given out twice"));
            }
            row.etag = etag;
            self.rows.insert(key, row);
        }
        Ok(())
    }

    /// Compares with what is stored, and settles the doubt by it.
    pub(crate) fn settle(&mut self, stored: &Rows) -> Vec<String> {
        let mut faults = Vec::new();
        let doubt = self.doubt.take().unwrap_or_default();
        let (mut happened, mut missing) = (Vec::new(), Vec::new());
        for (key, row) in &doubt {
            let after = agrees(row.as_ref(), stored.get(key));
            let before = agrees(self.rows.get(key), stored.get(key));
            match (before, after) {
                (false, true) => happened.push(key.clone()),
                (true, false) => missing.push(key.clone()),
                // Both fit: deleting what is not there, for one.
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

    /// Takes the stored rows as the state to go on from.
    fn adopt(&mut self, stored: &Rows) {
        for key in &self.keys {
            match stored.get(key) {
                Some(row) => {
                    let etag = row.etag.clone().unwrap_or_default();
                    self.etags.entry(key.clone()).or_default().insert(etag);
                    self.rows.insert(key.clone(), row.clone());
                }
                None => {
                    self.rows.remove(key);
                }
            }
        }
    }
}

/// Whether a stored row is the expected one; an expected tag that never arrived agrees with any.
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
