//! Counts of splits and merges, and how long writes waited for them.

use std::fmt;

use partita_load::LatencyHistogram;
use serde_json::Value;

/// Splits and merges that a test made.
#[derive(Debug, Default)]
pub(crate) struct RangeChanges {
    splits: u64,
    merges: u64,
    /// Splits and merges that the server rolled back.
    rolled_back: u64,
    /// Actions that the server refused: no key to split at, no neighbour, no such range, or too many shared files.
    refused: u64,
    /// How long writes waited for each split and merge.
    waits: LatencyHistogram,
}

impl RangeChanges {
    /// Counts the answer to an action. Returns false if the answer is not one of a split, a merge, a refusal or a
    /// rollback.
    pub(crate) fn count(&mut self, action: &str, status: u16, answer: &Value) -> bool {
        match (status, action) {
            (200, "split") => self.splits += 1,
            (200, "merge") => self.merges += 1,
            (404 | 409, _) => self.refused += 1,
            (503, _) => {
                eprintln!("{action} was rolled back: {answer}");
                self.rolled_back += 1;
            }
            _ => return false,
        }
        if let Some(wait_ms) = answer["transit_ms"].as_f64() {
            self.waits.record_ms(wait_ms);
        }
        true
    }

    /// Splits and merges done.
    pub(crate) fn done(&self) -> u64 {
        self.splits + self.merges
    }

    /// How long writes waited for a split or merge: p50, p99 and maximum, in milliseconds.
    pub(crate) fn waits_ms(&self) -> [f64; 3] {
        [0.5, 0.99, 1.0].map(|at| self.waits.quantile_ms(at))
    }
}

impl fmt::Display for RangeChanges {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} splits, {} merges, {} refused, {} rolled back",
            self.splits, self.merges, self.refused, self.rolled_back
        )
    }
}
