//! The operator of a server: splits, merges, moves and drains through its admin port. During a fault they may fail in
//! any way: only what clients see counts.

use std::cell::Cell;
use std::convert::Infallible;
use std::fmt;
use std::time::Duration;

use anyhow::Context as _;
use bytes::Bytes;
use http_body_util::Full;
use hyper::Request;
use serde_json::Value;

use super::scenario::{SERVERS, Scenario, one_of, up_to};
use crate::client::Client;
use crate::scenario::ADMIN_PORT;
use crate::trace::Trace;

/// No range is split while there are so many.
const RANGES_MAX: usize = 8;

/// How long the operator waits for an answer.
const PATIENCE: Duration = Duration::from_secs(20);

/// What the operators of all servers did.
#[derive(Debug, Default)]
pub(super) struct Changes {
    splits: Cell<u64>,
    merges: Cell<u64>,
    moves: Cell<u64>,
    others: Cell<u64>,
    failed: Cell<u64>,
}

impl fmt::Display for Changes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} splits, {} merges, {} moves, {} other actions, {} not done",
            self.splits.get(),
            self.merges.get(),
            self.moves.get(),
            self.others.get(),
            self.failed.get()
        )
    }
}

/// Acts for ever.
pub(super) async fn operate(
    scenario: &Scenario,
    server: &'static str,
    trace: &Trace,
    mut random: fastrand::Rng,
    changes: &Changes,
) -> Infallible {
    loop {
        let pause = up_to(&mut random, scenario.operator_pause_max);
        tokio::time::sleep(Duration::from_millis(100) + pause).await;
        let acting = act(scenario, server, &mut random, trace);
        let count = match tokio::time::timeout(PATIENCE, acting).await {
            Ok(Ok(Some("split"))) => &changes.splits,
            Ok(Ok(Some("merge"))) => &changes.merges,
            Ok(Ok(Some("move"))) => &changes.moves,
            Ok(Ok(Some(_))) => &changes.others,
            Ok(Ok(None) | Err(_)) | Err(_) => &changes.failed,
        };
        count.set(count.get() + 1);
    }
}

/// One action; returns its name if it was done.
async fn act(
    scenario: &Scenario,
    server: &'static str,
    random: &mut fastrand::Rng,
    trace: &Trace,
) -> anyhow::Result<Option<&'static str>> {
    let list = ask(server, "GET", "/admin/v1/ranges", String::new(), trace).await?;
    let list: Value = serde_json::from_slice(&list.1).context("the list of ranges")?;
    let ranges = list["ranges"].as_array().context("no ranges")?;
    let action = match random.u32(..100) {
        0..30 if ranges.len() < RANGES_MAX => "split",
        0..45 => "merge",
        45..65 => "move",
        65..72 => "flush",
        72..76 => "compact",
        76..79 => "collect",
        79..82 => "freeze",
        82..85 => "drain",
        85..95 => "finalize",
        _ => "undrain",
    };
    let path = match action {
        "finalize" => "/admin/v1/version/finalize".to_owned(),
        "drain" | "undrain" => format!("/admin/v1/servers/{server}/{action}"),
        _ => {
            let range = random.usize(..ranges.len().max(1));
            let range = ranges.get(range).context("no ranges")?;
            format!("/admin/v1/ranges/{}/{action}", range["id"])
        }
    };
    let body = match action {
        "move" => {
            let to = one_of(random, &SERVERS[..scenario.servers]);
            format!(r#"{{"to":"{to}"}}"#)
        }
        "freeze" => format!(r#"{{"milliseconds":{}}}"#, random.u64(..150)),
        _ => String::new(),
    };
    let (status, _) = ask(server, "POST", &path, body, trace).await?;
    Ok((status == 200).then_some(action))
}

/// Sends a request over a connection of its own.
async fn ask(
    server: &str,
    method: &str,
    path: &str,
    body: String,
    trace: &Trace,
) -> anyhow::Result<(u16, Bytes)> {
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header("x-partita-admin", "1")
        .body(Full::new(Bytes::from(body)))?;
    let answer = Client::impatient("127.0.0.1", ADMIN_PORT)
        .send(request)
        .await?;
    let event = match method {
        "GET" => format!("{path} {} {} bytes", answer.status, answer.body.len()),
        _ => format!("{path} {} {}", answer.status, answer.text()),
    };
    trace.note(&format!("operator of {server}"), &event.replace('\n', " "));
    Ok((answer.status, answer.body))
}
