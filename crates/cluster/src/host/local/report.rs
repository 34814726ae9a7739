//! Closes the heat windows of the ranges, for heat history and balancer.

use super::LocalHost;
use crate::balance::SplitPoint;
use crate::host::{HostReport, RangeReport, ReplacedReport, ReportDetail};
use crate::map::Served;
use partita_heat::SplitAdvice;
use partita_range::Range;
use std::time::Instant;

/// The maximum number of replaced ranges in one report. A change takes a tenth of a second.
const REPLACED_MAX: usize = 128;

impl LocalHost {
    pub(crate) fn close_windows(&self, now: Instant, detail: ReportDetail) -> HostReport {
        let ranges = self.map().ranges();
        HostReport {
            ranges: ranges
                .iter()
                .map(|served| report(served, now, detail))
                .collect(),
            replaced: std::mem::take(&mut *self.replaced.lock()),
        }
    }

    /// Closes the window of a replaced range, so that the next report includes the load that led to a split.
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
            ReportDetail::SplitPoints => SplitPoint::of(range),
        },
    }
}

impl SplitPoint {
    /// The key at which a split would divide the load of a range. Takes up to a millisecond.
    pub(crate) fn of(range: &Range) -> Self {
        match range.heat().split_point() {
            SplitAdvice::Cut { key, .. } => Self::At(key),
            SplitAdvice::OneHotPartition { .. } | SplitAdvice::GrowsAtOneEnd { .. } => Self::None,
            SplitAdvice::NotEnoughLoad => Self::Unknown,
        }
    }
}
