//! Scans of the reader.

use std::sync::Arc;

use async_trait::async_trait;

use super::cursor::ReadPlan;
use super::merge::Merge;
use super::{Reader, Snapshot};
use crate::slate::within_read_deadline;
use crate::{KeyRange, ReadError, Rows, Scan, ScanHint};

/// The bytes that a scan of a large range reads from a file at a time.
const WALK_READ_BYTES: u64 = 256 << 10;

/// Scans with more expected bytes than this count as large.
const WALK_BYTES: usize = 8 << 20;

/// The rows for which a result has room from the start.
const ROWS_GUESS: usize = 1_024;

struct ReaderScan {
    /// `None` at the end of the scan.
    rows: Option<Merge>,
}

impl Reader {
    /// Starts a scan of `range` over the rows that are visible now. Reads nothing yet.
    pub(in crate::slate) fn scan(&self, range: &KeyRange, hint: ScanHint) -> Box<dyn Scan> {
        self.scan_at(self.snapshot(), range, hint)
    }

    /// Starts a scan of `range` over the rows of a snapshot. Reads nothing yet.
    pub(in crate::slate) fn scan_at(
        &self,
        snapshot: Snapshot,
        range: &KeyRange,
        hint: ScanHint,
    ) -> Box<dyn Scan> {
        if range.is_empty() {
            return Box::new(ReaderScan { rows: None });
        }
        let is_walk = hint.bytes > WALK_BYTES;
        let plan = ReadPlan {
            ahead_bytes: if is_walk { WALK_READ_BYTES } else { 0 },
            keep: hint.cache,
        };
        let Snapshot { version, seq } = snapshot;
        let rows = Merge::new(version, seq, Arc::clone(&self.store), range, plan);
        Box::new(ReaderScan { rows: Some(rows) })
    }
}

#[async_trait]
impl Scan for ReaderScan {
    async fn next(&mut self, rows_max: usize, bytes_max: usize) -> Result<Rows, ReadError> {
        let rows_max = rows_max.max(1);
        let mut rows = Rows::with_capacity(rows_max.min(ROWS_GUESS));
        let Some(mut merge) = self.rows.take() else {
            return Ok(rows);
        };
        let bytes_max = bytes_max.max(1);
        let filling = merge.fill(&mut rows, rows_max, bytes_max);
        let is_ended = within_read_deadline(filling).await?;
        if !is_ended {
            self.rows = Some(merge);
        }
        Ok(rows)
    }
}
