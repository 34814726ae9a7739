//! Who serves a key.

use std::fmt::Debug;
use std::sync::Arc;

use futures::future::BoxFuture;
use partita_cluster::TargetScope;
use partita_peer::Peer;
use partita_peer::forward::{RangeId, ServiceId, Tenure};

/// What the map says about a key.
#[derive(Clone, Debug)]
pub struct Place {
    /// The range; `None` if the map has none for the key yet.
    pub range: Option<RangeId>,
    /// The newest tenure of the range that the map has.
    pub tenure: Tenure,
    /// Who serves it.
    pub owner: Owner,
    /// The first key after the range; `None` for the last one, and if the range is not known.
    pub end: Option<Vec<u8>>,
}

impl Place {
    /// A key of which nothing is known.
    #[must_use]
    pub const fn unknown() -> Self {
        Self {
            range: None,
            tenure: Tenure(0),
            owner: Owner::Unserved,
            end: None,
        }
    }
}

/// Where clients reach the owner of a range.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnerAddress {
    /// Scheme, host and port of the service.
    pub url: String,
    /// The first key of the range.
    pub start: Vec<u8>,
    /// The first key after the range; `None` for the last one.
    pub end: Option<Vec<u8>>,
}

/// Who serves a range.
#[derive(Clone, Debug)]
pub enum Owner {
    /// This server.
    Here,
    /// Another server.
    There(Peer),
    /// No server: in transit, opening, or without an owner.
    Unserved,
}

/// The map of ranges and their owners. It may be behind: owners refuse what they do not serve.
pub trait Routing: Debug + Send + Sync + 'static {
    /// Who serves a key.
    fn place(&self, key: &[u8]) -> Place;

    /// The newest tenure of a range that the map has, 0 for an unknown range; and whether it is this server's.
    fn newest(&self, range: RangeId) -> (Tenure, bool);

    /// Whether the map was read: a front without a map is not ready.
    fn has_map(&self) -> bool;

    /// Waits until the map is another one than at this call. Cancel safe.
    fn changed(&self) -> BoxFuture<'static, ()>;

    /// The number of servers that serve ranges of a table or an account.
    fn owner_count(&self, _scope: &TargetScope) -> usize {
        1
    }

    /// The id of the cluster, by which clients recognize its servers. Without one, clients get no hints.
    fn cluster(&self) -> Option<Arc<str>> {
        None
    }

    /// Where clients reach the service at the owner of a key's range; `None` if that is not known now.
    fn address(&self, _key: &[u8], _service: ServiceId) -> Option<OwnerAddress> {
        None
    }
}
