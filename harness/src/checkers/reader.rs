//! Reads rows while they are written: what a reader was shown must not be gone after the crash.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use partita_bench::Account;
use partita_bench::client::Client;
use partita_load::Random;

use super::model::{Key, Ledger, Rows};
use super::stored;

/// A reader of all the writers' rows.
#[derive(Debug)]
pub(crate) struct Reader {
    keys: Vec<Key>,
    random: Random,
    /// The tag last seen of each row.
    seen: BTreeMap<Key, String>,
    /// What the server did wrong while it was up.
    pub(crate) faults: Vec<String>,
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
        }
    }

    /// Reads until the connection breaks.
    pub(crate) fn run(&mut self, addr: SocketAddr, account: &Account) {
        let Ok(mut client) = Client::connect(addr, account.clone()) else {
            return;
        };
        loop {
            let key = &self.keys[self.random.below(self.keys.len() as u64) as usize];
            match stored::get(&mut client, key) {
                Ok(Some(row)) => {
                    self.seen.insert(key.clone(), row.etag.unwrap_or_default());
                }
                Ok(None) => {}
                // A broken connection has an I/O error at its root; everything else is the server's fault.
                Err(error) if error.root_cause().is::<std::io::Error>() => return,
                Err(error) if error.to_string().contains("closed the connection") => return,
                Err(error) => {
                    self.faults.push(format!("reader: {error:#}"));
                    return;
                }
            }
        }
    }

    /// Checks, before the ledgers are settled, that no tag was shown which neither was acknowledged nor is stored now.
    pub(crate) fn settle(&mut self, ledger: &Ledger, stored: &Rows) -> Vec<String> {
        let mut faults = Vec::new();
        for key in &ledger.keys {
            let Some(seen) = self.seen.remove(key) else {
                continue;
            };
            let acknowledged = ledger
                .etags
                .get(key)
                .is_some_and(|etags| etags.contains(&seen));
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
    fn a_shown_row_must_stay() {
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
        assert_eq!(reader("new").settle(&ledger, &stored).len(), 0);
        assert_eq!(reader("new").settle(&ledger, &Rows::new()).len(), 1);
    }
}
