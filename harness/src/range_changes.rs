//! Counts of splits and merges, and how long writes waited for them.

use partita_load::LatencyHistogram;
use serde_json::Value;

/// Splits and merges that a test made.
#[derive(Debug, Default)]
pub(crate) struct RangeChanges {
    pub(crate) splits: u64,
    pub(crate) merges: u64,
    /// Splits and merges that the server rolled back.
    pub(crate) rolled_back: u64,
    /// Actions that the server refused: no key to split at, no neighbour, no such range, or too many shared files.
    pub(crate) refused: u64,
    /// How long writes waited for each split and merge.
    pub(crate) waits: LatencyHistogram,
}

impl RangeChanges {
    /// Counts the answer to an action; false when it is neither a split, a merge, a refusal nor a rollback.
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
}
