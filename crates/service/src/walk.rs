//! Reads all rows of a container, for background work.

use crate::{Error, Storage};
use bytes::Bytes;
use partita_cluster::Route;
use partita_engine::{Batch, KeyRange, Rows, Scan, ScanHint};

/// The maximum number of rows that background tasks and listings read at a time: few, so that requests are not delayed.
pub const CHUNK_ROWS: usize = 256;
/// The size in bytes at which a read of background tasks and listings ends.
pub const CHUNK_BYTES: usize = 1 << 20;

/// The number of rows after which a walk takes a new engine snapshot. Old snapshots would keep ranges open that a split
/// or merge has replaced.
const SNAPSHOT_ROWS: usize = 16_384;

/// Reads the rows between two keys in key order, through all their ranges. Concurrent changes may be missing.
pub struct RowWalk<'a> {
    storage: &'a Storage,
    /// The first key after the rows.
    end: Bytes,
    /// The next key to read; `None` at the end.
    at: Option<Bytes>,
    open: Option<Open>,
}

/// The scan of the range that is being read.
struct Open {
    scan: Box<dyn Scan>,
    rows: usize,
    /// Keeps the range open while it is read.
    route: Route,
}

impl<'a> RowWalk<'a> {
    /// A walk over the rows from `start` to before `end`.
    pub const fn new(storage: &'a Storage, start: Bytes, end: Bytes) -> Self {
        Self {
            storage,
            end,
            at: Some(start),
            open: None,
        }
    }

    /// The next rows; `None` at the end.
    ///
    /// # Errors
    /// [`Error::Busy`], [`Error::Corrupt`]; the next call continues.
    pub async fn next(&mut self) -> Result<Option<Rows>, Error> {
        while let Some(at) = &self.at {
            let mut open = match self.open.take() {
                Some(open) => open,
                None => snapshot(self.storage, at.clone(), &self.end).await?,
            };
            let rows = open.scan.next(CHUNK_ROWS, CHUNK_BYTES).await?;
            let Some(last) = rows.last_key() else {
                let range_end = open.route.end().filter(|end| **end < self.end);
                self.at = range_end.cloned();
                continue;
            };
            self.at = Some([last, &b"\0"[..]].concat().into());
            open.rows += rows.len();
            if open.rows < SNAPSHOT_ROWS {
                self.open = Some(open);
            }
            return Ok(Some(rows));
        }
        Ok(None)
    }
}

async fn snapshot(storage: &Storage, at: Bytes, end: &Bytes) -> Result<Open, Error> {
    let route = storage.route(&at)?;
    let end = route.end().unwrap_or(end).min(end).clone();
    let keys = KeyRange::half_open(at, end);
    let scan = route.range.scan(keys, ScanHint::walk()).await?;
    Ok(Open {
        scan,
        rows: 0,
        route,
    })
}

/// Removes the rows at `keys`, which must be in order, if `still` returns `true` for the current row. Makes one commit
/// for each range, and returns the number of removed rows. Does not wait for a range in transit, because the caller may
/// hold another lock.
///
/// # Errors
/// [`Error::Busy`], [`Error::OutcomeUnknown`], [`Error::Corrupt`], and those of `still`; rows of earlier ranges may be
/// removed.
pub async fn remove_keys<E: From<Error>>(
    storage: &Storage,
    keys: &[Bytes],
    still: impl Fn(&[u8]) -> Result<bool, E>,
) -> Result<usize, E> {
    let (mut rest, mut removed) = (keys, 0);
    while let Some(first) = rest.first() {
        let route = storage.route(first)?;
        let count = rest.partition_point(|key| route.range.bounds().contains(key));
        let (here, behind) = rest.split_at(count);
        // The lock fails if the range was split after the look-up; then the caller retries.
        let locked = storage.lock_at_once(here).await?;
        let current = locked.read_many(here).await.map_err(Error::from)?;
        let mut batch = Batch::with_capacity(count);
        for (key, row) in here.iter().zip(current) {
            if let Some(row) = row
                && still(&row)?
            {
                batch.delete(key.clone());
                removed += 1;
            }
        }
        locked.commit(batch).await.map_err(Error::from)?;
        rest = behind;
    }
    Ok(removed)
}
