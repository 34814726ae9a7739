//! Bringing a table back from a snapshot.
//!
//! ```text
//!  record "being dropped" for a new id ─▶ rows under that id ─▶ one batch: the table's record, and no longer being dropped
//!  nobody sees them                                              all of it is there at once
//! ```
//!
//! What is busy on the way is tried again: all that was written would go if the last step failed. A kill on the way leaves a table that is being dropped, whose rows the sweep removes. The sweep leaves it alone while this
//! process is at it.

use super::record::{DroppedRecord, TableRecord};
use super::{dropped_key, name_key};
use crate::entity::Expiry;
use crate::{Error, Service, Table};
use bytes::Bytes;
use partita_engine::Batch;
use partita_model::{
    AccountName, DateTime, KeyKind, KeyReader, TableId, TableName, TableSpace, restamped,
};
use partita_service::{decode_record, encode_record};
use partita_snapshot::{SnapshotReader, SnapshotScan};
use std::time::Duration;
use tokio::time::Instant;

/// Rows written by one commit.
const CHUNK_ROWS: usize = 256;
const CHUNK_BYTES: usize = 1 << 20;
/// For how long, from its first failure on, and with what pause, something is tried again that was not done. A read or write takes
/// up to 10 s to fail, and what was copied in an hour is not thrown away for a few of them.
const PATIENCE: Duration = Duration::from_secs(120);
const PAUSE: Duration = Duration::from_millis(250);

/// A table of a snapshot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SnapshotTable {
    /// Its account.
    pub account: String,
    /// Its name in the case it was created with.
    pub name: String,
    /// When it was created.
    pub created: DateTime,
}

/// What was brought back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Restored {
    /// Entities.
    pub rows: u64,
    /// Bytes of their keys and stored forms.
    pub bytes: u64,
}

/// The tables of a snapshot, by account and name.
///
/// # Errors
/// [`Error::Busy`], [`Error::Corrupt`].
pub async fn snapshot_tables(snapshot: &SnapshotReader) -> Result<Vec<SnapshotTable>, Error> {
    let start = KeyKind::TABLE.start();
    let end = KeyKind::TABLE.end();
    let mut scan = snapshot.scan(&start, Some(&end));
    let mut tables = Vec::new();
    loop {
        let rows = scan.next(CHUNK_ROWS, CHUNK_BYTES).await?;
        if rows.is_empty() {
            return Ok(tables);
        }
        for (key, row) in rows {
            let account = KeyReader::of_kind(&key, KeyKind::TABLE)?
                .text()?
                .into_owned();
            let record: TableRecord = decode_record(&row)?;
            tables.push(SnapshotTable {
                account,
                name: record.name,
                created: DateTime::from_ticks(record.created).unwrap_or(DateTime::MIN),
            });
        }
    }
}

impl Service {
    /// Brings a table of a snapshot back as a new table `into`, with the rows, properties, types and access policies it had. The
    /// entities get new Timestamps and ETags: to a reader that follows Timestamps they are new, and an ETag of before the
    /// snapshot is not taken for one of today. The table is there once all of it is. `note` is told what was written so far.
    ///
    /// Cancel safe: dropped early, what was written is removed in the background.
    ///
    /// # Errors
    /// [`Error::NoSuchTable`]: the snapshot has no table of that name. [`Error::TableAlreadyExists`]: there is one named `into`.
    /// [`Error::Busy`], [`Error::OutcomeUnknown`], [`Error::Corrupt`].
    pub async fn restore_table(
        &self,
        snapshot: &SnapshotReader,
        account: &AccountName,
        table: &TableName,
        into: &TableName,
        note: &(dyn Fn(Restored) + Sync),
    ) -> Result<Restored, Error> {
        let old = name_key(account, table);
        let mut found = snapshot.scan(&old, Some(&behind(&old)));
        let row = found.next(1, CHUNK_BYTES).await?.pop();
        let (_, row) = row.ok_or(Error::NoSuchTable)?;
        let record: TableRecord = decode_record(&row)?;
        // What had expired then stays away: with a new Timestamp it would live again.
        let then = snapshot.record().created;
        let expiry = Expiry::new(&Table::from_row(account, &row)?, then);
        let key = name_key(account, into);
        if self.get(&key).await?.is_some() {
            return Err(Error::TableAlreadyExists);
        }
        let id = TableId(partita_rt::random::u64());
        let dropped = dropped_key(account, id);
        let _restoring = Restoring::begin(self, id);
        let being_dropped = encode_record(&DroppedRecord {
            name: into.as_str().to_owned(),
            dropped: self.timestamps().next().ticks(),
        });
        self.write(vec![(dropped.clone(), being_dropped.clone())])
            .await?;

        let from = TableSpace::new(account.as_str(), TableId(record.id));
        let to = TableSpace::new(account.as_str(), id);
        let rows = SnapshotRows::new(snapshot, &from);
        let copy = Copy { from, to, expiry };
        let restored = self.copy_rows(rows, &copy, note).await?;

        let record = TableRecord {
            id: id.0,
            name: into.as_str().to_owned(),
            created: self.timestamps().next().ticks(),
            ..record
        };
        let shown = Shown {
            key,
            row: encode_record(&record),
            dropped,
            being_dropped,
        };
        self.show(&shown).await?;
        Ok(restored)
    }

    /// Lets the table be seen, whose rows are all there.
    async fn show(&self, shown: &Shown) -> Result<(), Error> {
        let mut patience = Patience::default();
        loop {
            match self.try_to_show(shown).await {
                Ok(()) => return Ok(()),
                Err(error) => patience.bear(error).await?,
            }
        }
    }

    async fn try_to_show(&self, shown: &Shown) -> Result<(), Error> {
        let keys = [shown.key.clone(), shown.dropped.clone()];
        let locked = self.lock(&keys).await?;
        if locked.read(&shown.dropped).await?.as_ref() != Some(&shown.being_dropped) {
            // An attempt whose outcome was unknown has shown it, and whoever saw it may have renamed or dropped it by now.
            return Ok(());
        }
        if locked.read(&shown.key).await?.is_some() {
            return Err(Error::TableAlreadyExists);
        }
        let mut batch = Batch::with_capacity(2);
        batch.put(shown.key.clone(), shown.row.clone());
        batch.delete(shown.dropped.clone());
        Ok(locked.commit(batch).await?)
    }

    async fn copy_rows(
        &self,
        mut rows: SnapshotRows<'_>,
        copy: &Copy,
        note: &(dyn Fn(Restored) + Sync),
    ) -> Result<Restored, Error> {
        let mut restored = Restored::default();
        loop {
            let rows = rows.next().await?;
            if rows.is_empty() {
                return Ok(restored);
            }
            // One for all, as in a transaction: they are different entities.
            let now = self.timestamps().next();
            let mut copied = Vec::with_capacity(rows.len());
            for (key, row) in rows {
                if !copy.expiry.has(&row)? {
                    copied.push((copy.key(&key), restamped(&row, now)?));
                }
            }
            restored.rows += copied.len() as u64;
            let bytes = copied.iter().map(|(key, row)| key.len() + row.len());
            restored.bytes += bytes.sum::<usize>() as u64;
            self.write(copied).await?;
            note(restored);
        }
    }

    /// Writes rows that nobody else writes, in key order, those of each range by one commit. Tries again what was not done, or
    /// may not have been.
    async fn write(&self, rows: Vec<(Bytes, Bytes)>) -> Result<(), Error> {
        let (mut rest, mut patience) = (rows.as_slice(), Patience::default());
        while let Some((first, _)) = rest.first() {
            let route = self.route(first);
            let count = rest.partition_point(|(key, _)| route.range.bounds().contains(key));
            drop(route);
            let (here, behind) = rest.split_at(count);
            match self.write_here(here).await {
                Ok(()) => (rest, patience) = (behind, Patience::default()),
                Err(error) => patience.bear(error).await?,
            }
        }
        Ok(())
    }

    async fn write_here(&self, rows: &[(Bytes, Bytes)]) -> Result<(), Error> {
        let keys: Vec<Bytes> = rows.iter().map(|(key, _)| key.clone()).collect();
        let locked = self.lock(&keys).await?;
        let mut batch = Batch::with_capacity(rows.len());
        for (key, row) in rows {
            batch.put(key.clone(), row.clone());
        }
        Ok(locked.commit(batch).await?)
    }
}

/// What makes a table seen: its record, in place of that of its being dropped.
struct Shown {
    key: Bytes,
    row: Bytes,
    dropped: Bytes,
    being_dropped: Bytes,
}

/// How long something is tried again.
#[derive(Debug, Default)]
struct Patience {
    until: Option<Instant>,
}

impl Patience {
    /// Waits a little after a failure that may be over then; hands on any other, and one that lasts too long.
    async fn bear(&mut self, error: Error) -> Result<(), Error> {
        let now = Instant::now();
        let until = *self.until.get_or_insert(now + PATIENCE);
        if !matches!(error, Error::Busy(_) | Error::OutcomeUnknown) || now >= until {
            return Err(error);
        }
        tokio::time::sleep(PAUSE).await;
        Ok(())
    }
}

/// The rows of a table in a snapshot. A read that was not answered is tried again behind the last row.
struct SnapshotRows<'s> {
    snapshot: &'s SnapshotReader,
    scan: SnapshotScan,
    at: Bytes,
    end: Bytes,
}

impl<'s> SnapshotRows<'s> {
    fn new(snapshot: &'s SnapshotReader, table: &TableSpace) -> Self {
        let (at, end) = (table.prefix().clone(), table.end());
        Self {
            snapshot,
            scan: snapshot.scan(&at, Some(&end)),
            at,
            end,
        }
    }

    /// Some rows; none at the end.
    async fn next(&mut self) -> Result<Vec<(Bytes, Bytes)>, Error> {
        let mut patience = Patience::default();
        loop {
            match self.scan.next(CHUNK_ROWS, CHUNK_BYTES).await {
                Ok(rows) => {
                    if let Some((last, _)) = rows.last() {
                        self.at = behind(last);
                    }
                    return Ok(rows);
                }
                Err(error) => {
                    patience.bear(error.into()).await?;
                    self.scan = self.snapshot.scan(&self.at, Some(&self.end));
                }
            }
        }
    }
}

/// Which rows are copied, and where.
struct Copy {
    from: TableSpace,
    to: TableSpace,
    expiry: Expiry,
}

impl Copy {
    /// The key in the new table.
    fn key(&self, key: &Bytes) -> Bytes {
        let rest = key.get(self.from.prefix().len()..).unwrap_or_default();
        [self.to.prefix().as_ref(), rest].concat().into()
    }
}

/// A table that is being brought back: the sweep leaves it alone.
struct Restoring<'s> {
    service: &'s Service,
    id: TableId,
}

impl<'s> Restoring<'s> {
    fn begin(service: &'s Service, id: TableId) -> Self {
        service.restoring().lock().insert(id);
        Self { service, id }
    }
}

impl Drop for Restoring<'_> {
    fn drop(&mut self) {
        self.service.restoring().lock().remove(&self.id);
        // There is nothing to sweep unless it failed.
        self.service.table_deleted().notify_one();
    }
}

/// The least key behind another.
fn behind(key: &Bytes) -> Bytes {
    let mut behind = key.to_vec();
    behind.push(0);
    behind.into()
}

#[cfg(test)]
mod tests;
