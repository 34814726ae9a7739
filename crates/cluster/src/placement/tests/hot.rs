//! A range becomes hot on an idle cluster: how long until half of its load is on another server, with the times of a real
//! cluster.

use super::*;
use crate::{BalanceAction, BalanceSettings, Balancer, Observed, SplitPoint};
use bytes::Bytes;

/// The length of a window, after which the servers report.
const WINDOW: Duration = Duration::from_secs(2);
/// How long a split and a move take over an object store: estimates with a reserve.
const SPLIT: Duration = Duration::from_secs(1);
const MOVE: Duration = Duration::from_millis(600);
const TICK: Duration = Duration::from_millis(100);
/// The load of the hot range: processors, and requests a second of each.
const CORES: f64 = 1.2;
const RATE: f64 = 10_000.0;

/// A change under way: when it ends.
enum Change {
    Split,
    Move(Move),
}

struct HotRange {
    time: Duration,
    begins: Duration,
    balancer: Balancer,
    placer: Placer,
    servers: Vec<ServerView>,
    /// The ranges, the hot ones last.
    views: Vec<RangeView>,
    under_way: Option<(Duration, Change)>,
}

impl HotRange {
    fn new(begins: Duration) -> Self {
        let view = |id: u64, owner: &str| RangeView {
            id: RangeId(id),
            owner: Some(Arc::from(owner)),
            cores: Some(0.0),
            changing: false,
        };
        Self {
            time: Duration::ZERO,
            begins,
            balancer: Balancer::new(BalanceSettings {
                by_load: true,
                hot_for: Duration::from_secs(4),
                ..BalanceSettings::default()
            }),
            placer: Placer::new(PlacementSettings::default()),
            servers: (0..3).map(server).collect(),
            views: vec![view(1, "a"), view(2, "b"), view(3, "c"), view(4, "b")],
            under_way: None,
        }
    }

    /// The part of the load of a range that the last window contained.
    fn in_window(&self) -> f64 {
        let since = self.time.saturating_sub(self.begins).min(WINDOW);
        since.as_secs_f64() / WINDOW.as_secs_f64()
    }

    fn report(&mut self) {
        let part = self.in_window();
        let hot: Vec<usize> = (3..self.views.len()).collect();
        for index in &hot {
            self.views[*index].cores = Some(CORES * part / hot.len() as f64);
        }
    }

    fn decide(&mut self, now: Instant) {
        let observe = |range: &RangeView| Observed {
            id: range.id,
            bytes: 0,
            rate: range.cores.unwrap_or(0.0) * RATE,
            cores: range.cores.unwrap_or(0.0),
            split_point: SplitPoint::At(Bytes::from_static(b"m")),
            detaching: false,
        };
        let observed: Vec<Observed> = self.views.iter().map(observe).collect();
        let action = self.balancer.decide(now, &observed, self.servers.len());
        if matches!(action, Some(BalanceAction::SplitByLoad(RangeId(4), _))) {
            self.views[3].changing = true;
            self.under_way = Some((self.time + SPLIT, Change::Split));
        }
    }

    fn finish(&mut self, change: Change) {
        match change {
            Change::Split => {
                let parent = self.views.remove(3);
                let child = |id: u64| RangeView {
                    id: RangeId(id),
                    cores: None,
                    changing: false,
                    owner: parent.owner.clone(),
                };
                self.views.extend([child(5), child(6)]);
            }
            Change::Move(decided) => {
                let found = self.views.iter_mut().find(|view| view.id == decided.range);
                found.unwrap().owner = Some(decided.to);
            }
        }
    }

    /// One tick. The manager decides each second, on the windows of two.
    fn tick(&mut self) {
        let now = *BEGAN + self.time;
        let at = |step: Duration| self.time.as_millis().is_multiple_of(step.as_millis());
        let (is_window, is_second) = (at(WINDOW), at(SECOND));
        if let Some((_, change)) = self.under_way.take_if(|(ends, _)| *ends <= self.time) {
            self.finish(change);
        }
        if is_window {
            self.report();
            self.decide(now);
        }
        if is_second && self.under_way.is_none() {
            let moves = self.placer.balance(now, &self.servers, &self.views);
            if let Some(decided) = moves.into_iter().next() {
                self.under_way = Some((self.time + MOVE, Change::Move(decided)));
            }
        }
        self.time += TICK;
    }

    fn is_divided(&self) -> bool {
        let [.., left, right] = &self.views[..] else {
            return false;
        };
        self.views.len() == 5 && left.owner != right.owner
    }
}

static BEGAN: std::sync::LazyLock<Instant> = std::sync::LazyLock::new(Instant::now);

#[test]
fn half_of_a_hot_range_is_on_another_server_within_ten_seconds() {
    let mut slowest = Duration::ZERO;
    for offset in 0..20 {
        let begins = Duration::from_secs(90) + offset * TICK;
        let mut world = HotRange::new(begins);
        while !world.is_divided() {
            assert!(world.time < begins + Duration::from_secs(60));
            world.tick();
        }
        slowest = slowest.max(world.time - begins);
    }
    eprintln!("half of the load is on another server after at most {slowest:?}");
    assert!(slowest <= Duration::from_secs(10), "{slowest:?}");
}
