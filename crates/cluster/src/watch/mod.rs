//! Watches the ranges of this process: every ten seconds, adds their reports to the heat history and gives them to an
//! observer, such as the balancer.

mod keep;
mod recent;

use crate::balance::{Observed, cores};
use crate::host::{HostReport, LocalHost, ReportDetail};
use parking_lot::Mutex;
use partita_heat::history::{Archive, HeatHistory, RangeWindow, until_next_window};
use partita_heat::{Counts, Latency, Window};
use partita_range::RangeId;
use partita_rt::{Clock, Tasks};
use recent::RecentLoad;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The load of all ranges in the last window, including ranges that were replaced during it.
#[derive(Debug, Clone, Default)]
pub struct StoreLoad {
    /// The length of the window, for rates.
    pub elapsed: Duration,
    /// The requests.
    pub counts: Counts,
    /// The latencies of served requests.
    pub latency: Latency,
}

/// Gets the observations of each window.
pub(crate) trait Observer: Send + Sync + 'static {
    /// Whether it needs split points, which cost time.
    fn needs_split_points(&self) -> bool;

    /// The observations of the last window, in key order.
    fn observed(&self, now: Instant, ranges: Vec<Observed>);
}

/// The observed load of the ranges of this process.
pub(crate) struct Watch {
    host: Arc<LocalHost>,
    clock: Arc<dyn Clock>,
    seen: Mutex<Seen>,
    recent: RecentLoad,
}

#[derive(Debug, Default)]
struct Seen {
    /// The load of a day.
    history: Arc<HeatHistory>,
    /// The last window of each range.
    windows: HashMap<RangeId, Window>,
    /// The estimated processors of each range in the last window.
    cores: HashMap<RangeId, f64>,
    load: Option<StoreLoad>,
    /// The end of the last window, or the start of watching, and the processor time of the process at that moment.
    closed: Option<(Instant, Duration)>,
}

impl Seen {
    /// The time since the last window, and the processors that the process used in that time.
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
    /// A watch that has not observed any load.
    pub(crate) fn new(host: Arc<LocalHost>, clock: Arc<dyn Clock>) -> Self {
        Self {
            host,
            clock,
            seen: Mutex::default(),
            recent: RecentLoad::default(),
        }
    }

    /// The observations of the ranges since the last call, for a manager that asks every two seconds.
    pub(crate) fn observe_recent(&self) -> Vec<Observed> {
        self.recent.observe(&self.host, &*self.clock)
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

    /// Watches until shutdown. With an archive, the history survives restarts.
    pub(crate) fn start(
        self: &Arc<Self>,
        archive: Option<Archive>,
        observer: Arc<dyn Observer>,
        tasks: &Tasks,
    ) {
        let clock = &self.clock;
        self.seen.lock().closed = Some((clock.monotonic(), clock.processor()));
        let watching = Arc::clone(self).run(archive, observer, tasks.clone());
        tasks.spawn("watch ranges", watching);
    }

    async fn run(
        self: Arc<Self>,
        mut archive: Option<Archive>,
        observer: Arc<dyn Observer>,
        tasks: Tasks,
    ) {
        let shutdown = tasks.shutdown();
        let clock = Arc::clone(&self.clock);
        if let Some(archive) = &mut archive {
            tokio::select! {
                () = shutdown.requested() => return,
                () = self.load_history(archive, &*clock) => {}
            }
        }
        let keeping = archive.map(|archive| self.keep_history(archive, &tasks));
        loop {
            tokio::select! {
                () = shutdown.requested() => {
                    self.close_window(ReportDetail::Windows);
                    return;
                }
                () = tokio::time::sleep(until_next_window(clock.now())) => {}
            }
            let needs_split_points = observer.needs_split_points();
            let detail = match needs_split_points {
                true => ReportDetail::SplitPoints,
                false => ReportDetail::Windows,
            };
            let report = self.close_window(detail);
            if let Some(keeping) = &keeping {
                keeping.send_replace(());
            }
            if needs_split_points {
                observer.observed(clock.monotonic(), self.observed(report));
            }
        }
    }

    /// Closes the window of every range and stores its load.
    fn close_window(&self, detail: ReportDetail) -> HostReport {
        let now = self.clock.monotonic();
        let report = self.host.close_windows(now, detail);
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
                bounds: bounds.clone(),
                window,
            })
            .collect();
        self.history().record(self.clock.now(), &windows);
        let mut load = StoreLoad::default();
        for range in &windows {
            load.counts += range.window.counts;
            load.latency += &range.window.latency;
        }
        let total = load.counts.load();
        let mut seen = self.seen.lock();
        let (elapsed, busy) = seen.since_closed(now, self.clock.processor());
        seen.load = Some(StoreLoad { elapsed, ..load });
        let ranges = report.ranges.iter();
        seen.cores = ranges
            .clone()
            .map(|range| {
                let (counts, elapsed) = (&range.window.counts, range.window.elapsed);
                (range.id, cores(counts, elapsed, total, busy))
            })
            .collect();
        seen.windows = ranges
            .map(|range| (range.id, range.window.clone()))
            .collect();
        drop(seen);
        report
    }

    /// The observations for the balancer.
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

/// The requests per second in a window.
#[must_use]
pub fn rate(window: &Window) -> f64 {
    let seconds = window.elapsed.as_secs_f64();
    if seconds > 0.0 {
        window.counts.requests() as f64 / seconds
    } else {
        0.0
    }
}
