//! The servers of a cluster that a client sends requests to directly, because they have the data.
//!
//! A request asks the given address for a hint, which names the server with the data and the part of the table or queue
//! that it serves. Later requests for this part go to that server. A hint costs a hop at most when it is wrong: any server
//! of the cluster forwards a request that is for another one, and its answer has a new hint.
//!
//! Invariants:
//! - a server gets requests only after it has answered a probe, without credentials, as a member of the cluster of the
//!   hint: an address behind a tunnel or a container's network may be another server here;
//! - a server that did not answer is not used for [`PAUSE`]; its requests go to the given address;
//! - the memory is bounded.

mod map;

use crate::Endpoint;
use map::OwnerMap;
use parking_lot::Mutex;
use partita_wire::OwnerHint;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long a server is not used after it did not answer.
const PAUSE: Duration = Duration::from_secs(5);

/// The maximum number of servers; further ones are ignored.
const SERVERS_MAX: usize = 1024;

/// Where the data of a request is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    /// The table or queue, in lower case: names of tables have no case.
    container: String,
    /// The PartitionKey of the first row; empty for a queue.
    partition_key: String,
}

impl Place {
    pub(crate) fn new(container: &str, partition_key: &str) -> Self {
        Self {
            container: container.to_ascii_lowercase(),
            partition_key: partition_key.to_owned(),
        }
    }
}

/// A server that has the data of a request.
#[derive(Debug, Clone)]
pub(crate) struct Owner {
    url: Arc<str>,
    /// The account at this server.
    pub(crate) endpoint: Arc<Endpoint>,
    /// The id of its cluster.
    pub(crate) cluster: Arc<str>,
}

/// What is known about a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Health {
    /// A member of the cluster of the hint.
    Member,
    /// Not probed yet.
    New,
    /// A request probes it.
    Probed,
    /// It did not answer; not used until this time.
    Silent(Instant),
}

#[derive(Debug)]
struct Server {
    owner: Owner,
    health: Health,
}

#[derive(Debug, Default)]
struct State {
    map: OwnerMap,
    servers: HashMap<Arc<str>, Server>,
}

/// The known servers of the cluster of an account.
#[derive(Debug, Default)]
pub(crate) struct Owners(Mutex<State>);

/// A server that may be used, or must be probed before.
#[derive(Debug)]
pub(crate) enum Found<'a> {
    /// A member of the cluster.
    Member(Owner),
    /// Unknown: the caller must probe it.
    Unproven(Probe<'a>),
}

/// A running probe. A dropped one has no result.
#[derive(Debug)]
pub(crate) struct Probe<'a> {
    owners: &'a Owners,
    pub(crate) owner: Owner,
}

impl Probe<'_> {
    /// Ends the probe: whether the server has answered as a member of the cluster.
    pub(crate) fn ended(self, is_member: bool) {
        let health = match is_member {
            true => Health::Member,
            false => Health::Silent(Instant::now() + PAUSE),
        };
        self.owners.set_health(&self.owner, health);
    }
}

impl Drop for Probe<'_> {
    fn drop(&mut self) {
        let mut state = self.owners.0.lock();
        let server = state.servers.get_mut(&self.owner.url);
        if let Some(server) = server.filter(|server| server.health == Health::Probed) {
            server.health = Health::New;
        }
    }
}

impl Owners {
    /// The server that has the data of a request; `None` if it is not known, or not usable now.
    pub(crate) fn find(&self, place: &Place) -> Option<Found<'_>> {
        let mut state = self.0.lock();
        let State { map, servers } = &mut *state;
        let url = map.find(&place.container, &place.partition_key)?;
        let server = servers.get_mut(url)?;
        let owner = server.owner.clone();
        match server.health {
            Health::Member => return Some(Found::Member(owner)),
            Health::Probed => return None,
            Health::Silent(until) if Instant::now() < until => return None,
            Health::Silent(_) | Health::New => server.health = Health::Probed,
        }
        Some(Found::Unproven(Probe {
            owners: self,
            owner,
        }))
    }

    /// Notes the hint of an answer. `given` is the account at the address that the client was given.
    pub(crate) fn learn(&self, place: &Place, hint: &OwnerHint<'_>, given: &Endpoint) {
        let Some(hinted) = &hint.owner else {
            return;
        };
        let Some(endpoint) = given.at_server(&hinted.url) else {
            return;
        };
        let mut state = self.0.lock();
        let url: Arc<str> = hinted.url.as_ref().into();
        let is_known = state
            .servers
            .get(&url)
            .is_some_and(|server| *server.owner.cluster == *hint.cluster);
        if !is_known {
            if state.servers.len() >= SERVERS_MAX {
                return;
            }
            let owner = Owner {
                url: Arc::clone(&url),
                endpoint: Arc::new(endpoint),
                cluster: hint.cluster.as_ref().into(),
            };
            let health = Health::New;
            state
                .servers
                .insert(Arc::clone(&url), Server { owner, health });
        }
        let part = (&*hinted.from, hinted.to.as_deref());
        state.map.learn(&place.container, part, url);
    }

    /// Notes that a server did not answer, or not as a member of its cluster.
    pub(crate) fn failed(&self, owner: &Owner) {
        self.set_health(owner, Health::Silent(Instant::now() + PAUSE));
    }

    fn set_health(&self, owner: &Owner, health: Health) {
        if let Some(server) = self.0.lock().servers.get_mut(&owner.url) {
            server.health = health;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use partita_wire::HintedOwner;

    fn given() -> Endpoint {
        Endpoint::parse("http://h:1/acct").unwrap()
    }

    fn hint(cluster: &'static str, url: &'static str) -> OwnerHint<'static> {
        OwnerHint {
            cluster: cluster.into(),
            owner: Some(HintedOwner {
                url: url.into(),
                from: "".into(),
                to: None,
            }),
        }
    }

    /// Finds the server of a place, and ends its probe if it needs one.
    fn found(owners: &Owners, is_member: bool) -> Option<String> {
        match owners.find(&Place::new("T", "p"))? {
            Found::Member(owner) => Some(owner.endpoint.to_string()),
            Found::Unproven(probe) => {
                probe.ended(is_member);
                None
            }
        }
    }

    #[test]
    fn a_server_is_used_after_its_probe() {
        let (owners, place) = (Owners::default(), Place::new("t", ""));
        owners.learn(&place, &hint("c", "http://o:2"), &given());
        assert_eq!(found(&owners, true), None);
        assert_eq!(found(&owners, true).as_deref(), Some("http://o:2/acct"));
        // A server of another cluster at the same address is unknown.
        owners.learn(&place, &hint("d", "http://o:2"), &given());
        assert_eq!(found(&owners, false), None);
        // It is silent, and not probed again now.
        assert!(owners.find(&place).is_none());
    }

    #[test]
    fn a_dropped_probe_is_repeated_and_a_running_one_is_not() {
        let (owners, place) = (Owners::default(), Place::new("t", ""));
        owners.learn(&place, &hint("c", "http://o:2"), &given());
        let probe = owners.find(&place);
        assert!(matches!(probe, Some(Found::Unproven(_))));
        assert!(owners.find(&place).is_none());
        drop(probe);
        assert!(matches!(owners.find(&place), Some(Found::Unproven(_))));
    }

    #[test]
    fn a_server_that_failed_is_not_used() {
        let (owners, place) = (Owners::default(), Place::new("t", ""));
        owners.learn(&place, &hint("c", "http://o:2"), &given());
        found(&owners, true);
        let Some(Found::Member(owner)) = owners.find(&place) else {
            panic!("the server is a member");
        };
        owners.failed(&owner);
        assert!(owners.find(&place).is_none());
    }

    #[test]
    fn a_hint_with_another_scheme_or_a_path_is_ignored() {
        for url in ["https://o:2", "http://o:2/other", "o:2", ""] {
            let owners = Owners::default();
            owners.learn(&Place::new("t", ""), &hint("c", url), &given());
            assert!(owners.find(&Place::new("t", "")).is_none(), "{url}");
        }
    }
}
