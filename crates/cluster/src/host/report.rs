//! What a host reports of its ranges, for heat history and balancer.

use super::local::LocalHost;
use crate::balance::SplitPoint;
use crate::map::Served;
use partita_heat::{SplitAdvice, Window};
use partita_range::{Bounds, Range, RangeId};
use std::time::Instant;

/// Ranges whose last window is kept until the next report; the heat of more is lost. A change takes a tenth of a second.
const REPLACED_MAX: usize = 128;

/// How much a report contains.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReportDetail {
    /// Windows and sizes.
    Windows,
    /// Also where each range could be split by load, which costs up to a millisecond a range.
    SplitPoints,
}

/// What the ranges of a host did since the last report.
#[derive(Debug, Clone, Default)]
pub struct HostReport {
    /// The ranges served now, in key order.
    pub ranges: Vec<RangeReport>,
    /// Ranges that were replaced since.
    pub replaced: Vec<ReplacedReport>,
}

/// What a range did.
#[derive(Debug, Clone)]
pub struct RangeReport {
    /// Which range.
    pub id: RangeId,
    /// Its keys.
    pub bounds: Bounds,
    /// Requests and latencies.
    pub window: Window,
    /// Its bytes in files.
    pub bytes: u64,
    /// Whether it is still copying files that it shares with other databases.
    pub detaching: bool,
    /// Where a split would divide its load; unknown unless the report was asked for it.
    pub split_point: SplitPoint,
}

/// What a range did before it was replaced.
#[derive(Debug, Clone)]
pub struct ReplacedReport {
    /// Its keys.
    pub bounds: Bounds,
    /// Requests and latencies.
    pub window: Window,
}

impl LocalHost {
    pub(super) fn close_windows(&self, now: Instant, detail: ReportDetail) -> HostReport {
        let ranges = self.map().ranges();
        HostReport {
            ranges: ranges
                .iter()
                .map(|served| report(served, now, detail))
                .collect(),
            replaced: std::mem::take(&mut *self.replaced.lock()),
        }
    }

    /// Closes the window of a range that was replaced, so that the load that led to a split is not missing from the next report.
    pub(super) fn keep_last_window(&self, range: &Range) {
        let window = range.heat().roll(tokio::time::Instant::now().into_std());
        let mut replaced = self.replaced.lock();
        if replaced.len() < REPLACED_MAX {
            let bounds = range.bounds().clone();
            replaced.push(ReplacedReport { bounds, window });
        }
    }
}

fn report(served: &Served, now: Instant, detail: ReportDetail) -> RangeReport {
    let range = &served.range;
    let layout = range.engine().file_layout();
    let window = range.heat().roll(now);
    RangeReport {
        id: range.id(),
        bounds: range.bounds().clone(),
        window,
        bytes: layout.bytes,
        detaching: layout.sources > 0,
        split_point: match detail {
            ReportDetail::Windows => SplitPoint::Unknown,
            ReportDetail::SplitPoints => split_point(range),
        },
    }
}

fn split_point(range: &Range) -> SplitPoint {
    match range.heat().split_point() {
        SplitAdvice::Cut { key, .. } => SplitPoint::At(key),
        SplitAdvice::OneHotPartition { .. } | SplitAdvice::GrowsAtOneEnd { .. } => SplitPoint::None,
        SplitAdvice::NotEnoughLoad => SplitPoint::Unknown,
    }
}
