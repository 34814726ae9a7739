//! Entity Group Transaction: like a single write, but with up to 100 changes of one partition.
//!
//! A transaction takes all locks in one order, reads all current rows at once, and commits one engine batch. So it is
//! atomic.

use super::Expiry;
use super::change::{Change, Changed};
use super::change_entity::{cost, put};
use crate::{BatchError, Error, Service, Table};
use bytes::Bytes;
use partita_engine::Batch;
use partita_model::limits::BATCH_OPERATIONS_MAX;
use partita_range::Locked;
use partita_service::{Admitted, Direction, write_cost};
use std::collections::HashSet;

impl Service {
    /// Executes all changes, or none. All entities must be different and in one partition.
    ///
    /// Cancel-safe: a cancel before the commit changes nothing; during the commit, the transaction still completes.
    ///
    /// # Errors
    /// [`BatchError`] with the first change that failed.
    ///
    /// # Panics
    /// With more than [`BATCH_OPERATIONS_MAX`] changes, which the request parser refuses.
    pub async fn change_entities(
        &self,
        table: &Table,
        changes: Vec<Change>,
    ) -> Result<Vec<Changed>, BatchError> {
        assert!(
            changes.len() <= BATCH_OPERATIONS_MAX,
            "the request parser limits a transaction"
        );
        let keys = checked_keys(table, &changes)?;
        let arrived = self.clock().monotonic();
        let Some(first) = keys.first() else {
            return Ok(Vec::new());
        };
        let at = |index: usize| move |error: Error| BatchError { index, error };
        let bytes = changes.iter().map(Change::bytes).sum();
        let admitted = self.admit(table, first, keys.len(), bytes).await;
        let (_transaction, mut write) = admitted.map_err(at(0))?;
        // All keys are in one range, because a split never divides a partition.
        let locked = self.lock(&keys).await.map_err(at(0))?.since(arrived);
        let (current, _alone) = self
            .read_current(&locked, &keys, bytes)
            .await
            .map_err(at(0))?;
        let now = self.timestamps().next();
        let expiry = Expiry::new(table, now);
        let mut batch = Batch::with_capacity(keys.len());
        let mut done = Vec::with_capacity(keys.len());
        for (index, ((change, key), current)) in
            changes.into_iter().zip(keys).zip(current).enumerate()
        {
            let current = expiry.alive(current);
            match current.and_then(|row| change.apply(&key, row.as_deref(), now)) {
                Ok(changed) => {
                    put(&mut batch, key, &changed);
                    done.push(changed);
                }
                Err(error) => {
                    locked.refuse(&key, self.clock());
                    return Err(at(index)(error));
                }
            }
        }
        let began = self.clock().monotonic();
        let ended = locked
            .commit_by(batch, self.clock())
            .await
            .map_err(|error| at(0)(error.into()))?;
        write.record_work(ended - began, ended);
        Ok(done)
    }
}

impl Service {
    /// Charges a transaction of `rows` and `bytes` to its targets, and waits for its admission.
    async fn admit(
        &self,
        table: &Table,
        key: &Bytes,
        rows: usize,
        bytes: usize,
    ) -> Result<(Admitted<'_>, Admitted<'_>), Error> {
        self.charge(table, key, cost(rows, bytes), Direction::In)?;
        let transaction = self.transactions.enter(key, 1).await?;
        let queue = &self.storage().admission.writes;
        let write = queue
            .enter(key, write_cost(rows, rows * key.len() + bytes))
            .await?;
        Ok((transaction, write))
    }

    /// Reads the current rows of a transaction. Small changes of large rows write many bytes, which stay in memory
    /// until they are durable. So transactions of more than [`LONG_BYTES`] run one at a time. While one waits for its
    /// turn, it drops the rows that it has read, and then reads them again.
    async fn read_current(
        &self,
        locked: &Locked,
        keys: &[Bytes],
        bytes: usize,
    ) -> Result<(Vec<Option<Bytes>>, Option<Admitted<'_>>), Error> {
        let current = locked.read_many(keys).await?;
        let rows: usize = current.iter().flatten().map(Bytes::len).sum();
        let Some(first) = keys.first().filter(|_| rows + bytes > LONG_BYTES) else {
            return Ok((current, None));
        };
        drop(current);
        let alone = self.long_transactions.enter(first, 1).await?;
        // The locks are held, so the rows have not changed.
        Ok((locked.read_many(keys).await?, Some(alone)))
    }
}

/// The bytes of changes and current rows above which a transaction is long. A request body is smaller, so only
/// transactions with large current rows are long.
const LONG_BYTES: usize = 12 << 20;

/// Checks each change, and that all entities are different and in one partition. Returns their keys.
fn checked_keys(table: &Table, changes: &[Change]) -> Result<Vec<Bytes>, BatchError> {
    let mut keys = Vec::with_capacity(changes.len());
    let mut seen = HashSet::with_capacity(changes.len());
    for (index, change) in changes.iter().enumerate() {
        let at = |error| BatchError { index, error };
        if changes
            .first()
            .is_some_and(|first| first.partition_key != change.partition_key)
        {
            return Err(at(Error::DifferentPartitions));
        }
        change.check().map_err(at)?;
        if !seen.insert(change.row_key.as_str()) {
            return Err(at(Error::DuplicateEntity));
        }
        keys.push(table.space.entity(&change.partition_key, &change.row_key));
    }
    Ok(keys)
}
