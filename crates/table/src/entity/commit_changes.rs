//! Insert, Update, Merge, Delete Entity and Entity Group Transaction: one path, for one change or many.
//!
//! Check the changes → pay the targets, wait for a turn → lock their entities → read them → apply each change → one engine
//! batch. What is refused on the way has changed nothing; what is committed is durable, all of it, when this returns.

use super::Expiry;
use super::change::{Change, Changed};
use crate::admission::{Admitted, write_cost};
use crate::targets::{Cost, Way};
use crate::{BatchError, Error, Service, Table};
use bytes::Bytes;
use partita_engine::Batch;
use partita_model::limits::BATCH_OPERATIONS_MAX;
use partita_range::Locked;
use partita_rt::{Bug, is_planted};
use std::collections::HashSet;

impl Service {
    /// Makes one change.
    ///
    /// Cancel-safe: dropped early nothing happens; once it writes, it is done.
    ///
    /// # Errors
    /// Those of the change's kind: [`Error::EntityAlreadyExists`], [`Error::EntityNotFound`], [`Error::ConditionNotMet`], an
    /// invalid request ([`Error::is_invalid_request`]), [`Error::Busy`], [`Error::OutcomeUnknown`].
    pub async fn change_entity(&self, table: &Table, change: Change) -> Result<Changed, Error> {
        change.check()?;
        let arrived = self.clock().monotonic();
        let key = table.space.entity(&change.partition_key, &change.row_key);
        let bytes = change.bytes();
        self.pay(table, &key, Way::In, || cost(1, bytes))?;
        let turnstile = &self.admission().writes;
        let mut admitted = turnstile
            .enter(&key, write_cost(1, key.len() + bytes))
            .await?;
        let too_early = match is_planted(Bug::EtagOutsideLock) {
            true => Some(self.get(&key).await?),
            false => None,
        };
        let locked = self.lock(std::slice::from_ref(&key)).await?;
        let locked = locked.since(arrived);
        let current = match too_early {
            Some(row) => row,
            None => locked.read(&key).await?,
        };
        let now = self.stamps().next();
        let current = Expiry::new(table, now).alive(current);
        let changed = match current.and_then(|row| change.apply(&key, row.as_deref(), now)) {
            Ok(changed) => changed,
            Err(error) => {
                locked.refuse(&key, self.clock());
                return Err(error);
            }
        };
        let mut batch = Batch::with_capacity(1);
        put(&mut batch, key, &changed);
        let began = self.clock().monotonic();
        let ended = locked.commit_by(batch, self.clock()).await?;
        admitted.worked(ended - began, ended);
        Ok(changed)
    }

    /// Makes all the changes, or none: an entity group transaction. They are of one partition, and name each entity once.
    ///
    /// Cancel-safe: dropped early nothing happens; once it writes, it is done.
    ///
    /// # Errors
    /// [`BatchError`] with the first change at fault.
    ///
    /// # Panics
    /// When there are more than [`BATCH_OPERATIONS_MAX`] changes: the reader of the request sees to that.
    pub async fn change_entities(
        &self,
        table: &Table,
        changes: Vec<Change>,
    ) -> Result<Vec<Changed>, BatchError> {
        assert!(
            changes.len() <= BATCH_OPERATIONS_MAX,
            "the reader bounds a transaction"
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
        // One partition lies in one range.
        let locked = self.lock(&keys).await.map_err(at(0))?.since(arrived);
        let (current, _alone) = self
            .read_current(&locked, &keys, bytes)
            .await
            .map_err(at(0))?;
        let now = self.stamps().next();
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
        write.worked(ended - began, ended);
        Ok(done)
    }
}

impl Service {
    /// Lets a transaction of so many rows and bytes in: it has paid its targets, and has its turn.
    async fn admit(
        &self,
        table: &Table,
        key: &Bytes,
        rows: usize,
        bytes: usize,
    ) -> Result<(Admitted<'_>, Admitted<'_>), Error> {
        self.pay(table, key, Way::In, || cost(rows, bytes))?;
        let transaction = self.admission().transactions.enter(key, 1).await?;
        let turnstile = &self.admission().writes;
        let write = turnstile
            .enter(key, write_cost(rows, rows * key.len() + bytes))
            .await?;
        Ok((transaction, write))
    }

    /// The current rows of a transaction whose changes have so many bytes. Where the rows are large, what small changes write is
    /// large too, and in memory until it is durable: of those, one goes on at a time, and the others wait without their rows.
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
        let alone = self.admission().long_transactions.enter(first, 1).await?;
        // Under its locks nothing has changed.
        Ok((locked.read_many(keys).await?, Some(alone)))
    }
}

/// A transaction whose changes and current rows have more bytes is long: more than one with large rows of its own sends.
const LONG_BYTES: usize = 12 << 20;

const fn cost(rows: usize, bytes: usize) -> Cost {
    Cost {
        entities: rows as u64,
        bytes: bytes as u64,
    }
}

/// The keys of the changes, once each change is sound by itself and beside the others.
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

fn put(batch: &mut Batch, key: Bytes, changed: &Changed) {
    match &changed.value {
        Some(value) => batch.put(key, value.clone()),
        None => batch.delete(key),
    }
}
