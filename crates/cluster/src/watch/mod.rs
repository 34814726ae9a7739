//! Watching the ranges: every ten seconds their reports go into the heat history and to the controller, which may balance.
//!
//! It works on [reports](crate::host::HostReport) only, never on ranges that are open here.

mod keep;

use crate::balance::{Observed, cores};
use crate::controller::Event;
use crate::driver::Driver;
use crate::host::{HostReport, ReportDetail};
use parking_lot::Mutex;
use partita_heat::history::{Archive, Extent, HeatHistory, RangeWindow, until_next_window};
use partita_heat::{Counts, Latency, Window};
use partita_range::{Bounds, RangeId};
use partita_rt::Shutdown;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What all ranges did together in the last window, those included that were replaced meanwhile.
#[derive(Debug, Clone, Default)]
pub struct StoreLoad {
    /// How long the window was: what a rate divides by.
    pub elapsed: Duration,
    /// What was counted.
    pub counts: Counts,
    /// How long the requests that were served took.
    pub latency: Latency,
}

/// What was seen of the ranges.
pub(crate) struct Watch {
    driver: Arc<Driver>,
    seen: Mutex<Seen>,
}

#[derive(Debug, Default)]
struct Seen {
    /// A day of heat.
    history: Arc<HeatHistory>,
    /// The last window of each range.
    windows: HashMap<RangeId, Window>,
    /// How many processors each used in it.
    cores: HashMap<RangeId, f64>,
    load: Option<StoreLoad>,
    /// When the last window ended, or watching began, and the processor time of the process until then.
    closed: Option<(Instant, Duration)>,
}

impl Seen {
    /// The time since the last window, and how many processors the process kept busy in it.
    fn since_closed(&mut self, now: Instant, used: Duration) -> (Duration, f64) {
        let (before, used_before) = self.closed.replace((now, used)).unwrap_or((now, used));
        let elapsed = now.saturating_duration_since(before);
        let used = used.saturating_sub(used_before).as_secs_f64();
        match elapsed.is_zero() {
            true => (elapsed, 0.0),
            false => (elapsed, used / elapsed.as_secs_f64()),
        }
    }
}

impl Watch {
    /// Has seen nothing yet.
    pub(crate) fn new(driver: Arc<Driver>) -> Self {
        Self {
            driver,
            seen: Mutex::default(),
        }
    }

    pub(crate) fn history(&self) -> Arc<HeatHistory> {
        Arc::clone(&self.seen.lock().history)
    }

    pub(crate) fn last_window(&self, range: RangeId) -> Option<Window> {
        self.seen.lock().windows.get(&range).cloned()
    }

    pub(crate) fn last_load(&self) -> Option<StoreLoad> {
        self.seen.lock().load.clone()
    }

    pub(crate) fn last_cores(&self, range: RangeId) -> Option<f64> {
        self.seen.lock().cores.get(&range).copied()
    }

    /// Watches until shutdown. With an archive, the history outlives the process.
    pub(crate) fn start(self: &Arc<Self>, archive: Option<Archive>) {
        let parts = self.driver.parts();
        let (tasks, clock) = (&parts.tasks, &parts.clock);
        self.seen.lock().closed = Some((clock.monotonic(), clock.processor()));
        let watching = Arc::clone(self).run(archive, tasks.shutdown());
        tasks.spawn("watch ranges", watching);
    }

    async fn run(self: Arc<Self>, mut archive: Option<Archive>, shutdown: Shutdown) {
        let clock = Arc::clone(&self.driver.parts().clock);
        if let Some(archive) = &mut archive {
            tokio::select! {
                () = shutdown.requested() => return,
                () = self.load_history(archive, &*clock) => {}
            }
        }
        let keeping = archive.map(|archive| self.keep_history(archive));
        loop {
            tokio::select! {
                () = shutdown.requested() => {
                    self.close_window(ReportDetail::Windows);
                    return;
                }
                () = tokio::time::sleep(until_next_window(clock.now())) => {}
            }
            let is_balancing = self.driver.with_state(|state| state.is_balancing());
            let detail = match is_balancing {
                true => ReportDetail::SplitPoints,
                false => ReportDetail::Windows,
            };
            let report = self.close_window(detail);
            if let Some(keeping) = &keeping {
                keeping.send_replace(());
            }
            if is_balancing {
                let (now, ranges) = (clock.monotonic(), self.observed(report));
                self.driver.feed(Event::Observed { now, ranges });
            }
        }
    }

    /// Closes the window of every range and keeps what was in it.
    fn close_window(&self, detail: ReportDetail) -> HostReport {
        let parts = self.driver.parts();
        let now = parts.clock.monotonic();
        let report = parts.host.report(now, detail);
        let served = report
            .ranges
            .iter()
            .map(|range| (&range.bounds, &range.window));
        let replaced = report
            .replaced
            .iter()
            .map(|range| (&range.bounds, &range.window));
        let windows: Vec<RangeWindow<'_>> = served
            .chain(replaced)
            .map(|(bounds, window)| RangeWindow {
                extent: extent(bounds),
                window,
            })
            .collect();
        self.history().record(parts.clock.now(), &windows);
        let mut load = StoreLoad::default();
        for range in &windows {
            load.counts += range.window.counts;
            load.latency += &range.window.latency;
        }
        let total = load.counts.load();
        let mut seen = self.seen.lock();
        let (elapsed, busy) = seen.since_closed(now, parts.clock.processor());
        seen.load = Some(StoreLoad { elapsed, ..load });
        let ranges = report.ranges.iter();
        seen.cores = ranges
            .clone()
            .map(|range| (range.id, cores(&range.window, total, busy)))
            .collect();
        seen.windows = ranges
            .map(|range| (range.id, range.window.clone()))
            .collect();
        drop(seen);
        report
    }

    /// The ranges as the balancer sees them.
    fn observed(&self, report: HostReport) -> Vec<Observed> {
        let seen = self.seen.lock();
        let observed = report.ranges.into_iter().map(|range| Observed {
            id: range.id,
            bytes: range.bytes,
            rate: rate(&range.window),
            cores: seen.cores.get(&range.id).copied().unwrap_or_default(),
            split_point: range.split_point,
            detaching: range.detaching,
        });
        observed.collect()
    }
}

fn extent(bounds: &Bounds) -> Extent {
    Extent {
        start: bounds.start.clone(),
        end: bounds.end.clone(),
    }
}

/// Requests a second in a window.
#[must_use]
pub fn rate(window: &Window) -> f64 {
    let seconds = window.elapsed.as_secs_f64();
    if seconds > 0.0 {
        #[allow(clippy::cast_precision_loss, reason = "a rate")]
        let requests = window.counts.requests() as f64;
        requests / seconds
    } else {
        0.0
    }
}
