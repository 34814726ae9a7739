//! Rows that nobody changes, spread over the whole table: every complete scan shows each of them once, in order, whatever is split
//! or merged under it.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, ensure};
use partita_bench::Account;
use partita_bench::client::{Client, Request};
use partita_bench::rng::Rng;
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

/// Characters that each carries besides, so that there is something to share, to rewrite and to let go of: 6 MiB in all.
const BALLAST: usize = 24 << 10;

/// Writes them all, once: from then on they have to be there.
pub(super) fn plant(client: &mut Client, rng: &mut Rng) -> anyhow::Result<()> {
    for number in 0..COUNT {
        // Does not compress well.
        let ballast: String = (0..BALLAST)
            .map(|_| char::from(b' ' + 16 + u8::try_from(rng.below(64)).unwrap_or(0)))
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

/// Scans again and again until told to stop; returns how many scans were whole.
pub(super) fn watch(
    addr: SocketAddr,
    account: &Account,
    rng: &mut Rng,
    stop: &AtomicBool,
    faults: &mut Vec<String>,
) -> u64 {
    let mut scans = 0;
    let Ok(mut client) = Client::connect(addr, account.clone()) else {
        return 0;
    };
    while !stop.load(Ordering::Relaxed) {
        let top = 1 + rng.below(300);
        match scan(&mut client, top) {
            Ok(()) => scans += 1,
            // The server was killed in the middle of it.
            Err(error) if error.root_cause().is::<std::io::Error>() => return scans,
            Err(error) if error.to_string().contains("closed the connection") => return scans,
            Err(error) => {
                faults.push(format!("a scan by {top}: {error:#}"));
                return scans;
            }
        }
    }
    scans
}

/// One scan of everything, so many rows a page.
fn scan(client: &mut Client, top: u64) -> anyhow::Result<()> {
    let mut missing: BTreeSet<String> = (0..COUNT).map(partition).collect();
    let mut last: Option<(String, String)> = None;
    let mut token = String::new();
    loop {
        let query = format!("$select=PartitionKey,RowKey&$top={top}{token}");
        let answer = client.send(&Request {
            query: &query,
            ..Request::new("GET", &format!("/{TABLE}()"))
        })?;
        ensure!(answer.status == 200, "{} {}", answer.status, answer.text());
        let page: Value = serde_json::from_slice(&answer.body).context("the page is no JSON")?;
        for entity in page["value"].as_array().context("the page has no value")? {
            let text = |name: &str| entity[name].as_str().unwrap_or_default().to_owned();
            let key = (text("PartitionKey"), text("RowKey"));
            ensure!(
                last.as_ref().is_none_or(|last| *last < key),
                "{key:?} came after {last:?}"
            );
            if key.1 == "sentinel" {
                missing.remove(&key.0);
            }
            last = Some(key);
        }
        let header = |name: &str| answer.header(name).map(escape);
        let Some(partition) = header("x-ms-continuation-NextPartitionKey") else {
            break;
        };
        token = format!("&NextPartitionKey={partition}");
        if let Some(row) = header("x-ms-continuation-NextRowKey") {
            token += &format!("&NextRowKey={row}");
        }
    }
    ensure!(missing.is_empty(), "rows are missing: {missing:?}");
    Ok(())
}
