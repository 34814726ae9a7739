//! Fires the actions of the admin port in random order.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use partita_bench::admin;
use partita_bench::rng::Rng;

use super::canary_rows;
use crate::checkers::TABLE;

/// Beyond so many ranges none is split.
const RANGES_MAX: usize = 12;

/// What was done, and what of it went wrong.
#[derive(Debug, Default)]
pub(super) struct Done {
    /// How long writes waited for each split, milliseconds.
    pub(super) splits_ms: Vec<f64>,
    /// How long for each merge.
    pub(super) merges_ms: Vec<f64>,
    /// Other actions done.
    pub(super) others: u64,
    /// Actions that the server had a reason to refuse.
    pub(super) refused: u64,
    /// Changes that were begun and undone.
    pub(super) undone: u64,
    /// Answers that should not be.
    pub(super) faults: Vec<String>,
}

/// Fires actions until told to stop, or until the server is gone.
pub(super) fn press(admin: SocketAddr, rng: &mut Rng, stop: &AtomicBool, done: &mut Done) {
    while !stop.load(Ordering::Relaxed) && done.faults.is_empty() {
        if one(admin, rng, done).is_err() {
            // Killed meanwhile.
            return;
        }
        std::thread::park_timeout(Duration::from_millis(rng.below(120)));
    }
}

fn one(admin: SocketAddr, rng: &mut Rng, done: &mut Done) -> anyhow::Result<()> {
    let ranges = admin::ranges(admin)?.ranges;
    let Some(range) = ranges.get(rng.below(ranges.len() as u64) as usize) else {
        return Ok(());
    };
    let choice = rng.below(100);
    let (action, body) = match choice {
        0..30 if ranges.len() < RANGES_MAX => ("split", String::new()),
        30..45 if ranges.len() < RANGES_MAX => ("split", place(rng)),
        0..75 => ("merge", String::new()),
        75..78 => ("flush", String::new()),
        // For a second, so that it keeps nothing from going in the end.
        78..80 => ("checkpoint", r#"{"seconds":1}"#.to_owned()),
        80..88 => ("compact", String::new()),
        88..94 => ("collect", String::new()),
        _ => (
            "freeze",
            format!(r#"{{"milliseconds":{}}}"#, rng.below(150)),
        ),
    };
    let (status, answer) = admin::act(admin, range.id, action, &body)?;
    match (status, action) {
        (200, "split") => done.splits_ms.extend(answer["transit_ms"].as_f64()),
        (200, "merge") => done.merges_ms.extend(answer["transit_ms"].as_f64()),
        (200, _) => done.others += 1,
        // Nothing to cut, no neighbour, gone meanwhile, or too long a lineage.
        (404 | 409, _) => done.refused += 1,
        (503, _) => {
            eprintln!("pressure: {action} of range {}: {answer}", range.id);
            done.undone += 1;
        }
        _ => done
            .faults
            .push(format!("{action} of range {}: {status} {answer}", range.id)),
    }
    Ok(())
}

/// A place somewhere among the rows; mostly outside of the range, which the server has to notice.
fn place(rng: &mut Rng) -> String {
    let partition = canary_rows::partition(rng.below(canary_rows::COUNT));
    format!(r#"{{"account":"devstoreaccount1","table":"{TABLE}","partition_key":"{partition}"}}"#)
}
