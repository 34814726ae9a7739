//! Canary rows, which no writer changes, spread over the whole table: every complete scan shows each of them once, in
//! order, although ranges split and merge during the scan.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, ensure};
use partita_bench::Account;
use partita_bench::client::{Client, Request, is_disconnect};
use partita_load::Random;
use serde_json::Value;

use crate::checkers::TABLE;
use crate::checkers::model::payload;

/// Number of canary rows.
pub(super) const COUNT: u64 = 260;

/// Characters of random text in each row: 6 MiB in all rows, so that ranges have files to share, rewrite and release.
const BALLAST: usize = 24 << 10;

const ROW_KEY: &str = "canary";

/// The partition of a canary row. No two are equal, and they begin with `a` to `z`, so that the writers' partitions lie
/// among them.
pub(super) fn partition(number: u64) -> String {
    let letter = char::from(b'a' + u8::try_from(number % 26).unwrap_or(0));
    format!("{letter}{:02}", number / 26)
}

/// Inserts all canary rows.
pub(super) fn plant(client: &mut Client, random: &mut Random) -> anyhow::Result<()> {
    for number in 0..COUNT {
        // Random text compresses badly.
        let ballast: String = (0..BALLAST)
            .map(|_| char::from(b' ' + 16 + u8::try_from(random.below(64)).unwrap_or(0)))
            .collect();
        let entity = serde_json::json!({
            "PartitionKey": partition(number),
            "RowKey": ROW_KEY,
            "A": payload(number),
            "Ballast": ballast,
        });
        let answer = client.post(&format!("/{TABLE}"), &entity.to_string())?;
        answer.expect(204).context("inserting a canary row")?;
    }
    Ok(())
}

/// Scans again and again until `stop` is set, counting complete scans. A scan that a kill interrupts is left in `unfinished` and
/// continues with its last token in the next round: a token is valid in another process, and in other ranges.
///
/// # Errors
/// A scan with a wrong answer.
pub(super) fn watch(
    addr: SocketAddr,
    account: &Account,
    random: &mut Random,
    stop: &AtomicBool,
    unfinished: &mut Option<Scan>,
    scans: &mut u64,
) -> anyhow::Result<()> {
    let Ok(mut client) = Client::connect(addr, account.clone()) else {
        return Ok(());
    };
    while !stop.load(Ordering::Relaxed) {
        let begin = || Scan::new(1 + random.below(300));
        let mut scan = unfinished.take().unwrap_or_else(begin);
        match scan.run(&mut client) {
            Ok(()) => *scans += 1,
            Err(error) if is_disconnect(&error) => {
                *unfinished = Some(scan);
                return Ok(());
            }
            Err(error) => return Err(error.context(format!("a scan by {}", scan.top))),
        }
    }
    Ok(())
}

/// A scan of everything, and its position.
#[derive(Debug)]
pub(super) struct Scan {
    /// Rows per page.
    top: u64,
    missing: BTreeSet<String>,
    /// The last key that was read.
    last: Option<(String, String)>,
    /// The query options with the token of the next page; empty for the first page.
    token: String,
}

impl Scan {
    fn new(top: u64) -> Self {
        Self {
            top,
            missing: (0..COUNT).map(partition).collect(),
            last: None,
            token: String::new(),
        }
    }

    /// Reads to the end, and checks that no canary row is missing.
    fn run(&mut self, client: &mut Client) -> anyhow::Result<()> {
        loop {
            let query = format!(
                "$select=PartitionKey,RowKey&$top={}{}",
                self.top, self.token
            );
            let page = client.send(&Request {
                query: &query,
                ..Request::new("GET", &format!("/{TABLE}()"))
            })?;
            let page = page.expect(200)?;
            self.take(page.entities()?)?;
            let Some(token) = page.next_page() else {
                break;
            };
            self.token = format!("&{token}");
        }
        let missing = &self.missing;
        ensure!(missing.is_empty(), "rows are missing: {missing:?}");
        Ok(())
    }

    /// Checks the rows of a page.
    fn take(&mut self, entities: Vec<Value>) -> anyhow::Result<()> {
        for entity in entities {
            let text = |name: &str| entity[name].as_str().unwrap_or_default().to_owned();
            let key = (text("PartitionKey"), text("RowKey"));
            let last = &self.last;
            ensure!(
                last.as_ref().is_none_or(|last| *last < key),
                "{key:?} came after {last:?}"
            );
            if key.1 == ROW_KEY {
                self.missing.remove(&key.0);
            }
            self.last = Some(key);
        }
        Ok(())
    }
}
