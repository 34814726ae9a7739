//! What a run takes in requests.

use super::super::Operation;
use super::Planned;

/// To make the table of versions, look for a lease, take it, read the records, and give the lease back.
const REQUESTS_AROUND: u64 = 5;

/// What a run takes in requests, if nothing fails and the lease need not be renewed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cost {
    /// Requests that are known.
    pub requests: u64,
    /// Steps that take as many requests more as their tables have rows for.
    pub open_steps: usize,
}

impl Cost {
    /// That of a run of these migrations.
    #[must_use]
    pub fn of(planned: &[Planned<'_>]) -> Self {
        let mut cost = Self {
            requests: REQUESTS_AROUND,
            open_steps: 0,
        };
        for planned in planned {
            // A record at the begin, and one after each step.
            cost.requests += u64::from(!planned.is_resumed);
            for operation in planned.left() {
                cost.requests += 1 + operation.requests().unwrap_or(0);
                cost.open_steps += usize::from(operation.requests().is_none());
            }
        }
        cost
    }
}

impl<'a> Planned<'a> {
    /// The steps that are left.
    pub fn left(&self) -> impl Iterator<Item = &'a Operation> {
        self.steps().operations().iter().skip(self.steps_done)
    }
}
