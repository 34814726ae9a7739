//! Fires the actions of the admin port in random order.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use partita_bench::admin;
use partita_load::Random;
use serde_json::Value;

use super::canary_rows;
use crate::checkers::TABLE;
use crate::range_changes::RangeChanges;

/// Maximum number of ranges; no range is split while there are so many.
const RANGES_MAX: usize = 12;

/// The actions so far.
#[derive(Debug, Default)]
pub(crate) struct NemesisActions {
    pub(crate) changes: RangeChanges,
    /// Other actions done.
    pub(crate) others: u64,
    /// Undocumented answers.
    pub(crate) faults: Vec<String>,
}

/// Fires actions until `stop` is set or the server is killed. A fault ends the loop too.
pub(crate) fn run(
    admin: SocketAddr,
    random: &mut Random,
    stop: &AtomicBool,
    actions: &mut NemesisActions,
) {
    while !stop.load(Ordering::Relaxed) && actions.faults.is_empty() {
        // An error means that the server was killed.
        if act(admin, random, actions).is_err() {
            return;
        }
        pause(random);
    }
}

fn act(admin: SocketAddr, random: &mut Random, actions: &mut NemesisActions) -> anyhow::Result<()> {
    let ranges = admin::ranges(admin)?.ranges;
    let Some(range) = ranges.get(random.below(ranges.len() as u64) as usize) else {
        return Ok(());
    };
    let (action, body) = match random.below(100) {
        0..30 if ranges.len() < RANGES_MAX => ("split", String::new()),
        30..45 if ranges.len() < RANGES_MAX => ("split", split_key(random)),
        0..75 => ("merge", String::new()),
        75..78 => ("flush", String::new()),
        // One second, so that no checkpoint pins files at the end of the test.
        78..80 => ("checkpoint", r#"{"seconds":1}"#.to_owned()),
        80..88 => ("compact", String::new()),
        88..94 => ("collect", String::new()),
        _ => (
            "freeze",
            format!(r#"{{"milliseconds":{}}}"#, random.below(150)),
        ),
    };
    let answer = fire(admin, actions, (range.id, action, &body))?;
    // Half of the splits are undone while both ranges still share files. In each of them a file has rows of the other
    // range, older than those in the other's own files, and the merged range must not show them.
    if let (Some(left), Some(right)) = (answer["left"].as_u64(), answer["right"].as_u64())
        && random.below(2) == 0
    {
        pause(random);
        let body = format!(r#"{{"with":{right}}}"#);
        fire(admin, actions, (left, "merge", &body))?;
    }
    Ok(())
}

/// Fires an action on a range and returns the answer.
fn fire(
    admin: SocketAddr,
    actions: &mut NemesisActions,
    (range, action, body): (u64, &str, &str),
) -> anyhow::Result<Value> {
    let (status, answer) = admin::act(admin, range, action, body)?;
    if status == 200 && !matches!(action, "split" | "merge") {
        actions.others += 1;
    } else if !actions.changes.count(action, status, &answer) {
        let fault = format!("{action} of range {range}: {status} {answer}");
        actions.faults.push(fault);
    }
    Ok(answer)
}

/// Lets the clients work for a moment.
fn pause(random: &mut Random) {
    std::thread::park_timeout(Duration::from_millis(random.below(120)));
}

/// A key among the rows. It is mostly outside of the range to split; the server must refuse such a split.
fn split_key(random: &mut Random) -> String {
    let partition = canary_rows::partition(random.below(canary_rows::COUNT));
    format!(r#"{{"account":"devstoreaccount1","table":"{TABLE}","partition_key":"{partition}"}}"#)
}
