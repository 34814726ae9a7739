//! The operator: splits, merges and other actions on ranges while clients work.

use std::cell::RefCell;
use std::fmt;

use anyhow::{Context as _, ensure};
use bytes::Bytes;
use http_body_util::Full;
use hyper::Request;
use serde_json::Value;
use tokio::sync::watch;

use crate::client::{Answer, Client};
use crate::scenario::{ADMIN_PORT, Scenario};
use crate::trace::Trace;
use crate::workload::Progress;

/// The number of ranges at which the operator stops splitting.
const RANGES_MAX: usize = 10;

/// The actions so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Changes {
    splits: u64,
    merges: u64,
    /// Flushes, compactions, garbage collections and freezes.
    others: u64,
    /// Actions that the server refused, or began and rolled back.
    refused: u64,
}

impl fmt::Display for Changes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} splits, {} merges, {} other actions, {} refused",
            self.splits, self.merges, self.others, self.refused
        )
    }
}

/// Performs an action on a random range after every few operations of the clients, until the clients have finished, and
/// counts it in `changes`, also if the server is killed later.
///
/// # Errors
/// An undocumented answer, or a gap between ranges.
pub(crate) async fn operate(
    scenario: &Scenario,
    trace: &Trace,
    mut progress: watch::Receiver<Progress>,
    changes: &RefCell<Changes>,
) -> anyhow::Result<()> {
    let kills = progress.borrow().kills;
    let mut random = scenario.seed.stream(&format!("operator-{kills}"));
    let mut operator = Operator {
        client: Client::new("127.0.0.1", ADMIN_PORT),
        trace,
        changes,
    };
    loop {
        let next = progress.borrow().operations + random.u64(1..=scenario.operator_pause_max);
        let reached = |progress: &Progress| progress.is_done || progress.operations >= next;
        if progress.wait_for(reached).await?.is_done {
            return Ok(());
        }
        // While the clients were slow, the server may be about to close the idle connection.
        operator.client.disconnect();
        operator.act(&mut random).await?;
    }
}

struct Operator<'a> {
    client: Client,
    trace: &'a Trace,
    changes: &'a RefCell<Changes>,
}

impl Operator<'_> {
    async fn act(&mut self, random: &mut fastrand::Rng) -> anyhow::Result<()> {
        let ranges = self.ranges().await?;
        let range = ranges[random.usize(..ranges.len())];
        let (action, body) = match random.u32(..100) {
            0..40 if ranges.len() < RANGES_MAX => ("split", String::new()),
            0..75 => ("merge", String::new()),
            75..80 => ("flush", String::new()),
            80..88 => ("compact", String::new()),
            88..94 => ("collect", String::new()),
            _ => (
                "freeze",
                format!(r#"{{"milliseconds":{}}}"#, random.u64(..150)),
            ),
        };
        let path = format!("/admin/v1/ranges/{range}/{action}");
        let answer = self.send("POST", &path, body).await?;
        let mut changes = self.changes.borrow_mut();
        match (answer.status, action) {
            (200, "split") => changes.splits += 1,
            (200, "merge") => changes.merges += 1,
            (200, _) => changes.others += 1,
            // No key to split at, no neighbour, the range was replaced, or the change was rolled back.
            (404 | 409 | 503, _) => changes.refused += 1,
            (status, _) => anyhow::bail!("{action} of range {range}: {status} {}", answer.text()),
        }
        Ok(())
    }

    /// The ids of the ranges; checks that they leave no gap.
    async fn ranges(&mut self) -> anyhow::Result<Vec<u64>> {
        let answer = self.send("GET", "/admin/v1/ranges", String::new()).await?;
        let list: Value = serde_json::from_slice(&answer.body).context("the list of ranges")?;
        let ranges = list["ranges"].as_array().context("no ranges")?;
        for (left, right) in ranges.iter().zip(ranges.iter().skip(1)) {
            let meet = !left["end"].is_null() && left["end"] == right["start"];
            ensure!(meet, "a gap between ranges: {left} {right}");
        }
        let ids: Option<Vec<u64>> = ranges.iter().map(|range| range["id"].as_u64()).collect();
        ids.filter(|ids| !ids.is_empty())
            .context("ranges without ids")
    }

    async fn send(&mut self, method: &str, path: &str, body: String) -> anyhow::Result<Answer> {
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header("x-partita-admin", "1")
            .body(Full::new(Bytes::from(body)))?;
        let answer = self.client.send(request).await?;
        let event = format!("{method} {path} {} {}", answer.status, answer.text());
        self.trace.note("operator", &event.replace('\n', " "));
        Ok(answer)
    }
}
