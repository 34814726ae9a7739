//! Looking at the ranges every ten seconds: their heat goes into the history, and the balancer may act.

use super::{ChangeRefused, Manager};
use crate::balance::{Action, Balancer, Cut, Observed, cores};
use futures::future::BoxFuture;
use partita_heat::history::{Archive, Extent, HeatHistory, RangeWindow, until_next_window};
use partita_heat::{Counts, Latency, SplitAdvice, Window};
use partita_range::{Bounds, Range, RangeId};
use partita_rt::{Clock, Shutdown};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What was seen of the ranges of late.
#[derive(Debug, Default)]
pub(super) struct Watched {
    /// A day of it.
    pub(super) history: Arc<HeatHistory>,
    /// The last window of each range.
    pub(super) windows: HashMap<RangeId, Window>,
    /// How many processors each took in it.
    cores: HashMap<RangeId, f64>,
    /// When windows were closed last, or watching began, and the processor time used until then.
    closed: Option<(Instant, Duration)>,
    /// What was in all windows that were closed then, those of ranges that had been replaced too.
    load: Option<Load>,
    /// What ranges saw last that were replaced since windows were closed: it is closed with the others. At most [`REPLACED_MAX`].
    replaced: Vec<(Bounds, Window)>,
    /// How often a range stayed hot and had no key to split it at.
    pub(super) no_split_key: u64,
    /// Splits and merges that the balancer made.
    pub(super) balanced: u64,
}

/// What all ranges did together in the window that was closed last. Ranges that were split or merged meanwhile are in it, as they
/// are not in the windows of those that are there now.
#[derive(Debug, Clone, Default)]
pub struct Load {
    /// How long it was: what a rate divides by.
    pub elapsed: Duration,
    /// What was counted.
    pub counts: Counts,
    /// How long the requests that were served took.
    pub latency: Latency,
}

impl Watched {
    /// How long it is since windows were closed last, and how many processors were busy for the process meanwhile.
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

/// Ranges whose last window is kept until windows are closed; of more the heat is lost. Changes take a tenth of a second each.
const REPLACED_MAX: usize = 128;

impl Manager {
    /// A day of heat.
    pub fn with_heat<T>(&self, read: impl FnOnce(&HeatHistory) -> T) -> T {
        let history = Arc::clone(&self.watched.lock().history);
        read(&history)
    }

    /// The window of a range that was closed last; none for one that was made since.
    #[must_use]
    pub fn last_window(&self, range: RangeId) -> Option<Window> {
        self.watched.lock().windows.get(&range).cloned()
    }

    /// What all ranges did in the window that was closed last; none before the first.
    #[must_use]
    pub fn last_load(&self) -> Option<Load> {
        self.watched.lock().load.clone()
    }

    /// How many processors the requests of a range took in its last window: of what the process took its share of the load, as far as
    /// its requests can have taken so much. An estimate, good enough to tell a range that keeps a processor busy.
    #[must_use]
    pub fn last_cores(&self, range: RangeId) -> Option<f64> {
        self.watched.lock().cores.get(&range).copied()
    }

    /// How often a range stayed hot and had no key to split it at, and how many splits and merges the balancer made.
    #[must_use]
    pub fn balance_counts(&self) -> (u64, u64) {
        let watched = self.watched.lock();
        (watched.no_split_key, watched.balanced)
    }

    /// Watches until shutdown, and acts on what it sees if a balancer is given. What it sees is kept over restarts if there is an
    /// archive for it.
    pub fn start_watching(
        self: &Arc<Self>,
        clock: Arc<dyn Clock>,
        balancer: Option<Balancer>,
        archive: Option<Archive>,
    ) {
        let (manager, shutdown) = (Arc::clone(self), self.tasks.shutdown());
        self.watched.lock().closed = Some((clock.monotonic(), clock.processor()));
        let watching = manager.watch(clock, balancer, archive, shutdown);
        self.tasks.spawn("watch ranges", watching);
    }

    async fn watch(
        self: Arc<Self>,
        clock: Arc<dyn Clock>,
        mut balancer: Option<Balancer>,
        mut archive: Option<Archive>,
        shutdown: Shutdown,
    ) {
        if let Some(archive) = &mut archive {
            tokio::select! {
                () = shutdown.requested() => return,
                () = self.load_heat(archive, &*clock) => {}
            }
        }
        let keeping = archive.map(|archive| self.keep_heat(archive, Arc::clone(&clock)));
        let mut acting: Option<Acting> = None;
        loop {
            tokio::select! {
                () = shutdown.requested() => {
                    self.close_windows(&*clock);
                    return;
                }
                (action, ended) = ended(&mut acting) => {
                    acting = None;
                    if let (Some(balancer), Err(why)) = (&mut balancer, ended) {
                        let has_no_split_key = matches!(why, ChangeRefused::NoSplitKey(_));
                        balancer.note_failed(clock.monotonic(), &action, has_no_split_key);
                        tracing::warn!(%why, ?action, "ranges were not balanced");
                        self.watched.lock().no_split_key = balancer.no_split_key();
                    }
                    continue;
                }
                () = tokio::time::sleep(until_next_window(clock.now())) => {}
            }
            self.close_windows(&*clock);
            if let Some(keeping) = &keeping {
                keeping.send_replace(());
            }
            if let (Some(balancer), None) = (&mut balancer, &acting) {
                let action = balancer.decide(clock.monotonic(), &self.observe());
                self.watched.lock().no_split_key = balancer.no_split_key();
                acting = action.map(|action| (action.clone(), Arc::clone(&self).balance(action)));
            }
        }
    }

    /// Closes the window of a range that was replaced, or the load that led to a split would be missing where it is looked for.
    pub(super) fn keep_last_window(&self, range: &Range) {
        let window = range.heat().roll(tokio::time::Instant::now().into_std());
        let replaced = &mut self.watched.lock().replaced;
        if replaced.len() < REPLACED_MAX {
            replaced.push((range.bounds().clone(), window));
        }
    }

    /// Closes the window of every range and keeps it.
    fn close_windows(&self, clock: &dyn Clock) {
        let (now, ranges) = (clock.monotonic(), self.map.ranges());
        let windows: Vec<Window> = ranges
            .iter()
            .map(|served| served.range.heat().roll(now))
            .collect();
        let (history, replaced) = {
            let mut watched = self.watched.lock();
            let replaced = std::mem::take(&mut watched.replaced);
            (Arc::clone(&watched.history), replaced)
        };
        let bounds = ranges.iter().map(|served| served.range.bounds());
        let replaced = replaced.iter().map(|(bounds, window)| (bounds, window));
        let kept: Vec<RangeWindow<'_>> = bounds
            .zip(&windows)
            .chain(replaced)
            .map(|(bounds, window)| RangeWindow {
                extent: Extent {
                    start: bounds.start.clone(),
                    end: bounds.end.clone(),
                },
                window,
            })
            .collect();
        history.record(clock.now(), &kept);
        let mut all = Load::default();
        for range in &kept {
            all.counts += range.window.counts;
            all.latency += &range.window.latency;
        }
        let load = all.counts.load();
        let mut watched = self.watched.lock();
        let (elapsed, busy) = watched.since_closed(now, clock.processor());
        watched.load = Some(Load { elapsed, ..all });
        let ids = || ranges.iter().map(|served| served.range.id());
        let cores = windows.iter().map(|window| cores(window, load, busy));
        watched.cores = ids().zip(cores).collect();
        watched.windows = ids().zip(windows.iter().cloned()).collect();
    }

    /// The ranges as the balancer sees them.
    fn observe(&self) -> Vec<Observed> {
        let ranges = self.map.ranges();
        let watched = self.watched.lock();
        let observed = ranges.iter().map(|served| {
            let (id, shape) = (served.range.id(), served.range.engine().file_layout());
            let rate = watched.windows.get(&id).map_or(0.0, rate);
            let cores = watched.cores.get(&id).copied().unwrap_or_default();
            let cut = match served.range.heat().split_point() {
                SplitAdvice::Cut { key, .. } => Cut::At(key),
                SplitAdvice::OneHotPartition { .. } | SplitAdvice::GrowsAtOneEnd { .. } => {
                    Cut::Nowhere
                }
                SplitAdvice::NotEnoughLoad => Cut::Unknown,
            };
            Observed {
                id,
                bytes: shape.bytes,
                rate,
                cores,
                cut,
                rewriting: shape.sources > 0,
            }
        });
        observed.collect()
    }

    /// What it begins is a task of its own, which goes on while nobody waits for it.
    fn balance(self: Arc<Self>, action: Action) -> BoxFuture<'static, Result<(), ChangeRefused>> {
        Box::pin(async move {
            match action {
                Action::SplitBySize(range) => self.split(range, None).await.map(|_| ())?,
                Action::SplitByLoad(range, at) => self.split(range, Some(at)).await.map(|_| ())?,
                Action::Merge(left, right) => self.merge(left, right).await.map(|_| ())?,
            }
            self.watched.lock().balanced += 1;
            Ok(())
        })
    }
}

/// What the balancer does now, at most one thing, and how it ends. It may take long: windows are closed meanwhile.
type Acting = (Action, BoxFuture<'static, Result<(), ChangeRefused>>);

/// Waits for what the balancer does; for ever if that is nothing. Cancel safe.
async fn ended(acting: &mut Option<Acting>) -> (Action, Result<(), ChangeRefused>) {
    match acting {
        Some((action, ending)) => {
            let ended = ending.await;
            (action.clone(), ended)
        }
        None => std::future::pending().await,
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
