//! Fires the actions of the admin port in random order.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use partita_bench::admin;
use partita_load::{LatencyHistogram, Random};

use super::canary_rows;
use crate::checkers::TABLE;

/// Beyond so many ranges none is split.
const RANGES_MAX: usize = 12;

/// What was done, and what of it went wrong.
#[derive(Debug, Default)]
pub(super) struct Done {
    pub(super) splits: u64,
    pub(super) merges: u64,
    /// How long writes waited for each split and merge.
    pub(super) waits: LatencyHistogram,
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
pub(super) fn press(admin: SocketAddr, random: &mut Random, stop: &AtomicBool, done: &mut Done) {
    while !stop.load(Ordering::Relaxed) && done.faults.is_empty() {
        if one(admin, random, done).is_err() {
            // Killed meanwhile.
            return;
        }
        std::thread::park_timeout(Duration::from_millis(random.below(120)));
    }
}

fn one(admin: SocketAddr, random: &mut Random, done: &mut Done) -> anyhow::Result<()> {
    let ranges = admin::ranges(admin)?.ranges;
    let Some(range) = ranges.get(random.below(ranges.len() as u64) as usize) else {
        return Ok(());
    };
    let choice = random.below(100);
    let (action, body) = match choice {
        0..30 if ranges.len() < RANGES_MAX => ("split", String::new()),
        30..45 if ranges.len() < RANGES_MAX => ("split", place(random)),
        0..75 => ("merge", String::new()),
        75..78 => ("flush", String::new()),
        // For a second, so that it does not pin files at the end.
        78..80 => ("checkpoint", r#"{"seconds":1}"#.to_owned()),
        80..88 => ("compact", String::new()),
        88..94 => ("collect", String::new()),
        _ => (
            "freeze",
            format!(r#"{{"milliseconds":{}}}"#, random.below(150)),
        ),
    };
    let (status, answer) = admin::act(admin, range.id, action, &body)?;
    match (status, action) {
        (200, "split" | "merge") => {
            let count = match action {
                "split" => &mut done.splits,
                _ => &mut done.merges,
            };
            *count += 1;
            let wait_ms = answer["transit_ms"].as_f64();
            wait_ms.into_iter().for_each(|ms| done.waits.record_ms(ms));
        }
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
fn place(random: &mut Random) -> String {
    let partition = canary_rows::partition(random.below(canary_rows::COUNT));
    format!(r#"{{"account":"devstoreaccount1","table":"{TABLE}","partition_key":"{partition}"}}"#)
}
