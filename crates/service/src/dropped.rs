//! Dropped containers, such as tables, and the removal of their rows in the background.
//!
//! To drop a container, a service replaces its record in the catalog by a record of this module, in one small write.
//! The *sweep* removes the rows later.
//!
//! A write that looked up its container just before the deletion may commit after it. The row is invisible, because the
//! catalog no longer has the container's id, but it takes space. So the sweep keeps the record of a dropped container,
//! and looks for rows again, until every request from before the deletion has ended.

use crate::remove::delete_keys;
use crate::walk::{CHUNK_BYTES, CHUNK_ROWS, RowWalk};
use crate::{CatalogHome, Error, Storage, decode_record, encode_record};
use bytes::Bytes;
use parking_lot::Mutex;
use partita_cluster::DisplayKey;
use partita_model::{AccountName, DateTime, KeyKind, KeyReader, KeyWriter};
use partita_rt::Shutdown;
use serde::{Deserialize, Serialize};
use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};
use tokio::sync::Notify;

/// The pause after a failed round, and between two checks for late writes.
const PAUSE: Duration = Duration::from_secs(10);

/// The record of a dropped container.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct DroppedRecord {
    /// The former name, for logs.
    name: String,
    /// The deletion time in ticks.
    dropped: u64,
}

/// The dropped containers of one service.
#[derive(Debug)]
pub struct Dropped {
    /// What a container is called in logs, such as `table`.
    noun: &'static str,
    /// The kind of the records: account and container id.
    records: KeyKind,
    /// The kind of the rows, whose keys begin with account and container id.
    rows: KeyKind,
    /// How long after a deletion an earlier write can still commit. Longer than any request.
    grace: Duration,
    /// Notified when a container was dropped here.
    added: Notify,
    /// The ids of containers that are being restored: their rows are kept.
    restoring: Mutex<HashSet<u64>>,
    /// When the sweep first saw each container.
    since: Mutex<HashMap<u64, Instant>>,
}

impl Dropped {
    /// The dropped containers with these kinds of keys. An earlier write can still commit for `grace` after the
    /// deletion.
    pub fn new(noun: &'static str, records: KeyKind, rows: KeyKind, grace: Duration) -> Self {
        Self {
            noun,
            records,
            rows,
            grace,
            added: Notify::new(),
            restoring: Mutex::default(),
            since: Mutex::default(),
        }
    }

    /// The key of the record of a container.
    pub fn key(&self, account: &AccountName, id: u64) -> Bytes {
        let account = account.as_str();
        KeyWriter::new(self.records, account.len() + 9)
            .text(account)
            .id(id)
            .finish()
    }

    /// The key and the record of a newly dropped container. After the write, call [`Self::notify`].
    pub fn row(&self, account: &AccountName, id: u64, name: &str, now: DateTime) -> (Bytes, Bytes) {
        let record = DroppedRecord {
            name: name.to_owned(),
            dropped: now.ticks(),
        };
        (self.key(account, id), encode_record(&record))
    }

    /// Starts a round of the sweep.
    pub fn notify(&self) {
        self.added.notify_one();
    }

    /// Keeps the rows of a dropped container, because they are being restored.
    pub fn hold(&self, id: u64) {
        self.restoring.lock().insert(id);
    }

    /// Ends [`Self::hold`], and starts a round.
    pub fn release(&self, id: u64) {
        self.restoring.lock().remove(&id);
        self.notify();
    }

    /// Removes rows of dropped containers until shutdown.
    ///
    /// Works only while this process serves the catalog.
    pub async fn sweep(&self, storage: &Storage, shutdown: Shutdown) {
        let mut home = CatalogHome::new(storage);
        loop {
            tokio::select! {
                () = shutdown.requested() => return,
                () = home.served() => {}
            }
            let left = match self.sweep_once(storage, &shutdown).await {
                Ok(left) => left,
                Err(error) => {
                    let noun = self.noun;
                    tracing::warn!(%error, "failed to remove the rows of each dropped {noun}; will retry");
                    true
                }
            };
            let pause = async {
                if left {
                    tokio::select! {
                        () = tokio::time::sleep(PAUSE) => {}
                        () = self.added.notified() => {}
                    }
                } else {
                    self.added.notified().await;
                }
            };
            tokio::select! {
                () = shutdown.requested() => return,
                () = home.moved() => {}
                () = pause => {}
            }
        }
    }

    /// One round over all dropped containers. Returns whether another round is needed. A failed container does not
    /// delay others.
    ///
    /// # Errors
    /// [`Error::Busy`], [`Error::Corrupt`]: the records cannot be read.
    pub async fn sweep_once(&self, storage: &Storage, shutdown: &Shutdown) -> Result<bool, Error> {
        let mut left = false;
        let mut at = self.records.start();
        loop {
            // Read here only: a table that another server restores is not dropped, but only that server knows it. One
            // chunk at a time, because removing rows can take long, and a scan would keep the range open after a split
            // or merge has replaced it.
            let page = storage.serve_scan(at..self.records.end(), CHUNK_ROWS, CHUNK_BYTES);
            let page = page.await?;
            for (key, row) in page.rows {
                if shutdown.is_requested() {
                    return Ok(true);
                }
                match self.sweep_container(storage, shutdown, &key, &row).await {
                    Ok(more) => left |= more,
                    Err(error) => {
                        let (noun, key) = (self.noun, DisplayKey(&key));
                        tracing::warn!(%key, %error, "failed to remove the rows of a dropped {noun}; will retry");
                        left = true;
                    }
                }
            }
            let Some(next) = page.next.filter(|next| *next < self.records.end()) else {
                return Ok(left);
            };
            at = next;
        }
    }

    /// Removes the rows of a container. Returns whether it needs another round.
    async fn sweep_container(
        &self,
        storage: &Storage,
        shutdown: &Shutdown,
        key: &Bytes,
        row: &[u8],
    ) -> Result<bool, Error> {
        let record: DroppedRecord = decode_record(row)?;
        let mut fields = KeyReader::of_kind(key, self.records)?;
        let account = fields.text()?;
        let id = fields.id()?;
        // Checked again, because a restore may have completed the container, which is then no longer dropped.
        if self.restoring.lock().contains(&id) || storage.get(key).await?.is_none() {
            return Ok(true);
        }
        // Before the rows are removed, so that this round finds all rows of the grace period.
        let is_over = self.is_grace_over(storage, id);
        let prefix = KeyWriter::new(self.rows, account.len() + 9).text(&account);
        let prefix = prefix.id(id).finish();
        if !remove_rows(storage, prefix, shutdown).await? || !is_over {
            return Ok(true);
        }
        delete_keys(storage, std::slice::from_ref(key)).await?;
        self.since.lock().remove(&id);
        let (noun, name) = (self.noun, record.name);
        tracing::info!(name, "removed the rows of a dropped {noun}");
        Ok(false)
    }

    /// Whether the requests from before the deletion have ended. Measured with monotonic time from the first round that
    /// saw the container: the wall clock can be set, and no request is older than this process.
    fn is_grace_over(&self, storage: &Storage, id: u64) -> bool {
        let now = storage.clock.monotonic();
        let since = *self.since.lock().entry(id).or_insert(now);
        now.saturating_duration_since(since) >= self.grace
    }
}

/// Removes all rows with a prefix until the end or shutdown. Returns whether it reached the end.
async fn remove_rows(storage: &Storage, prefix: Bytes, shutdown: &Shutdown) -> Result<bool, Error> {
    // No field of a key begins with this byte.
    let end = [&prefix, &b"\xFF"[..]].concat().into();
    let mut walk = RowWalk::new(storage, prefix, end);
    while let Some(rows) = walk.next().await? {
        if shutdown.is_requested() {
            return Ok(false);
        }
        let keys: Vec<_> = rows.into_iter().map(|(key, _)| key).collect();
        delete_keys(storage, &keys).await?;
    }
    Ok(true)
}
