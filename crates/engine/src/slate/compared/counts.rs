//! How many reads were compared, and how many of them differed.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::EngineMetric;

/// Counts of all databases.
#[derive(Debug, Default)]
pub(in crate::slate) struct ComparisonCounts {
    /// Gets and pages of scans that both readers answered.
    comparisons: AtomicU64,
    differences: AtomicU64,
}

impl ComparisonCounts {
    /// Counts a comparison.
    pub(super) fn count(&self, differs: bool) {
        self.comparisons.fetch_add(1, Ordering::Relaxed);
        self.differences
            .fetch_add(u64::from(differs), Ordering::Relaxed);
    }

    pub(in crate::slate) fn metrics(&self) -> [EngineMetric; 2] {
        let metric = |name: &str, help: &str, count: &AtomicU64| EngineMetric {
            name: name.to_owned(),
            labels: Vec::new(),
            help: help.to_owned(),
            counter: true,
            value: count.load(Ordering::Relaxed) as f64,
        };
        [
            metric(
                "reader.comparisons",
                "Gets and pages of scans that both readers answered",
                &self.comparisons,
            ),
            metric(
                "reader.differences",
                "Gets and pages of scans for which the readers returned different rows",
                &self.differences,
            ),
        ]
    }
}
