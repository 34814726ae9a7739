//! Reads rows while they are written: a row shown to a reader must still be stored after the crash.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};

use partita_bench::Account;
use partita_bench::client::{Client, is_disconnect};
use partita_load::Random;

use super::model::{Key, Ledger, Rows};
use super::stored;

/// Whether the answer names a documented reason for the failed read.
fn is_documented(error: &anyhow::Error) -> bool {
    let error = error.downcast_ref::<stored::ServerError>();
    error.is_some_and(stored::ServerError::is_documented)
}

/// A reader of all the writers' rows.
#[derive(Debug)]
pub(crate) struct Reader {
    keys: Vec<Key>,
    random: Random,
    /// The ETag last seen of each row.
    seen: BTreeMap<Key, String>,
    /// Faults of the server's answers.
    pub(crate) faults: Vec<String>,
    /// Whether the disk fails, so that a read may fail too.
    pub(crate) disk_fails: bool,
}

impl Reader {
    pub(crate) fn new<'a>(ledgers: impl Iterator<Item = &'a Ledger>, seed: u64) -> Self {
        Self {
            keys: ledgers
                .flat_map(|ledger| ledger.keys.iter().cloned())
                .collect(),
            random: Random::new(seed),
            seen: BTreeMap::new(),
            faults: Vec::new(),
            disk_fails: false,
        }
    }

    /// Reads until the connection breaks, or `stop` is set.
    pub(crate) fn run(&mut self, addr: SocketAddr, account: &Account, stop: &AtomicBool) {
        let Ok(mut client) = Client::connect(addr, account.clone()) else {
            return;
        };
        while !stop.load(Ordering::Relaxed) {
            let key = &self.keys[self.random.below(self.keys.len() as u64) as usize];
            match stored::get(&mut client, key) {
                Ok(Some(row)) => {
                    self.seen.insert(key.clone(), row.etag.unwrap_or_default());
                }
                Ok(None) => {}
                Err(error) if is_disconnect(&error) => return,
                Err(error) if self.disk_fails && is_documented(&error) => {}
                Err(error) => {
                    self.faults.push(format!("reader: {error:#}"));
                    return;
                }
            }
        }
    }

    /// Checks that every ETag shown was acknowledged or is stored. Must be called before [`Ledger::compare`], which
    /// adopts the stored rows.
    pub(crate) fn compare(&mut self, ledger: &Ledger, stored: &Rows) -> Vec<String> {
        let mut faults = Vec::new();
        for key in &ledger.keys {
            let Some(seen) = self.seen.remove(key) else {
                continue;
            };
            let etags = ledger.etags.get(key);
            let acknowledged = etags.is_some_and(|etags| etags.contains(&seen));
            let now = stored.get(key).and_then(|row| row.etag.as_ref());
            if !acknowledged && now != Some(&seen) {
                faults.push(format!(
                    "{key:?}: a reader was shown {seen}, stored is {now:?}"
                ));
            }
        }
        faults
    }
}

#[cfg(test)]
mod tests {
    use super::super::model::Row;
    use super::*;

    #[test]
    fn a_row_shown_to_a_reader_must_stay_stored() {
        let key = Key {
            partition: "w".to_owned(),
            row: "r".to_owned(),
        };
        let ledger = Ledger {
            keys: vec![key.clone()],
            ..Ledger::default()
        };
        let reader = |etag: &str| {
            let mut reader = Reader::new([&ledger].into_iter(), 1);
            reader.seen.insert(key.clone(), etag.to_owned());
            reader
        };
        let row = Row {
            etag: Some("new".to_owned()),
            a: Some(1),
            b: None,
        };
        let stored: Rows = [(key.clone(), row)].into();
        assert_eq!(reader("new").compare(&ledger, &stored).len(), 0);
        assert_eq!(reader("new").compare(&ledger, &Rows::new()).len(), 1);
    }
}
