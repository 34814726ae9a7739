//! Reading rows in order through SlateDB.

use async_trait::async_trait;
use futures::TryFutureExt;
use slatedb::config::{DurabilityLevel, ScanOptions};
use slatedb::{DbIterator, DbReadOps};

use super::{read_error, within_read_deadline};
use crate::{KeyRange, ReadError, Rows, Scan, ScanHint};

/// Read-ahead for a page: about the bytes that a page of 1,000 rows needs from each file. More would decode unused
/// blocks (measured: 1 MiB halves the pages per second).
const PAGE_READ_AHEAD_BYTES: usize = 64 << 10;

/// Read-ahead for a scan of a large range.
const WALK_READ_AHEAD_BYTES: usize = 1 << 20;

/// Scans with more expected bytes than this count as large.
const WALK_BYTES: usize = 8 << 20;

struct SlateScan {
    /// The iterator over the rows; `None` at the end of the scan.
    rows: Option<DbIterator>,
}

/// Starts a scan of `range` over the rows that are durable now.
pub(super) async fn start(
    db: &impl DbReadOps,
    range: KeyRange,
    hint: ScanHint,
) -> Result<Box<dyn Scan>, ReadError> {
    if range.is_empty() {
        return Ok(Box::new(SlateScan { rows: None }));
    }
    let walk = hint.bytes > WALK_BYTES;
    let options = ScanOptions {
        durability_filter: DurabilityLevel::Remote,
        read_ahead_bytes: if walk {
            WALK_READ_AHEAD_BYTES
        } else {
            PAGE_READ_AHEAD_BYTES
        },
        max_fetch_tasks: if walk { 2 } else { 1 },
        cache_blocks: hint.cache,
        ..ScanOptions::default()
    };
    let starting = db.scan_with_options((range.start, range.end), &options);
    let rows = within_read_deadline(starting.map_err(read_error)).await?;
    Ok(Box::new(SlateScan { rows: Some(rows) }))
}

#[async_trait]
impl Scan for SlateScan {
    async fn next(&mut self, rows_max: usize, bytes_max: usize) -> Result<Rows, ReadError> {
        let Some(mut rows) = self.rows.take() else {
            return Ok(Rows::default());
        };
        let mut page = Rows::with_capacity(rows_max.min(1_000));
        // One deadline for the whole page: a timer for each row would cost more than reading the row.
        let ended = within_read_deadline(async {
            while page.len() < rows_max.max(1) && page.bytes() < bytes_max.max(1) {
                let Some(row) = rows.next().await.map_err(read_error)? else {
                    return Ok(true);
                };
                page.push(&row.key, row.value);
            }
            Ok(false)
        })
        .await?;
        if !ended {
            self.rows = Some(rows);
        }
        Ok(page)
    }
}
