//! The servers of a cluster, as the registry lists them.

use super::shapes;
use partita_coordinator::{RangeState, Table};
use partita_range::RangeId;

/// Whether a range is served, or is being opened, by a server that is alive.
pub(crate) fn has_living_owner(table: &Table, range: RangeId) -> bool {
    let key = table.ranges().get(&shapes::id(range));
    let owner = key.and_then(|key| key.record.owner());
    owner.is_some_and(|owner| table.is_alive(&owner.name, owner.life))
}

/// The server that serves a range.
pub(crate) fn serving_owner(table: &Table, range: RangeId) -> Option<String> {
    let key = table.ranges().get(&shapes::id(range))?;
    match &key.record.state {
        RangeState::Serving { owner, .. } => Some(owner.name.clone()),
        RangeState::Opening { .. } | RangeState::Released => None,
    }
}

/// Whether a server is alive and may get ranges.
pub(crate) fn takes_ranges(table: &Table, server: &str) -> bool {
    let server = table.servers().get(server);
    server.is_some_and(|server| {
        let info = &server.record.info;
        info.takes_ranges() && !info.draining
    })
}
