//! Reads all rows of a container or of a part of the catalog, here and on other servers.

use crate::{Error, Storage};
use bytes::Bytes;
use partita_cluster::Route;
use partita_engine::{KeyRange, Rows, Scan, ScanHint};

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
    hint: ScanHint,
    open: Option<Open>,
}

/// The scan of the range that is being read.
struct Open {
    scan: Box<dyn Scan>,
    rows: usize,
    /// Keeps the range open while it is read.
    route: Route,
}

impl Open {
    async fn new(keys: KeyRange, route: Route, hint: ScanHint) -> Result<Self, Error> {
        let scan = route.range.scan(keys, hint).await?;
        Ok(Self {
            scan,
            rows: 0,
            route,
        })
    }
}

impl<'a> RowWalk<'a> {
    /// A walk over the rows from `start` to before `end`.
    pub fn new(storage: &'a Storage, start: Bytes, end: Bytes) -> Self {
        Self {
            storage,
            end,
            at: Some(start),
            hint: ScanHint::walk(),
            open: None,
        }
    }

    /// Reads with this hint, for a request that needs few rows.
    #[must_use]
    pub const fn with_hint(mut self, hint: ScanHint) -> Self {
        self.hint = hint;
        self
    }

    /// The next rows; `None` at the end.
    ///
    /// # Errors
    /// [`Error::Busy`], [`Error::Corrupt`]; the next call continues.
    pub async fn next(&mut self) -> Result<Option<Rows>, Error> {
        while let Some(at) = self.at.clone().filter(|at| *at < self.end) {
            let rows = match self.open.take() {
                Some(open) => self.read_here(open).await?,
                None => match self.storage.map.route(&at) {
                    Ok(route) => {
                        let end = route.end().unwrap_or(&self.end).min(&self.end);
                        let keys = KeyRange::half_open(at, end.clone());
                        let open = Open::new(keys, route, self.hint).await?;
                        self.read_here(open).await?
                    }
                    Err(not_here) => {
                        let far = self.storage.far_rows(not_here)?;
                        let keys = at..self.end.clone();
                        let page = far.scan(keys, CHUNK_ROWS, CHUNK_BYTES).await?;
                        self.at = page.next;
                        page.rows
                    }
                },
            };
            if !rows.is_empty() {
                return Ok(Some(rows));
            }
        }
        Ok(None)
    }

    /// Reads rows of the open range; none at its end.
    async fn read_here(&mut self, mut open: Open) -> Result<Rows, Error> {
        let rows = open.scan.next(CHUNK_ROWS, CHUNK_BYTES).await?;
        let Some(last) = rows.last_key() else {
            self.at = open.route.end().cloned();
            return Ok(rows);
        };
        self.at = Some(key_after(last));
        open.rows += rows.len();
        if open.rows < SNAPSHOT_ROWS {
            self.open = Some(open);
        }
        Ok(rows)
    }
}

/// The smallest key after `key`.
pub(crate) fn key_after(key: &[u8]) -> Bytes {
    [key, &b"\0"[..]].concat().into()
}
