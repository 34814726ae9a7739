//! The targets as the manager of a cluster sees them.

use super::sharing::Sharing;
use super::{Limited, Scope, Targets};
use partita_cluster::{TargetDemand, TargetLoad, TargetScope, TargetShare, WHOLE};
use std::hash::BuildHasher;
use std::time::Instant;

impl Targets {
    /// Whether the manager of a cluster divides these targets among the servers.
    pub fn are_divided(&self) -> bool {
        let state = self.state.lock();
        state.sharing.as_ref().is_some_and(Sharing::has_shares)
    }

    /// The containers and accounts that have refused requests in the last minute, at most 64, each with the share of its
    /// target that this server may use, from 0 to 1. Empty for a server that is alone.
    pub fn limited_shares(&self, now: Instant) -> Vec<(Limited, f64)> {
        let now = self.nanos(now);
        let mut state = self.state.lock();
        let all = state.last_minute.all(now).into_iter();
        let Some(sharing) = &state.sharing else {
            return Vec::new();
        };
        // A partition is at one server.
        let divided = all.filter(|(_, limited)| limited.scope != Scope::Partition);
        let share = |hash| sharing.share_of(hash) as f64 / WHOLE as f64;
        divided
            .map(|(hash, limited)| (limited, share(hash)))
            .collect()
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
