//! The targets as the manager of a cluster sees them.

use super::Targets;
use super::sharing::Sharing;
use partita_cluster::{TargetDemand, TargetLoad, TargetScope, TargetShare};
use std::hash::BuildHasher;
use std::time::Instant;

impl Targets {
    /// Whether the manager of a cluster divides these targets among the servers.
    pub fn are_divided(&self) -> bool {
        let state = self.state.lock();
        state.sharing.as_ref().is_some_and(Sharing::has_shares)
    }

    /// The hash of a scope, which is that of its requests.
    fn hash_of(&self, scope: &TargetScope) -> u64 {
        match scope {
            TargetScope::Container(prefix) => self.hasher.hash_one::<&[u8]>(prefix),
            TargetScope::Account(account) => self.hasher.hash_one::<Option<&[u8]>>(Some(account)),
        }
    }
}

impl TargetLoad for Targets {
    fn demands(&self, now: Instant) -> Vec<TargetDemand> {
        let now = self.nanos(now);
        let mut state = self.state.lock();
        let sharing = state.sharing.as_mut();
        sharing.map_or_else(Vec::new, |sharing| sharing.demands(now))
    }

    fn set_shares(&self, now: Instant, shares: &[TargetShare]) {
        let now = self.nanos(now);
        let mut state = self.state.lock();
        if let Some(sharing) = &mut state.sharing {
            let shares = shares.iter();
            sharing.set(now, shares.map(|share| (self.hash_of(&share.scope), share)));
        }
    }
}
