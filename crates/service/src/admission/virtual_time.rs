//! The order of flows that wait, by virtual time.
//!
//! Each flow has a virtual time that advances by the cost of its served requests. The *present* is the queue's own
//! virtual time. A flow that returns after an absence starts at the present, so it has saved no credit. A flow that
//! returns at once continues at its own virtual time, so it gains nothing by leaving. There are two orders:
//!
//! - by start (Goyal, Vin and Cheng): the flow with the least virtual time is next, and the present is its time. The
//!   cost of the request does not matter.
//! - by finish (Demers, Keshav and Shenker): the flow that will have the least virtual time after its request is next.
//!   The present advances as if all waiting flows were served at once, each a little. So a small request does not wait
//!   for earlier large ones of many flows, and a large one waits no longer than its fair share requires.

use std::collections::{BTreeMap, HashMap};

/// Idle flows whose virtual time is not after the present are dropped when there are more flows than twice the waiting
/// ones plus this number.
const IDLE_MAX: usize = 64;

/// Virtual time is a fixed-point number with this many binary digits for fractions of a unit of cost, so that the share
/// of a small request is above zero. The other 48 bits suffice for 2^48 bytes before the queue is empty again.
const FRACTION_BITS: u32 = 16;

/// The rule that decides which flow is next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    /// The flow with the least virtual time.
    Start,
    /// The flow that will have the least virtual time after its request.
    Finish,
}

/// The position in the order: by virtual time, then by arrival.
type Position = (u64, u64);

/// Waiting flows in fair order.
#[derive(Debug)]
pub(super) struct VirtualTimeQueue {
    order: Order,
    waiting: BTreeMap<Position, u64>,
    flows: HashMap<u64, FlowState>,
    /// The virtual time at which a new flow starts.
    present: u64,
    arrivals: u64,
}

#[derive(Debug)]
struct FlowState {
    virtual_time: u64,
    /// Its position while it waits.
    position: Option<Position>,
}

impl VirtualTimeQueue {
    pub(super) fn new(order: Order) -> Self {
        Self {
            order,
            waiting: BTreeMap::new(),
            flows: HashMap::new(),
            present: 0,
            arrivals: 0,
        }
    }

    /// Adds a flow whose next request costs `cost`, unless the flow waits already.
    pub(super) fn join(&mut self, flow: u64, cost: u64) {
        let present = self.present;
        let state = self.flows.entry(flow).or_insert(FlowState {
            virtual_time: present,
            position: None,
        });
        if state.position.is_some() {
            return;
        }
        state.virtual_time = state.virtual_time.max(present);
        self.arrivals += 1;
        let time = match self.order {
            Order::Start => state.virtual_time,
            Order::Finish => state.virtual_time.saturating_add(cost << FRACTION_BITS),
        };
        let position = (time, self.arrivals);
        state.position = Some(position);
        self.waiting.insert(position, flow);
    }

    /// The flow that is next.
    pub(super) fn first(&self) -> Option<u64> {
        self.waiting.first_key_value().map(|(_, flow)| *flow)
    }

    /// The flow's request of `cost` was served; `next` is the cost of its next request, if any.
    pub(super) fn served(&mut self, flow: u64, cost: u64, next: Option<u64>) {
        let waited = self.waiting.len() as u64;
        self.leave(flow);
        let given = cost << FRACTION_BITS;
        if let Some(state) = self.flows.get_mut(&flow) {
            self.present = match self.order {
                Order::Start => self.present.max(state.virtual_time),
                Order::Finish => self.present.saturating_add(given / waited.max(1)),
            };
            state.virtual_time = state.virtual_time.saturating_add(given);
        }
        if let Some(cost) = next {
            self.join(flow, cost);
        }
        if self.flows.len() > 2 * self.waiting.len() + IDLE_MAX {
            let present = self.present;
            self.flows
                .retain(|_, state| state.position.is_some() || state.virtual_time > present);
        }
    }

    /// Removes a flow from the waiting flows; its virtual time is kept.
    pub(super) fn leave(&mut self, flow: u64) {
        let state = self.flows.get_mut(&flow);
        if let Some(position) = state.and_then(|state| state.position.take()) {
            self.waiting.remove(&position);
        }
    }

    #[cfg(test)]
    pub(super) fn known(&self) -> usize {
        self.flows.len()
    }
}
