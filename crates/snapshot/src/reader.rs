//! Reads a snapshot: its ranges one after the other, as one ordered key space.

use std::collections::VecDeque;
use std::sync::Arc;

use bytes::Bytes;
use partita_engine::{KeyRange, PinnedRows, ReadError, Rows, Scan, ScanHint};
use partita_range::{Bounds, keys_within};

use super::SnapshotRecord;

/// An open snapshot. It cannot be deleted while the reader exists.
#[derive(Clone)]
pub struct SnapshotReader {
    record: Arc<SnapshotRecord>,
    ranges: Arc<Vec<(Bounds, Arc<dyn PinnedRows>)>>,
    /// Marks the snapshot as in use; see [`Readers`](super::readers::Readers).
    _used: Arc<()>,
}

impl SnapshotReader {
    pub(crate) fn new(
        record: SnapshotRecord,
        ranges: Vec<(Bounds, Arc<dyn PinnedRows>)>,
        used: Arc<()>,
    ) -> Self {
        Self {
            record: Arc::new(record),
            ranges: Arc::new(ranges),
            _used: used,
        }
    }

    /// The record of the snapshot.
    #[must_use]
    pub fn record(&self) -> &SnapshotRecord {
        &self.record
    }

    /// A scan of the rows from `start` (inclusive) to `end` (exclusive), in key order. Without `end` it reads to the
    /// last row. Nothing is read before the first call of [`SnapshotScan::next`]. The blocks read are not cached.
    #[must_use]
    pub fn scan(&self, start: &Bytes, end: Option<&Bytes>) -> SnapshotScan {
        let mut rest = VecDeque::new();
        for (at, (bounds, _)) in self.ranges.iter().enumerate() {
            let piece = Bounds {
                start: bounds.start.clone().max(start.clone()),
                end: match (&bounds.end, end) {
                    (Some(a), Some(b)) => Some(a.min(b).clone()),
                    (a, b) => a.as_ref().or(b).cloned(),
                },
            };
            let is_empty = piece.end.as_ref().is_some_and(|end| *end <= piece.start);
            if !is_empty {
                rest.push_back((at, keys_within(&piece)));
            }
        }
        SnapshotScan {
            reader: self.clone(),
            rest,
            current: None,
        }
    }
}

/// A scan of a snapshot in key order.
pub struct SnapshotScan {
    reader: SnapshotReader,
    /// The ranges that are not read yet: the index of each in the record, and the keys to read.
    rest: VecDeque<(usize, KeyRange)>,
    current: Option<Box<dyn Scan>>,
}

impl SnapshotScan {
    /// Returns the next rows: at most `rows_max`, ending with the row that reaches `bytes_max`. Empty at the end. Not
    /// cancel safe: after a dropped call the scan skips its rows.
    ///
    /// # Errors
    /// [`ReadError`]; the scan has ended.
    pub async fn next(&mut self, rows_max: usize, bytes_max: usize) -> Result<Rows, ReadError> {
        loop {
            if let Some(scan) = &mut self.current {
                let rows = scan.next(rows_max, bytes_max).await?;
                if !rows.is_empty() {
                    return Ok(rows);
                }
                self.current = None;
            }
            let Some((at, keys)) = self.rest.pop_front() else {
                return Ok(Rows::default());
            };
            if let Some((_, pinned)) = self.reader.ranges.get(at) {
                self.current = Some(pinned.scan(keys, ScanHint::walk()).await?);
            }
        }
    }
}
