//! Targets of tables and accounts whose ranges several servers serve: each server may use a share.
//!
//! ```text
//!  server: what each scope was asked for ─▶ manager: divide by demand ─▶ servers: rate × share      every 2 s
//! ```
//!
//! - A scope that one server serves is not divided, and nothing is sent about it.
//! - [`division`]: the shares, a pure function of the demands. [`plan`]: the shares of all scopes, a pure function of the
//!   servers' reports. [`owners`]: which servers serve a scope.
//! - The buckets are in the crate above, behind [`TargetLoad`].

pub(crate) mod division;
mod owners;
pub(crate) mod plan;

use crate::map::key_text;
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use std::fmt::Debug;
use std::time::Instant;

pub use owners::owner_count;
pub(crate) use owners::owners;

/// A whole target: demands and shares are in millionths of it.
pub const WHOLE: u64 = 1_000_000;

/// What has one target, although several servers may serve it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TargetScope {
    /// A container (a table): the prefix of its keys.
    Container(#[serde(with = "key_text")] Bytes),
    /// An account, encoded as in keys.
    Account(#[serde(with = "key_text")] Bytes),
}

/// What the requests of a scope asked of one server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TargetDemand {
    /// The scope.
    pub scope: TargetScope,
    /// What was used and what was refused per second, in millionths of the whole target: the greater of the figures for
    /// entities and for bytes. May be more than [`WHOLE`].
    pub demand: u64,
}

/// What one server may use of a scope's target.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TargetShare {
    /// The scope.
    pub scope: TargetScope,
    /// Millionths of the whole target, from 1 to [`WHOLE`].
    pub share: u64,
}

/// The targets of a server in a cluster. Used as `Arc<dyn TargetLoad>`.
pub trait TargetLoad: Debug + Send + Sync + 'static {
    /// What was asked of each scope since the last call, as far as the scope is served by several servers and the demand
    /// matters: at most [`DEMANDS_MAX`], the greatest first.
    fn demands(&self, now: Instant) -> Vec<TargetDemand>;

    /// Uses these shares until the next call. Scopes that are not listed are divided equally among their servers.
    fn set_shares(&self, now: Instant, shares: &[TargetShare]);
}

/// The most scopes that one server reports. Its others are divided equally, unless another server reports them.
pub const DEMANDS_MAX: usize = 1_024;

/// The share of each of `servers`, without knowledge of their demands.
#[must_use]
pub fn equal_share(servers: usize) -> u64 {
    WHOLE / (servers.max(1) as u64).min(WHOLE)
}

/// The least share of each of `servers`: enough to show a demand.
#[must_use]
pub fn least_share(servers: usize) -> u64 {
    (equal_share(servers) / 2).max(1)
}
