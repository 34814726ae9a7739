//! Rows that all writers fight for: a writer that was told "409, it exists already" or "412, it changed" must find that true
//! after the crash, though the write that beat it was another's and perhaps never answered.

use std::sync::{Mutex, MutexGuard, PoisonError};

use partita_bench::client::{Client, Request, Response};

use super::model::{Key, Rows, Stamp, next_stamp, payload};

/// Rows that may be won in one round; each is read back ever after.
const RACES_MAX: usize = 8;

/// The state of one contested row.
#[derive(Clone, Debug, Default)]
struct Race {
    /// Stamps of the inserts sent.
    inserts: Vec<Stamp>,
    /// The acknowledged insert.
    inserted: Option<(String, Stamp)>,
    /// A writer was answered 409.
    conflict_seen: bool,
    /// Stamps of the updates sent, all with the inserted row's tag.
    updates: Vec<Stamp>,
    /// The acknowledged update.
    updated: Option<(String, Stamp)>,
    /// A writer was answered 412.
    mismatch_seen: bool,
}

/// All contested rows of a run.
#[derive(Debug, Default)]
pub(crate) struct Races {
    board: Mutex<Vec<Race>>,
    /// The first row that is still open in this round.
    open_from: usize,
}

/// A move in a race, decided under the lock and made without it.
enum Move {
    Insert(Stamp),
    Update(Stamp, String),
}

impl Races {
    fn board(&self) -> MutexGuard<'_, Vec<Race>> {
        self.board.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes one move in the newest race. `Some` is a fault of the server.
    pub(crate) fn play(&self, client: &mut Client) -> anyhow::Result<Option<String>> {
        let Some((index, next)) = self.next_move() else {
            return Ok(None);
        };
        let key = key(index);
        let answer = match &next {
            Move::Insert(stamp) => client.send(&Request {
                headers: &[("Prefer", "return-no-content")],
                content_type: "application/json",
                body: super::entity_json(&key, "A", &payload(*stamp)).as_bytes(),
                ..Request::new("POST", &format!("/{}", super::TABLE))
            })?,
            Move::Update(stamp, etag) => client.send(&Request {
                headers: &[("If-Match", etag)],
                content_type: "application/json",
                body: super::entity_json(&key, "A", &payload(*stamp)).as_bytes(),
                ..Request::new("PUT", &key.path())
            })?,
        };
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
        let stamp = next_stamp();
        let next = match &race.inserted {
            // Another writer has to lose the insert first.
            Some((etag, _)) if race.conflict_seen => {
                race.updates.push(stamp);
                Move::Update(stamp, etag.clone())
            }
            _ => {
                race.inserts.push(stamp);
                Move::Insert(stamp)
            }
        };
        Some((index, next))
    }

    /// Compares every contested row with what is stored, and closes the races.
    pub(crate) fn settle(&mut self, stored: &Rows) -> Vec<String> {
        let mut board = self.board();
        let mut faults = Vec::new();
        for (index, race) in board.iter_mut().enumerate() {
            let key = key(index);
            let row = stored
                .get(&key)
                .map(|row| (row.etag.clone().unwrap_or_default(), row.a));
            match race.settle(row) {
                Ok(()) => {}
                Err(fault) => faults.push(format!("{key:?}: {fault}; {race:?}")),
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
            (Move::Insert(stamp), 201 | 204) if self.inserted.is_none() => {
                self.inserted = Some((etag, *stamp));
            }
            (Move::Insert(_), 409) => self.conflict_seen = true,
            (Move::Update(stamp, _), 204) if self.updated.is_none() => {
                self.updated = Some((etag, *stamp));
            }
            (Move::Update(..), 412) => self.mismatch_seen = true,
            (_, 503) => {}
            (_, status) => {
                return Some(format!("answered {status}: {} in {self:?}", answer.text()));
            }
        }
        None
    }

    /// Checks the stored row, its tag and stamp, and takes it as decided.
    fn settle(&mut self, stored: Option<(String, Option<Stamp>)>) -> Result<(), String> {
        let Some((etag, stamp)) = stored else {
            let promised = self.inserted.is_some() || self.conflict_seen || self.mismatch_seen;
            return if promised {
                Err("was promised to exist".to_owned())
            } else {
                Ok(())
            };
        };
        let stamp = stamp.ok_or("has no value")?;
        let fits = |known: &Option<(String, Stamp)>| {
            known
                .as_ref()
                .is_none_or(|known| *known == (etag.clone(), stamp))
        };
        if self.updates.contains(&stamp) {
            if !fits(&self.updated) {
                return Err(format!("holds {stamp}, not the acknowledged update"));
            }
            self.updated = Some((etag, stamp));
        } else if self.inserts.contains(&stamp) {
            if self.updated.is_some() || self.mismatch_seen {
                return Err("was promised to have changed".to_owned());
            }
            if !fits(&self.inserted) {
                return Err(format!("holds {stamp}, not the acknowledged insert"));
            }
            self.inserted = Some((etag, stamp));
            // What was in flight and did not happen must not happen later.
            self.updates.clear();
        } else {
            return Err(format!("holds {stamp}, which no writer wrote"));
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

    fn etag(text: &str, stamp: Stamp) -> Option<(String, Option<Stamp>)> {
        Some((text.to_owned(), Some(stamp)))
    }

    #[test]
    fn an_answered_conflict_promises_the_row() {
        let race = Race {
            inserts: vec![1, 2],
            conflict_seen: true,
            ..Race::default()
        };
        assert!(race.clone().settle(None).is_err());
        assert!(race.clone().settle(etag("e", 2)).is_ok());
        assert!(race.clone().settle(etag("e", 3)).is_err());
        let unanswered = Race {
            inserts: vec![1],
            ..Race::default()
        };
        assert!(unanswered.clone().settle(None).is_ok());
    }

    #[test]
    fn an_answered_mismatch_promises_the_change() {
        let race = Race {
            inserts: vec![1],
            inserted: Some(("e1".to_owned(), 1)),
            conflict_seen: true,
            updates: vec![3, 4],
            mismatch_seen: true,
            ..Race::default()
        };
        assert!(race.clone().settle(etag("e1", 1)).is_err());
        assert!(race.clone().settle(etag("e2", 4)).is_ok());
    }

    #[test]
    fn a_decided_race_stays_decided() {
        let mut race = Race {
            inserts: vec![1, 2],
            ..Race::default()
        };
        race.settle(etag("e1", 1)).unwrap();
        assert!(race.settle(etag("e1", 1)).is_ok());
        assert!(race.settle(etag("e2", 2)).is_err());
        assert!(race.settle(None).is_err());
    }
}
