//! Which server gets which range, and the moves that are under way.

use crate::balance::Observed;
use crate::coordinator::{has_living_owner, registry_id, takes_ranges};
use crate::placement::{Move, PlacementSettings, Placer, RangeView, ServerView};
use parking_lot::Mutex;
use partita_coordinator::{Owner, RangeState, Table};
use partita_range::RangeId;
use partita_rt::Clock;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// Chooses the servers of ranges, with what the manager knows of their load.
#[derive(Debug)]
pub(crate) struct Placement {
    clock: Arc<dyn Clock>,
    placer: Mutex<Placer>,
    /// The processors that each range used in its last window.
    cores: Mutex<HashMap<RangeId, f64>>,
    /// The server that a range is being moved to.
    targets: Mutex<HashMap<RangeId, String>>,
}

impl Placement {
    pub(crate) fn new(settings: PlacementSettings, clock: Arc<dyn Clock>) -> Self {
        Self {
            clock,
            placer: Mutex::new(Placer::new(settings)),
            cores: Mutex::default(),
            targets: Mutex::default(),
        }
    }

    /// Notes the load of all ranges.
    pub(crate) fn note(&self, ranges: &[Observed]) {
        let cores = ranges.iter().map(|range| (range.id, range.cores));
        *self.cores.lock() = cores.collect();
    }

    /// The processors that a range used, as last noted.
    pub(crate) fn cores(&self, range: RangeId) -> Option<f64> {
        self.cores.lock().get(&range).copied()
    }

    /// Prefers a server for a range until the guard is dropped. `None` if the range is being moved already.
    pub(crate) fn prefer(self: &Arc<Self>, range: RangeId, server: &str) -> Option<Preference> {
        let mut targets = self.targets.lock();
        if targets.contains_key(&range) {
            return None;
        }
        targets.insert(range, server.to_owned());
        Some(Preference {
            placement: Arc::clone(self),
            range,
        })
    }

    /// Servers for those of `ranges`, all ranges of the map, that have no living owner. Fewer if too few servers take
    /// ranges.
    pub(crate) fn owners(&self, table: &Table, ranges: &[RangeId]) -> BTreeMap<RangeId, Owner> {
        let (servers, views) = (servers(table), self.ranges(table, ranges));
        let placed = self
            .placer
            .lock()
            .place(self.clock.monotonic(), &servers, &views);
        let targets = self.targets.lock();
        let owners = placed.into_iter().filter_map(|(range, server)| {
            let target = targets.get(&range).map(String::as_str);
            let target = target.filter(|target| takes_ranges(table, target));
            let owner = owner(table, target.unwrap_or(&server))?;
            Some((range, owner))
        });
        owners.collect()
    }

    /// The moves that balance the load of `ranges`, all ranges of the map, or empty a draining server. Only the latter if
    /// balancing is off.
    pub(crate) fn moves(&self, table: &Table, ranges: &[RangeId]) -> Vec<Move> {
        let (servers, views) = (servers(table), self.ranges(table, ranges));
        let mut placer = self.placer.lock();
        let now = self.clock.monotonic();
        match table.balances() {
            true => placer.balance(now, &servers, &views),
            false => placer.drain(now, &servers, &views),
        }
    }

    fn ranges(&self, table: &Table, ranges: &[RangeId]) -> Vec<RangeView> {
        let (cores, targets) = (self.cores.lock(), self.targets.lock());
        let view = |range: &RangeId| {
            let key = table.ranges().get(&registry_id(*range));
            let is_served =
                key.is_some_and(|key| matches!(key.record.state, RangeState::Serving { .. }));
            let owner = key.and_then(|key| key.record.owner());
            let owner = owner.filter(|_| has_living_owner(table, *range));
            RangeView {
                id: *range,
                owner: owner.map(|owner| owner.name.as_str().into()),
                cores: cores.get(range).copied(),
                changing: !is_served || targets.contains_key(range),
            }
        };
        ranges.iter().map(view).collect()
    }
}

/// The living servers.
fn servers(table: &Table) -> Vec<ServerView> {
    let servers = table.servers().iter().map(|(name, server)| ServerView {
        name: name.as_str().into(),
        draining: server.record.info.draining,
        takes_ranges: server.record.info.takes_ranges(),
    });
    servers.collect()
}

/// How many servers take ranges, also those that are being drained.
pub(super) fn servers_with_ranges(table: &Table) -> usize {
    let servers = servers(table).into_iter();
    servers.filter(|server| server.takes_ranges).count()
}

fn owner(table: &Table, server: &str) -> Option<Owner> {
    let found = table.servers().get(server)?;
    Some(Owner {
        name: server.to_owned(),
        life: found.record.life,
    })
}

/// A preferred server of a range, until it is dropped.
#[derive(Debug)]
pub(crate) struct Preference {
    placement: Arc<Placement>,
    range: RangeId,
}

impl Drop for Preference {
    fn drop(&mut self) {
        self.placement.targets.lock().remove(&self.range);
    }
}
