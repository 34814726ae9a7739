//! Who serves a key.

use std::fmt::Debug;

use futures::future::BoxFuture;
use partita_peer::Peer;
use partita_peer::forward::{RangeId, ServiceId, Tenure};

/// What is known about the keys of a request before it is executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RoutingKey<'a> {
    /// The service.
    pub service: ServiceId,
    /// The account.
    pub account: &'a str,
    /// The table or queue; `None` for an operation on the account, and for a batch.
    pub container: Option<&'a str>,
    /// PartitionKey and RowKey, if the URL has them.
    pub entity: Option<(&'a str, &'a str)>,
}

/// What the map says about a key.
#[derive(Clone, Debug)]
pub struct Place {
    /// The range; `None` if the map has none for the key yet.
    pub range: Option<RangeId>,
    /// The newest tenure of the range that the map has.
    pub tenure: Tenure,
    /// Who serves it.
    pub owner: Owner,
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
    fn place(&self, key: &RoutingKey<'_>) -> Place;

    /// The newest tenure of a range that the map has; 0 for an unknown range.
    fn newest(&self, range: RangeId) -> Tenure;

    /// Whether the map was read: a front without a map is not ready.
    fn has_map(&self) -> bool;

    /// Waits until the map is another one than at this call. Cancel safe.
    fn changed(&self) -> BoxFuture<'static, ()>;
}
