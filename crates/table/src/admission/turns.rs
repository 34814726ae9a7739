//! Whose turn it is, of flows that wait.
//!
//! Each flow has a time of its own that moves on by what it is given. A flow that was away begins at the present, so nobody saves
//! up turns; one that comes back at once begins where it had got to, so nobody gains by leaving. Two orders:
//!
//! - by start (Goyal, Vin and Cheng): whoever is least far comes next, and the present is where that one is. It does not matter what
//!   they ask for.
//! - by finish (Demers, Keshav and Shenker): whoever will be least far once it was given what it asks for. The present moves on as
//!   if all that wait were served at once, each a little. So a small request does not stand behind the large ones of a crowd that
//!   came before it, and a large one waits for no more than what a fair share makes of it.

use std::collections::{BTreeMap, HashMap};

/// Flows that are forgotten late, at most, beyond twice those that wait.
const IDLE_MAX: usize = 64;

/// Times are finer than what is asked for, so that a share of a small request is not nothing. Enough for 2^48 bytes before the
/// queue is empty once.
const FINENESS: u32 = 16;

/// What comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    /// Who is least far.
    Start,
    /// Who will be least far.
    Finish,
}

/// The order of flows that wait.
#[derive(Debug)]
pub(super) struct Turns {
    order: Order,
    /// By time, then by arrival.
    ready: BTreeMap<(u64, u64), u64>,
    flows: HashMap<u64, Turn>,
    /// Where a flow begins that comes now.
    present: u64,
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
    pub(super) fn new(order: Order) -> Self {
        Self {
            order,
            ready: BTreeMap::new(),
            flows: HashMap::new(),
            present: 0,
            arrivals: 0,
        }
    }

    /// The flow waits for a turn, if it does not already, and asks for so much.
    pub(super) fn join(&mut self, flow: u64, ask: u64) {
        let present = self.present;
        let turn = self.flows.entry(flow).or_insert(Turn {
            time: present,
            place: None,
        });
        if turn.place.is_some() {
            return;
        }
        turn.time = turn.time.max(present);
        self.arrivals += 1;
        let time = match self.order {
            Order::Start => turn.time,
            Order::Finish => turn.time.saturating_add(ask << FINENESS),
        };
        let place = (time, self.arrivals);
        turn.place = Some(place);
        self.ready.insert(place, flow);
    }

    /// Who comes next.
    pub(super) fn first(&self) -> Option<u64> {
        self.ready.first_key_value().map(|(_, flow)| *flow)
    }

    /// The flow was given so much; `next` is what it asks for now, if it waits for more.
    pub(super) fn served(&mut self, flow: u64, cost: u64, next: Option<u64>) {
        let waited = self.ready.len() as u64;
        self.leave(flow);
        let given = cost << FINENESS;
        if let Some(turn) = self.flows.get_mut(&flow) {
            self.present = match self.order {
                Order::Start => self.present.max(turn.time),
                Order::Finish => self.present.saturating_add(given / waited.max(1)),
            };
            turn.time = turn.time.saturating_add(given);
        }
        if let Some(ask) = next {
            self.join(flow, ask);
        }
        if self.flows.len() > 2 * self.ready.len() + IDLE_MAX {
            let present = self.present;
            self.flows
                .retain(|_, turn| turn.place.is_some() || turn.time > present);
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
