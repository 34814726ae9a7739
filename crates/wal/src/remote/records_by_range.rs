//! The records of several logs, brought into the order of their numbers.
//!
//! A range moves between processes, so its records lie in several logs, and a log may lack those that another process
//! wrote meanwhile:
//!
//! ```text
//!  log 1   1  2  3        6  7          the range was in process 1, then in 2, then in 1 again
//!  log 2            4  5
//! ```
//!
//! A log also lacks the records that its process released. So a gap proves nothing here: it is an error if a record
//! after the flushed ones is missing, and only the manifest of the database knows which are flushed. Two records with
//! one number are an error: two processes wrote the range at the same time.

use std::collections::{BTreeMap, VecDeque};

use super::{Life, fault};
use crate::{OpenWalError, RangeId, Record};

/// The records of some logs, by their ranges.
#[derive(Debug, Default)]
pub(super) struct RecordsByRange(BTreeMap<RangeId, Vec<(Life, Record)>>);

impl RecordsByRange {
    /// Adds records of a log.
    pub(super) fn add(&mut self, life: Life, records: Vec<Record>) {
        for record in records {
            let of_range = self.0.entry(record.header.range).or_default();
            of_range.push((life, record));
        }
    }

    /// A copy of the records of a range. They share their memory.
    pub(super) fn of(&self, range: RangeId) -> Vec<(Life, Record)> {
        self.0.get(&range).cloned().unwrap_or_default()
    }

    /// For each range, its newest records without a gap before them. Records before a gap were released, or a record
    /// that is needed is missing. In both cases only the records after the gap are of use, because the caller checks
    /// that the first of them follows the flushed ones.
    ///
    /// # Errors
    /// Two records have one number.
    pub(super) fn into_newest_runs(
        self,
    ) -> Result<BTreeMap<RangeId, VecDeque<Record>>, OpenWalError> {
        let mut runs = BTreeMap::new();
        for (range, records) in self.0 {
            let mut run: VecDeque<Record> = VecDeque::new();
            for record in in_order(records)? {
                let last = run.back().map(|last| last.header.wal_id.0);
                if last.is_some_and(|last| last + 1 < record.header.wal_id.0) {
                    run.clear();
                }
                run.push_back(record);
            }
            runs.insert(range, run);
        }
        Ok(runs)
    }
}

/// The records of one range in the order of their numbers.
///
/// # Errors
/// Two records have one number.
pub(super) fn in_order(mut records: Vec<(Life, Record)>) -> Result<VecDeque<Record>, OpenWalError> {
    records.sort_by_key(|(_, record)| record.header.wal_id);
    let mut ordered: VecDeque<Record> = VecDeque::with_capacity(records.len());
    for (life, record) in records {
        let last = ordered.back().map(|last| last.header.wal_id);
        if last == Some(record.header.wal_id) {
            return Err(fault::damaged(
                &life.folder(),
                "it has a record that another log has too: two servers wrote one range at the same time",
            ));
        }
        ordered.push_back(record);
    }
    Ok(ordered)
}
