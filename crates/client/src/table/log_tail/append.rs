//! Rows at the newer end of a log.

use super::{LogTail, LogTailKey};
use crate::{Entity, Error, ErrorCode, Outcome, Result, TransactionAction};
use partita_model::limits::BATCH_OPERATIONS_MAX;

/// How often rows are given other keys because theirs are taken. A suffix is one of 36 to the 8th: once is enough, unless somebody
/// else writes into the partition what is no log.
const ATTEMPTS: usize = 4;
/// Characters of a suffix.
const SUFFIX_CHARS: usize = 8;

impl LogTail {
    /// Appends a row with these properties; whatever keys it has are replaced. Gives its key.
    ///
    /// # Errors
    /// 404 TableNotFound; 400 for what breaks a limit. With [`Outcome::MayHaveHappened`], append it again only where a row twice
    /// is better than none.
    pub async fn append(&self, row: Entity) -> Result<LogTailKey> {
        let mut keys = self.append_all(vec![row]).await?;
        keys.pop().ok_or_else(|| Error::input("no row"))
    }

    /// Appends 1 to 100 rows at once, all or none, in their order: the last one becomes the newest. Gives their keys.
    ///
    /// # Errors
    /// As [`Self::append`]; [`crate::ErrorKind::Input`] for no rows and for more than 100; 413 RequestBodyTooLarge past 4 MiB.
    pub async fn append_all(&self, rows: Vec<Entity>) -> Result<Vec<LogTailKey>> {
        if !(1..=BATCH_OPERATIONS_MAX).contains(&rows.len()) {
            return Err(Error::input(format!(
                "{} rows for a log: 1 to {BATCH_OPERATIONS_MAX} are appended at once",
                rows.len()
            )));
        }
        let mut keys = self.keys(rows.len())?;
        let mut rows = rows;
        for attempt in 1.. {
            rows = rows
                .into_iter()
                .zip(&keys)
                .map(|(row, key)| row.with_keys(&*self.partition_key, key.to_string()))
                .collect();
            match self.insert(&rows).await {
                Ok(()) => break,
                Err(error) if is_taken(&error) && attempt < ATTEMPTS => {
                    keys = suffixed(keys)?;
                }
                Err(error) => return Err(error),
            }
        }
        Ok(keys)
    }

    /// Keys for so many rows: each with a later time than the one before, and all later than those handed out before.
    fn keys(&self, count: usize) -> Result<Vec<LogTailKey>> {
        let now = self.now();
        let mut last = self.last.lock();
        let mut time = last.map_or(now, |last| now.max(last.next()));
        let mut keys = Vec::with_capacity(count);
        for _ in 0..count {
            if *last >= Some(time) {
                return Err(Error::input("the clock stands at the end of time"));
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
        let actions: Vec<_> = rows
            .iter()
            .cloned()
            .map(TransactionAction::Create)
            .collect();
        self.table.submit_transaction(&actions).await.map(drop)
    }
}

/// Whether somebody else has a row under one of the keys, and nothing was written.
fn is_taken(error: &Error) -> bool {
    error.code() == Some(ErrorCode::EntityAlreadyExists) && error.outcome() == Outcome::DidNotHappen
}

/// The keys with the same times and a suffix of chance, so that their order among the rows of their appender stays.
fn suffixed(keys: Vec<LogTailKey>) -> Result<Vec<LogTailKey>> {
    let suffix: String = (0..SUFFIX_CHARS)
        .map(|_| char::from(b"0123456789abcdefghijklmnopqrstuvwxyz"[fastrand::usize(..36)]))
        .collect();
    let suffixed = keys.into_iter().map(|key| key.with_suffix(&suffix));
    suffixed
        .collect::<std::result::Result<_, _>>()
        .map_err(|error| Error::input(error.to_string()))
}
