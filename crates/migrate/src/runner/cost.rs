//! The number of requests of a run, computed before it starts.

use super::super::Operation;
use super::Planned;

/// Number of requests before and after all steps: create the version table, read the lease, take the lease, read the
/// records, release the lease.
const REQUESTS_AROUND: u64 = 5;

/// The number of requests of a run, without retries and renewals of the lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cost {
    /// The number of requests, without those of `open_steps`.
    pub requests: u64,
    /// Number of steps whose requests depend on the rows of their tables.
    pub open_steps: usize,
}

impl Cost {
    /// The cost of these migrations.
    pub fn of(planned: &[Planned<'_>]) -> Self {
        let mut cost = Self {
            requests: REQUESTS_AROUND,
            open_steps: 0,
        };
        for planned in planned {
            // One write of the record at the start, unless an earlier run wrote it, and one after each step.
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
    /// The remaining steps.
    pub fn left(&self) -> impl Iterator<Item = &'a Operation> {
        self.steps().operations().iter().skip(self.steps_done)
    }
}
