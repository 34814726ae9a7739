//! Restoring a table from a snapshot.
//!
//! ```text
//!  1  store the record of a dropped table with a new id
//!  2  write the rows under that id: they are invisible
//!  3  in one batch, add the table's record and remove the dropped one: the whole table appears at once
//! ```
//!
//! A step is retried if the storage is busy, because a failure would waste all rows written so far. A kill leaves a
//! dropped table, whose rows the sweep removes. The sweep skips the tables that this process is restoring.

use super::name_key;
use super::record::TableRecord;
use crate::entity::Expiry;
use crate::{Error, Service, Table};
use bytes::Bytes;
use partita_engine::{Batch, Rows};
use partita_model::{
    AccountName, DateTime, KeyKind, KeyReader, TableId, TableName, TableSpace, restamped,
};
use partita_service::{CHUNK_BYTES, CHUNK_ROWS, decode_record, encode_record};
use partita_snapshot::{SnapshotReader, SnapshotScan};
use std::time::Duration;
use tokio::time::Instant;

/// How long a failing step is retried after its first failure: a read or write takes up to 10 s to fail, and a few
/// failures must not waste a copy of an hour.
const PATIENCE: Duration = Duration::from_secs(120);
/// The pause before each retry of a step.
const PAUSE: Duration = Duration::from_millis(250);

/// A table of a snapshot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SnapshotTable {
    /// Its account.
    pub account: String,
    /// The name in its original case.
    pub name: String,
    /// The creation time.
    pub created: DateTime,
}

/// The progress of a restore.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Restored {
    /// The number of copied entities.
    pub rows: u64,
    /// Bytes of the keys and stored forms of the copied entities.
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
    /// Restores a table of a snapshot as a new table `into`, with its rows, properties, types and access policies. The
    /// entities get new Timestamps and ETags: a client that reads changes by Timestamp sees them, and an ETag from
    /// before the snapshot does not match. The table appears once it is complete. Calls `note` with the progress.
    ///
    /// Cancel safe: after a cancel the sweep removes the rows.
    ///
    /// # Errors
    /// [`Error::NoSuchTable`]: the snapshot has no table of that name. [`Error::TableAlreadyExists`]: a table named
    /// `into` exists. [`Error::Busy`], [`Error::OutcomeUnknown`], [`Error::Corrupt`].
    pub async fn restore_table(
        &self,
        snapshot: &SnapshotReader,
        account: &AccountName,
        table: &TableName,
        into: &TableName,
        note: &(dyn Fn(Restored) + Sync),
    ) -> Result<Restored, Error> {
        let old = name_key(account, table);
        let mut found = snapshot.scan(&old, Some(&key_after(&old)));
        let row = found.next(1, CHUNK_BYTES).await?.into_iter().next();
        let (_, row) = row.ok_or(Error::NoSuchTable)?;
        let record: TableRecord = decode_record(&row)?;
        // Entities that had expired at the time of the snapshot are not restored, because with a new Timestamp they
        // would no longer be expired.
        let then = snapshot.record().created;
        let expiry = Expiry::new(&Table::from_row(account, &row)?, then);
        let key = name_key(account, into);
        if self.get(&key).await?.is_some() {
            return Err(Error::TableAlreadyExists);
        }
        let id = TableId(partita_rt::random::u64());
        let _restoring = Restoring::begin(self, id);
        let dropped = self.dropped_row(account, id, into.as_str());
        self.write(vec![dropped.clone()]).await?;

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
        let table = (key, encode_record(&record));
        let mut patience = Patience::default();
        while let Err(error) = self.publish(&table, &dropped).await {
            patience.bear(error).await?;
        }
        Ok(restored)
    }

    /// Replaces the dropped record by the record of the complete table.
    async fn publish(&self, table: &(Bytes, Bytes), dropped: &(Bytes, Bytes)) -> Result<(), Error> {
        let locked = self.lock(&[table.0.clone(), dropped.0.clone()]).await?;
        if locked.read(&dropped.0).await?.as_ref() != Some(&dropped.1) {
            // An earlier attempt with an unknown outcome published the table, and a client may have renamed or dropped
            // it after that.
            return Ok(());
        }
        if locked.read(&table.0).await?.is_some() {
            return Err(Error::TableAlreadyExists);
        }
        let mut batch = Batch::with_capacity(2);
        batch.put(table.0.clone(), table.1.clone());
        batch.delete(dropped.0.clone());
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
            // One Timestamp for all these rows, as in a transaction: different entities may have the same one.
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

    /// Writes rows in key order, with one commit for each range. Retries failed commits.
    async fn write(&self, rows: Vec<(Bytes, Bytes)>) -> Result<(), Error> {
        let (mut rest, mut patience) = (rows.as_slice(), Patience::default());
        while let Some((first, _)) = rest.first() {
            let route = self.route(first)?;
            let count = rest.partition_point(|(key, _)| route.range.bounds().contains(key));
            drop(route);
            let (here, later) = rest.split_at(count);
            match self.write_here(here).await {
                Ok(()) => (rest, patience) = (later, Patience::default()),
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

/// The time until which a step is retried.
#[derive(Debug, Default)]
struct Patience {
    until: Option<Instant>,
}

impl Patience {
    /// Waits after a temporary failure. Returns permanent failures, and temporary failures that last too long.
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

/// The rows of a table in a snapshot. A failed read is retried, starting after the last row that was read.
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

    /// The next rows; empty at the end.
    async fn next(&mut self) -> Result<Rows, Error> {
        let mut patience = Patience::default();
        loop {
            match self.scan.next(CHUNK_ROWS, CHUNK_BYTES).await {
                Ok(rows) => {
                    if let Some(last) = rows.last_key() {
                        self.at = key_after(last);
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

/// The source and the target of a copy of rows.
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

/// A table that is being restored: the sweep skips it.
struct Restoring<'s> {
    service: &'s Service,
    id: TableId,
}

impl<'s> Restoring<'s> {
    fn begin(service: &'s Service, id: TableId) -> Self {
        service.dropped.hold(id.0);
        Self { service, id }
    }
}

impl Drop for Restoring<'_> {
    fn drop(&mut self) {
        // Starts a round of the sweep too, in case the restore failed.
        self.service.dropped.release(self.id.0);
    }
}

/// The smallest key after `key`.
fn key_after(key: &[u8]) -> Bytes {
    let mut after = key.to_vec();
    after.push(0);
    after.into()
}

#[cfg(test)]
mod tests;
