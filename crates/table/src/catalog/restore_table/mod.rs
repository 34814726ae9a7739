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
//!
//! A restore runs where the catalog is served, and fails if another server takes over the catalog: its sweep does not
//! know the restore. The rows may be on any server.

use super::name_key;
use super::record::TableRecord;
use crate::entity::Expiry;
use crate::{Error, Service, Table};
use bytes::Bytes;
use partita_engine::{Batch, Rows};
use partita_model::{
    AccountName, DateTime, KeyKind, KeyReader, TableId, TableName, TableSpace, restamped,
};
use partita_service::{Busy, CHUNK_BYTES, CHUNK_ROWS, catalog_start, decode_record, encode_record};
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
        let restoring = Restoring::begin(self, id);
        let dropped = self.dropped_row(account, id, into.as_str());
        self.write(std::slice::from_ref(&dropped)).await?;

        let from = TableSpace::new(account.as_str(), TableId(record.id));
        let to = TableSpace::new(account.as_str(), id);
        let rows = SnapshotRows::new(snapshot, &from);
        let copy = Copy { from, to, expiry };
        let restored = restoring.copy_rows(rows, &copy, note).await?;

        let record = TableRecord {
            id: id.0,
            name: into.as_str().to_owned(),
            created: self.timestamps().next().ticks(),
            ..record
        };
        let table = (key, encode_record(&record));
        let mut patience = Patience::default();
        while let Err(error) = restoring.publish(&table, &dropped).await {
            restoring.check()?;
            patience.bear(error).await?;
        }
        Ok(restored)
    }

    /// Writes rows in key order, with one commit for each range. Retries failed commits.
    async fn write(&self, rows: &[(Bytes, Bytes)]) -> Result<(), Error> {
        let (mut rest, mut patience) = (rows, Patience::default());
        while !rest.is_empty() {
            match self.storage().put_first(rest).await {
                Ok(count) => {
                    rest = rest.get(count..).unwrap_or_default();
                    patience = Patience::default();
                }
                Err(error) => patience.bear(error.into()).await?,
            }
        }
        Ok(())
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
    /// See [`partita_service::Storage::catalog_arrivals`].
    arrivals: u64,
}

impl<'s> Restoring<'s> {
    fn begin(service: &'s Service, id: TableId) -> Self {
        service.dropped.hold(id.0);
        Self {
            service,
            id,
            arrivals: service.storage().catalog_arrivals(),
        }
    }

    /// Fails if the catalog was at another server since the restore began.
    fn check(&self) -> Result<(), Error> {
        let storage = self.service.storage();
        let is_here = storage.is_here(&catalog_start());
        if storage.has_far_rows() && !(is_here && storage.catalog_arrivals() == self.arrivals) {
            return Err(Busy::in_transit("the catalog moved to another server").into());
        }
        Ok(())
    }

    /// Replaces the dropped record by the record of the complete table.
    async fn publish(&self, table: &(Bytes, Bytes), dropped: &(Bytes, Bytes)) -> Result<(), Error> {
        let locked = self
            .service
            .lock(&[table.0.clone(), dropped.0.clone()])
            .await?;
        self.check()?;
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
            let now = self.service.timestamps().next();
            let mut copied = Vec::with_capacity(rows.len());
            for (key, row) in rows {
                if !copy.expiry.has(&row)? {
                    copied.push((copy.key(&key), restamped(&row, now)?));
                }
            }
            restored.rows += copied.len() as u64;
            let bytes = copied.iter().map(|(key, row)| key.len() + row.len());
            restored.bytes += bytes.sum::<usize>() as u64;
            self.service.write(&copied).await?;
            self.check()?;
            note(restored);
        }
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
