//! Canary rows, which no writer changes, spread over the whole table: every complete scan shows each of them once, in order, whatever is split
//! or merged under it.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, ensure};
use partita_bench::Account;
use partita_bench::client::{Client, Request};
use partita_load::Random;
use serde_json::Value;

use crate::checkers::TABLE;
use crate::checkers::model::payload;
use crate::checkers::stored::escape;

/// How many there are.
pub(super) const COUNT: u64 = 260;

/// The partition of one, each another, from `a` to `z`: those of the writers lie among them.
pub(super) fn partition(number: u64) -> String {
    let letter = char::from(b'a' + u8::try_from(number % 26).unwrap_or(0));
    format!("{letter}{:02}", number / 26)
}

/// Characters that each carries besides, so that there is something to share, to rewrite and to release: 6 MiB in all.
const BALLAST: usize = 24 << 10;

/// Writes them all, once: from then on they have to be there.
pub(super) fn plant(client: &mut Client, random: &mut Random) -> anyhow::Result<()> {
    for number in 0..COUNT {
        // Does not compress well.
        let ballast: String = (0..BALLAST)
            .map(|_| char::from(b' ' + 16 + u8::try_from(random.below(64)).unwrap_or(0)))
            .collect();
        let entity = serde_json::json!({
            "PartitionKey": partition(number),
            "RowKey": "sentinel",
            "A": payload(number),
            "Ballast": ballast,
        });
        let answer = client.send(&Request {
            headers: &[("Prefer", "return-no-content")],
            content_type: "application/json",
            body: entity.to_string().as_bytes(),
            ..Request::new("POST", &format!("/{TABLE}"))
        })?;
        ensure!(
            answer.status == 204,
            "a sentinel was answered with {}: {}",
            answer.status,
            answer.text()
        );
    }
    Ok(())
}

/// Scans again and again until told to stop; returns how many scans were whole. One that a kill cuts short is left in `unfinished`, and
/// goes on with its last token in the next round: a token is good in another process, and in other ranges.
pub(super) fn watch(
    addr: SocketAddr,
    account: &Account,
    random: &mut Random,
    stop: &AtomicBool,
    unfinished: &mut Option<Scan>,
    faults: &mut Vec<String>,
) -> u64 {
    let mut scans = 0;
    let Ok(mut client) = Client::connect(addr, account.clone()) else {
        return 0;
    };
    while !stop.load(Ordering::Relaxed) {
        let begin = || Scan::new(1 + random.below(300));
        let mut scan = unfinished.take().unwrap_or_else(begin);
        match scan.run(&mut client) {
            Ok(()) => scans += 1,
            // The server was killed in the middle of it.
            Err(error)
                if error.root_cause().is::<std::io::Error>()
                    || error.to_string().contains("closed the connection") =>
            {
                *unfinished = Some(scan);
                return scans;
            }
            Err(error) => {
                faults.push(format!("a scan by {}: {error:#}", scan.top));
                return scans;
            }
        }
    }
    scans
}

/// A scan of everything, and how far it has come.
#[derive(Debug)]
pub(super) struct Scan {
    /// Rows of a page.
    top: u64,
    missing: BTreeSet<String>,
    /// The last key it was shown.
    last: Option<(String, String)>,
    /// Where the next page begins, as part of a query.
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

    /// Reads to the end.
    fn run(&mut self, client: &mut Client) -> anyhow::Result<()> {
        loop {
            let query = format!(
                "$select=PartitionKey,RowKey&$top={}{}",
                self.top, self.token
            );
            let answer = client.send(&Request {
                query: &query,
                ..Request::new("GET", &format!("/{TABLE}()"))
            })?;
            ensure!(answer.status == 200, "{} {}", answer.status, answer.text());
            self.take(&answer.body)?;
            let header = |name: &str| answer.header(name).map(escape);
            let Some(partition) = header("x-ms-continuation-NextPartitionKey") else {
                break;
            };
            self.token = format!("&NextPartitionKey={partition}");
            if let Some(row) = header("x-ms-continuation-NextRowKey") {
                self.token += &format!("&NextRowKey={row}");
            }
        }
        let missing = &self.missing;
        ensure!(missing.is_empty(), "rows are missing: {missing:?}");
        Ok(())
    }

    /// Looks at the rows of a page.
    fn take(&mut self, page: &[u8]) -> anyhow::Result<()> {
        let page: Value = serde_json::from_slice(page).context("the page is not JSON")?;
        for entity in page["value"].as_array().context("the page has no value")? {
            let text = |name: &str| entity[name].as_str().unwrap_or_default().to_owned();
            let key = (text("PartitionKey"), text("RowKey"));
            ensure!(
                self.last.as_ref().is_none_or(|last| *last < key),
                "{key:?} came after {:?}",
                self.last
            );
            if key.1 == "sentinel" {
                self.missing.remove(&key.0);
            }
            self.last = Some(key);
        }
        Ok(())
    }
}
