//! The path of a single write: Insert, Update, Merge and Delete Entity.
//!
//! A refused request changes nothing. A change is durable when the function returns `Ok`.

use super::Expiry;
use super::change::{Change, Changed};
use crate::{Error, Service, Table};
use bytes::Bytes;
use partita_engine::Batch;
use partita_service::{Cost, Direction, write_cost};

impl Service {
    /// Executes one change: check it, charge the targets, wait for admission, lock the entity, read it, apply the
    /// change, commit.
    ///
    /// Cancel-safe: a cancel before the commit changes nothing; during the commit, the change still completes.
    ///
    /// # Errors
    /// Those of the change's kind: [`Error::EntityAlreadyExists`], [`Error::EntityNotFound`],
    /// [`Error::ConditionNotMet`], an invalid request ([`Error::is_invalid_request`]), [`Error::Busy`],
    /// [`Error::OutcomeUnknown`].
    pub async fn change_entity(&self, table: &Table, change: Change) -> Result<Changed, Error> {
        change.check()?;
        let arrived = self.clock().monotonic();
        let key = table.space.entity(&change.partition_key, &change.row_key);
        let bytes = change.bytes();
        self.charge(table, &key, cost(1, bytes), Direction::In)?;
        let queue = &self.storage().admission.writes;
        let mut admitted = queue.enter(&key, write_cost(1, key.len() + bytes)).await?;
        let locked = self.lock(std::slice::from_ref(&key)).await?;
        let locked = locked.since(arrived);
        let current = locked.read(&key).await?;
        let now = self.timestamps().next();
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
        admitted.record_work(ended - began, ended);
        Ok(changed)
    }
}

/// The cost of a write of `rows` entities with `bytes` bytes.
pub(super) const fn cost(rows: usize, bytes: usize) -> Cost {
    Cost {
        entities: rows as u64,
        bytes: bytes as u64,
    }
}

/// Adds the result of a change to a batch.
pub(super) fn put(batch: &mut Batch, key: Bytes, changed: &Changed) {
    match &changed.value {
        Some(value) => batch.put(key, value.clone()),
        None => batch.delete(key),
    }
}
