//! Reads that both readers answer, of [`Reads::Compared`](super::Reads::Compared).
//!
//! Both read the same rows: those of one SlateDB snapshot ([`super::read::Reader::snapshot_with`]). A difference fails
//! the read. It is logged with its range and key, and counted in the metric `reader.differences`.
//!
//! SlateDB's read may lack files that were replaced meanwhile and are older than the garbage age, which Partita's reader
//! keeps. So an error of SlateDB is not a difference, and a scan is compared only until half of the garbage age.

mod counts;
mod difference;

use std::sync::Arc;
use std::time::Instant;

use async_trait::async_trait;
use bytes::Bytes;
use futures::TryFutureExt;
use slatedb::DbSnapshot;

use self::difference::{Difference, Read, UnequalRow};
use super::core::Core;
use super::database::Database;
use super::{read_error, scan, within_read_deadline};
use crate::{KeyRange, RangeId, ReadError, Rows, Scan, ScanHint};

pub(super) use self::counts::ComparisonCounts;

/// Counts a comparison, and returns an error if the answers differ.
fn conclude(
    core: &Core,
    range: RangeId,
    read: &Read<'_>,
    row: Option<&UnequalRow<'_>>,
) -> Result<(), ReadError> {
    core.context.comparisons.count(row.is_some());
    let Some(row) = row else {
        return Ok(());
    };
    let difference = Difference::new(range, read, row);
    tracing::error!("{difference}");
    Err(ReadError::Corrupt(Arc::new(difference)))
}

/// Gets a row from both readers.
pub(super) async fn get(
    core: &Core,
    database: &Database,
    key: &[u8],
) -> Result<Option<Bytes>, ReadError> {
    let Ok((snapshot, other)) = database.reader.snapshot_with(&database.db) else {
        // The database was closed a moment ago.
        return within_read_deadline(database.reader.get(key)).await;
    };
    let own = within_read_deadline(database.reader.get_at(snapshot, key)).await?;
    compare(core, (database.range, &other), key, own.as_deref()).await?;
    Ok(own)
}

/// Gets several rows from both readers.
pub(super) async fn get_many(
    core: &Core,
    database: &Database,
    keys: &[Bytes],
) -> Result<Vec<Option<Bytes>>, ReadError> {
    let Ok((snapshot, other)) = database.reader.snapshot_with(&database.db) else {
        // The database was closed a moment ago.
        return within_read_deadline(database.reader.get_many(keys)).await;
    };
    let own = within_read_deadline(database.reader.get_many_at(snapshot, keys)).await?;
    for (key, own) in keys.iter().zip(&own) {
        compare(core, (database.range, &other), key, own.as_deref()).await?;
    }
    Ok(own)
}

/// Compares the value of a key that Partita's reader returned with that in SlateDB's snapshot.
async fn compare(
    core: &Core,
    (range, other): (RangeId, &DbSnapshot),
    key: &[u8],
    own: Option<&[u8]>,
) -> Result<(), ReadError> {
    let reading = other.get_with_options(key, &core.reads);
    let Ok(slatedb) = within_read_deadline(reading.map_err(read_error)).await else {
        return Ok(());
    };
    let row = (own != slatedb.as_deref()).then_some(UnequalRow {
        key,
        own,
        slatedb: slatedb.as_deref(),
    });
    conclude(core, range, &Read::Get, row.as_ref())
}

/// Starts a scan by both readers.
pub(super) async fn scan(
    core: &Arc<Core>,
    database: &Database,
    keys: KeyRange,
    hint: ScanHint,
) -> Result<Box<dyn Scan>, ReadError> {
    let Ok((snapshot, other)) = database.reader.snapshot_with(&database.db) else {
        // The database was closed a moment ago.
        return Ok(database.reader.scan(&keys, hint));
    };
    let own = database.reader.scan_at(snapshot, &keys, hint);
    let other = scan::start(&*other, keys.clone(), hint).await.ok();
    let context = &core.context;
    Ok(Box::new(ComparedScan {
        core: Arc::clone(core),
        range: database.range,
        keys,
        own,
        other,
        compared_until: context.home.clock.monotonic() + context.settings.garbage_age / 2,
    }))
}

struct ComparedScan {
    core: Arc<Core>,
    range: RangeId,
    keys: KeyRange,
    own: Box<dyn Scan>,
    /// SlateDB's scan, after the same row as `own`. `None` when the comparison has ended.
    other: Option<Box<dyn Scan>>,
    compared_until: Instant,
}

#[async_trait]
impl Scan for ComparedScan {
    async fn next(&mut self, rows_max: usize, bytes_max: usize) -> Result<Rows, ReadError> {
        // Taken until the end: if this future is dropped, the scans are not after the same row.
        let other = self.other.take();
        let own = self.own.next(rows_max, bytes_max).await?;
        let is_compared = self.core.context.home.clock.monotonic() < self.compared_until;
        let Some(mut other) = other.filter(|_| is_compared) else {
            return Ok(own);
        };
        let is_end = own.len() < rows_max.max(1) && own.bytes() < bytes_max.max(1);
        // At the end SlateDB must not have a further row.
        let rows_wanted = own.len() + usize::from(is_end);
        let Ok(slatedb) = other.next(rows_wanted, usize::MAX).await else {
            return Ok(own);
        };
        let row = UnequalRow::first(&own, &slatedb);
        conclude(
            &self.core,
            self.range,
            &Read::Scan(&self.keys),
            row.as_ref(),
        )?;
        self.other = (!is_end).then_some(other);
        Ok(own)
    }
}
