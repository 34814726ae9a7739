//! Whose turn it is: start-time fair queueing (Goyal, Vin and Cheng) over flows.
//!
//! Each flow has a time of its own that moves on by what it is given; whoever is least far comes next. A flow that was away
//! begins at the present, so nobody saves up turns, and one that comes back at once begins where it had got to, so nobody gains
//! by leaving.

use std::collections::{BTreeMap, HashMap};

/// Flows that are forgotten late, at most, beyond twice those that wait.
const IDLE_MAX: usize = 64;

/// The order of flows that wait.
#[derive(Debug, Default)]
pub(super) struct Turns {
    /// By their own time, then by arrival.
    ready: BTreeMap<(u64, u64), u64>,
    flows: HashMap<u64, Turn>,
    /// The time of the flow served last.
    now: u64,
    arrivals: u64,
}

#[derive(Debug)]
struct Turn {
    /// Its own time.
    time: u64,
    /// Its place while it waits.
    place: Option<(u64, u64)>,
}

impl Turns {
    /// The flow waits for a turn, if it does not already.
    pub(super) fn join(&mut self, flow: u64) {
        let now = self.now;
        let turn = self.flows.entry(flow).or_insert(Turn {
            time: now,
            place: None,
        });
        if turn.place.is_some() {
            return;
        }
        turn.time = turn.time.max(now);
        self.arrivals += 1;
        let place = (turn.time, self.arrivals);
        turn.place = Some(place);
        self.ready.insert(place, flow);
    }

    /// Who comes next.
    pub(super) fn first(&self) -> Option<u64> {
        self.ready.first_key_value().map(|(_, flow)| *flow)
    }

    /// The flow was given so much, and waits for more or not.
    pub(super) fn served(&mut self, flow: u64, cost: u64, waits: bool) {
        self.leave(flow);
        if let Some(turn) = self.flows.get_mut(&flow) {
            self.now = self.now.max(turn.time);
            turn.time += cost;
        }
        if waits {
            self.join(flow);
        }
        if self.flows.len() > 2 * self.ready.len() + IDLE_MAX {
            let now = self.now;
            self.flows
                .retain(|_, turn| turn.place.is_some() || turn.time > now);
        }
    }

    /// The flow waits no more.
    pub(super) fn leave(&mut self, flow: u64) {
        let turn = self.flows.get_mut(&flow);
        if let Some(place) = turn.and_then(|turn| turn.place.take()) {
            self.ready.remove(&place);
        }
    }

    #[cfg(test)]
    pub(super) fn known(&self) -> usize {
        self.flows.len()
    }
}
