//! The balancer in the controller: at most one split or merge at a time.

use crate::balance::{BalanceAction, Balancer, Observed};
use crate::error::ChangeRefused;
use std::time::Instant;

/// The balancer, if ranges are balanced, and its current action.
#[derive(Debug, Default)]
pub(super) struct Balancing {
    balancer: Option<Balancer>,
    under_way: Option<BalanceAction>,
    /// Completed splits and merges.
    made: u64,
}

impl Balancing {
    pub(super) fn start(&mut self, balancer: Balancer) {
        self.balancer = Some(balancer);
    }

    pub(super) fn is_due(&self) -> bool {
        self.balancer.is_some() && self.under_way.is_none()
    }

    pub(super) fn counts(&self) -> (u64, u64) {
        let no_split_key = self.balancer.as_ref().map_or(0, Balancer::no_split_key);
        (no_split_key, self.made)
    }

    /// Returns the next split or merge, if one is due and no other is running.
    pub(super) fn observed(
        &mut self,
        now: Instant,
        ranges: &[Observed],
        servers: usize,
    ) -> Option<BalanceAction> {
        if self.under_way.is_none() {
            self.under_way = self.balancer.as_mut()?.decide(now, ranges, servers);
            return self.under_way.clone();
        }
        None
    }

    pub(super) fn balanced(&mut self, now: Instant, result: Result<(), ChangeRefused>) {
        let (Some(balancer), Some(action)) = (&mut self.balancer, self.under_way.take()) else {
            return;
        };
        match result {
            Ok(()) => self.made += 1,
            Err(why) => {
                let has_no_split_key = matches!(why, ChangeRefused::NoSplitKey(_));
                balancer.note_failed(now, &action, has_no_split_key);
            }
        }
    }
}
