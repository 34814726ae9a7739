//! Clients that know what they were promised: their load, and the comparison with what is there.
//!
//! What must hold, whatever happened to the server:
//! - every acknowledged write is there, with the tag that was answered;
//! - a request under way at a kill happened wholly or not at all, also a batch;
//! - every stored value was written by a writer, and none is cut short;
//! - a 409, a 412 or a row shown to a reader rests on what is still there.
//!
//! The choice of operations follows from the seed.

pub(crate) mod model;
mod race;
mod reader;
pub(crate) mod stored;
mod writer;

use std::net::SocketAddr;
use std::thread::Scope;

use anyhow::{Context, bail};
use partita_bench::client::Client;
use partita_bench::{Account, ServerProcess};
use partita_load::Random;

use self::model::Key;
use self::race::Races;
use self::reader::Reader;
use self::writer::Writer;

/// The table everything happens in.
pub(crate) const TABLE: &str = "crash";

/// Connections that write.
const WRITERS: u64 = 6;

/// Six writers and a reader, who live through kills.
#[derive(Debug)]
pub(crate) struct Checkers {
    account: Account,
    random: Random,
    writers: Vec<Writer>,
    races: Races,
    reader: Reader,
}

impl Checkers {
    pub(crate) fn new(account: &Account, random: &mut Random) -> Self {
        let writers: Vec<Writer> = (0..WRITERS)
            .map(|index| Writer::new(index, random.next_u64()))
            .collect();
        let reader = Reader::new(
            writers.iter().map(|writer| &writer.ledger),
            random.next_u64(),
        );
        Self {
            account: account.clone(),
            random: Random::new(random.next_u64()),
            writers,
            races: Races::default(),
            reader,
        }
    }

    /// Reads everything back and compares. The table is there.
    pub(crate) fn compare(&mut self, client: &mut Client) -> anyhow::Result<()> {
        let stored = stored::scan(client)?;
        let mut faults = Vec::new();
        for writer in &mut self.writers {
            faults.extend(self.reader.settle(&writer.ledger, &stored));
            faults.extend(writer.ledger.settle(&stored));
            let keys = &writer.ledger.keys;
            let key = &keys[self.random.below(keys.len() as u64) as usize];
            let by_get = stored::get(client, key)?;
            if by_get.as_ref() != stored.get(key) {
                faults.push(format!("{key:?}: get and scan differ: {by_get:?}"));
            }
        }
        faults.extend(self.races.settle(&stored));
        fail_on(&faults)
    }

    /// Starts their load, each on a thread of its own, which ends when the server does.
    pub(crate) fn load<'scope>(
        &'scope mut self,
        scope: &'scope Scope<'scope, '_>,
        addr: SocketAddr,
    ) {
        let (account, races, reader) = (&self.account, &self.races, &mut self.reader);
        for writer in &mut self.writers {
            scope.spawn(move || writer.run(addr, account, races));
        }
        scope.spawn(move || reader.run(addr, account));
    }

    /// What the server did wrong while it was up, once.
    pub(crate) fn take_faults(&mut self) -> Vec<String> {
        let mut faults = std::mem::take(&mut self.reader.faults);
        for writer in &mut self.writers {
            faults.append(&mut writer.faults);
        }
        faults
    }

    /// Writes acknowledged so far.
    pub(crate) fn acknowledged(&self) -> u64 {
        self.writers.iter().map(|writer| writer.acknowledged).sum()
    }
}

/// An error when there are faults, which are printed.
pub(crate) fn fail_on(faults: &[String]) -> anyhow::Result<()> {
    if faults.is_empty() {
        return Ok(());
    }
    for fault in faults.iter().take(20) {
        eprintln!("fault: {fault}");
    }
    bail!("{} faults", faults.len());
}

/// The same for what went wrong while a server was up, which may say why.
pub(crate) fn fail_with_log(faults: &[String], server: &ServerProcess) -> anyhow::Result<()> {
    fail_on(faults).with_context(|| format!("the server's last words:\n{}", server.log()))
}

/// The JSON of an entity with one property.
pub(crate) fn entity_json(key: &Key, property: &str, value: &str) -> String {
    format!(
        r#"{{"PartitionKey":"{}","RowKey":"{}","{property}":"{value}"}}"#,
        key.partition, key.row
    )
}
