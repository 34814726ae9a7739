//! Rows that all writers try to insert and update at the same time. After a 409 ("already exists") or a 412 ("has
//! changed"), the row of the winning write must be stored after the crash, even if the crash came before the answer to
//! the winner.

use std::sync::{Mutex, MutexGuard, PoisonError};

use partita_bench::client::{Client, Response};

use super::model::{Key, Rows, WriteId, next_write_id, payload};
use super::stored;

/// Largest number of races in one round; each row is compared in all later rounds.
const RACES_MAX: usize = 8;

/// The state of one contested row.
#[derive(Clone, Debug, Default)]
struct Race {
    /// Ids of the inserts sent.
    inserts: Vec<WriteId>,
    /// The acknowledged insert.
    inserted: Option<(String, WriteId)>,
    /// A writer was answered 409.
    conflict_seen: bool,
    /// Ids of the updates sent, all with the inserted row's ETag.
    updates: Vec<WriteId>,
    /// The acknowledged update.
    updated: Option<(String, WriteId)>,
    /// A writer was answered 412.
    mismatch_seen: bool,
}

/// All contested rows of a run.
#[derive(Debug, Default)]
pub(crate) struct Races {
    board: Mutex<Vec<Race>>,
    /// The index of the first row of this round.
    open_from: usize,
}

/// A request in a race. It is chosen under the lock of `board` and sent without the lock.
enum Move {
    Insert(WriteId),
    Update(WriteId, String),
}

impl Races {
    fn board(&self) -> MutexGuard<'_, Vec<Race>> {
        self.board.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends one request of the newest race, and returns the server's fault, if any. With `disk_fails`, the outcome of
    /// a request may be unknown.
    pub(crate) fn play(
        &self,
        client: &mut Client,
        disk_fails: bool,
    ) -> anyhow::Result<Option<String>> {
        let Some((index, next)) = self.next_move() else {
            return Ok(None);
        };
        let key = key(index);
        let answer = match &next {
            Move::Insert(id) => {
                let json = super::entity_json(&key, "A", &payload(*id));
                client.post(&format!("/{}", super::TABLE), &json)?
            }
            Move::Update(id, etag) => {
                let json = super::entity_json(&key, "A", &payload(*id));
                client.put(&key.path(), &[("If-Match", etag)], json.as_bytes())?
            }
        };
        if disk_fails && answer.status == 500 && stored::is_documented(&answer.text()) {
            return Ok(None);
        }
        let mut board = self.board();
        let Some(race) = board.get_mut(index) else {
            return Ok(None);
        };
        Ok(race
            .judge(&next, &answer)
            .map(|fault| format!("{key:?}: {fault}")))
    }

    fn next_move(&self) -> Option<(usize, Move)> {
        let mut board = self.board();
        let decided = board
            .get(self.open_from..)?
            .last()
            .is_none_or(|race| race.mismatch_seen);
        if decided {
            if board.len() >= self.open_from + RACES_MAX {
                return None;
            }
            board.push(Race::default());
        }
        let index = board.len() - 1;
        let race = board.last_mut()?;
        let id = next_write_id();
        let next = match &race.inserted {
            // Updates begin only after another writer got a 409.
            Some((etag, _)) if race.conflict_seen => {
                race.updates.push(id);
                Move::Update(id, etag.clone())
            }
            _ => {
                race.inserts.push(id);
                Move::Insert(id)
            }
        };
        Some((index, next))
    }

    /// Compares every race with the stored row, and ends this round's races.
    pub(crate) fn compare(&mut self, stored: &Rows) -> Vec<String> {
        let mut board = self.board();
        let mut faults = Vec::new();
        for (index, race) in board.iter_mut().enumerate() {
            let key = key(index);
            let row = stored
                .get(&key)
                .map(|row| (row.etag.clone().unwrap_or_default(), row.a));
            if let Err(fault) = race.compare(row) {
                faults.push(format!("{key:?}: {fault}; {race:?}"));
            }
        }
        let count = board.len();
        drop(board);
        self.open_from = count;
        faults
    }
}

impl Race {
    fn judge(&mut self, made: &Move, answer: &Response) -> Option<String> {
        let etag = answer.header("etag").unwrap_or_default().to_owned();
        match (made, answer.status) {
            (Move::Insert(id), 201 | 204) if self.inserted.is_none() => {
                self.inserted = Some((etag, *id));
            }
            (Move::Insert(_), 409) => self.conflict_seen = true,
            (Move::Update(id, _), 204) if self.updated.is_none() => {
                self.updated = Some((etag, *id));
            }
            (Move::Update(..), 412) => self.mismatch_seen = true,
            (_, 503) => {}
            (_, status) => {
                return Some(format!("answered {status}: {} in {self:?}", answer.text()));
            }
        }
        None
    }

    /// Checks the stored row's ETag and id, and records which write won the race.
    fn compare(&mut self, stored: Option<(String, Option<WriteId>)>) -> Result<(), String> {
        let Some((etag, id)) = stored else {
            let promised = self.inserted.is_some() || self.conflict_seen || self.mismatch_seen;
            return if promised {
                Err(
                    "the row is missing, although it was acknowledged or answered with 409"
                        .to_owned(),
                )
            } else {
                Ok(())
            };
        };
        let id = id.ok_or("has no value")?;
        let fits = |known: &Option<(String, WriteId)>| {
            known
                .as_ref()
                .is_none_or(|known| *known == (etag.clone(), id))
        };
        if self.updates.contains(&id) {
            if !fits(&self.updated) {
                return Err(format!("holds {id}, not the acknowledged update"));
            }
            self.updated = Some((etag, id));
        } else if self.inserts.contains(&id) {
            if self.updated.is_some() || self.mismatch_seen {
                return Err("the row has not changed, although the update was acknowledged or answered with 412".to_owned());
            }
            if !fits(&self.inserted) {
                return Err(format!("holds {id}, not the acknowledged insert"));
            }
            self.inserted = Some((etag, id));
            // The insert is stored, so no update sent before the crash was executed, and none may be executed later.
            self.updates.clear();
        } else {
            return Err(format!("holds {id}, which no writer wrote"));
        }
        Ok(())
    }
}

fn key(index: usize) -> Key {
    Key {
        partition: "race".to_owned(),
        row: format!("r{index:06}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn etag(text: &str, id: WriteId) -> Option<(String, Option<WriteId>)> {
        Some((text.to_owned(), Some(id)))
    }

    #[test]
    fn after_a_409_the_row_must_be_stored() {
        let race = Race {
            inserts: vec![1, 2],
            conflict_seen: true,
            ..Race::default()
        };
        assert!(race.clone().compare(None).is_err());
        assert!(race.clone().compare(etag("e", 2)).is_ok());
        assert!(race.clone().compare(etag("e", 3)).is_err());
        let unanswered = Race {
            inserts: vec![1],
            ..Race::default()
        };
        assert!(unanswered.clone().compare(None).is_ok());
    }

    #[test]
    fn after_a_412_the_change_must_be_stored() {
        let race = Race {
            inserts: vec![1],
            inserted: Some(("e1".to_owned(), 1)),
            conflict_seen: true,
            updates: vec![3, 4],
            mismatch_seen: true,
            ..Race::default()
        };
        assert!(race.clone().compare(etag("e1", 1)).is_err());
        assert!(race.clone().compare(etag("e2", 4)).is_ok());
    }

    #[test]
    fn the_winner_of_a_race_stays_the_same() {
        let mut race = Race {
            inserts: vec![1, 2],
            ..Race::default()
        };
        race.compare(etag("e1", 1)).unwrap();
        assert!(race.compare(etag("e1", 1)).is_ok());
        assert!(race.compare(etag("e2", 2)).is_err());
        assert!(race.compare(None).is_err());
    }
}
