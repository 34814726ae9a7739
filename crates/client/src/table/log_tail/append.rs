//! Appends rows to a log.

use super::{LogTail, LogTailKey};
use crate::{Entity, Error, ErrorCode, Outcome, Result, TransactionAction};
use partita_model::limits::BATCH_OPERATIONS_MAX;

/// The maximum number of attempts to insert rows. If a key exists already, the next attempt adds a random suffix to the
/// keys. One suffix, out of 36^8, is enough unless other software writes into the partition.
const ATTEMPTS: usize = 4;
/// The length of a random suffix.
const SUFFIX_CHARS: usize = 8;

impl LogTail {
    /// Appends a row and returns its key, which replaces the keys of `row`.
    ///
    /// # Errors
    /// 404 TableNotFound; 400 if the row exceeds a limit; [`crate::ErrorKind::Input`] if the clock is at the last
    /// [`crate::DateTime`]. After [`Outcome::MayHaveHappened`], another append may store the row twice.
    pub async fn append(&self, row: Entity) -> Result<LogTailKey> {
        let mut keys = self.append_all(vec![row]).await?;
        Ok(keys.pop().expect("one key for one row"))
    }

    /// Appends 1 to 100 rows, all or none, and returns their keys. The last row becomes the newest.
    ///
    /// # Errors
    /// As [`Self::append`]; [`crate::ErrorKind::Input`] for no rows and for more than 100; 413 RequestBodyTooLarge
    /// above 4 MiB.
    pub async fn append_all(&self, mut rows: Vec<Entity>) -> Result<Vec<LogTailKey>> {
        if !(1..=BATCH_OPERATIONS_MAX).contains(&rows.len()) {
            return Err(Error::input(format!(
                "cannot append {} rows at once; 1 to {BATCH_OPERATIONS_MAX} are possible",
                rows.len()
            )));
        }
        let mut keys = self.keys(rows.len())?;
        for attempt in 1.. {
            rows = rows
                .into_iter()
                .zip(&keys)
                .map(|(row, key)| row.with_keys(&*self.partition_key, key.to_string()))
                .collect();
            match self.insert(&rows).await {
                Ok(()) => break,
                Err(error) if is_taken(&error) && attempt < ATTEMPTS => keys = suffixed(keys),
                Err(error) => return Err(error),
            }
        }
        Ok(keys)
    }

    /// Keys for `count` rows: each has a later time than the previous one, and the first a later time than all earlier
    /// keys.
    fn keys(&self, count: usize) -> Result<Vec<LogTailKey>> {
        let now = self.now();
        let mut last = self.last.lock();
        let mut time = last.map_or(now, |last| now.max(last.next()));
        let mut keys = Vec::with_capacity(count);
        for _ in 0..count {
            if *last >= Some(time) {
                return Err(Error::input("the clock is past the year 9999"));
            }
            keys.push(LogTailKey::of(time));
            *last = Some(time);
            time = time.next();
        }
        Ok(keys)
    }

    async fn insert(&self, rows: &[Entity]) -> Result<()> {
        if let [row] = rows {
            return self.table.create_entity(row).await.map(drop);
        }
        let actions = rows.iter().cloned().map(TransactionAction::Create);
        let actions: Vec<_> = actions.collect();
        self.table.submit_transaction(&actions).await.map(drop)
    }
}

/// Whether another appender has used one of the keys, so that nothing was written.
fn is_taken(error: &Error) -> bool {
    error.code() == Some(ErrorCode::EntityAlreadyExists) && error.outcome() == Outcome::DidNotHappen
}

/// The keys with a random suffix. Their times, and so their order among the rows of this appender, do not change.
fn suffixed(keys: Vec<LogTailKey>) -> Vec<LogTailKey> {
    let suffix: String = (0..SUFFIX_CHARS)
        .map(|_| char::from(b"0123456789abcdefghijklmnopqrstuvwxyz"[fastrand::usize(..36)]))
        .collect();
    let with_suffix = |key: LogTailKey| key.with_suffix(&suffix).expect("letters and digits");
    keys.into_iter().map(with_suffix).collect()
}
