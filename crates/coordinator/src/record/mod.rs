//! The keys of the registry and their values, which are JSON. `docs/format/ownership.md` describes them.

mod codec;
mod role;

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::registry::{LeaseId, Revision};
use crate::version::{ClusterVersion, SPEAKS, Versions};

pub use codec::RecordError;
pub(crate) use codec::{decode, encode};
pub use role::Role;

/// The key of the elected manager.
pub(crate) const MANAGER: &str = "manager";
/// The key of the version of the partition map that the keys of ranges reflect.
pub(crate) const MAP: &str = "map";
/// The key that says whether the manager balances.
pub(crate) const BALANCE: &str = "balance";
/// The key of the cluster version.
pub(crate) const VERSION: &str = "version";
/// The prefix of the keys of servers.
pub(crate) const SERVERS: &str = "servers/";
/// The prefix of the keys of ranges.
pub(crate) const RANGES: &str = "ranges/";
/// The prefix of the keys of lives that were expelled.
pub(crate) const EXPELLED: &str = "expelled/";

pub(crate) fn server_key(name: &str) -> String {
    format!("{SERVERS}{name}")
}

pub(crate) fn range_key(range: RangeId) -> String {
    format!("{RANGES}{range}")
}

pub(crate) fn expelled_key(life: Life) -> String {
    format!("{EXPELLED}{life}")
}

/// The id of a range.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct RangeId(pub u64);

impl fmt::Display for RangeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// One life of a process: from its join until its lease ends. Its id is that of the lease, which is never used again,
/// also not by a registry that lost its data: the ids are random there.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Life(pub LeaseId);

impl fmt::Display for Life {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Life {
    /// Reads the text form: 16 hexadecimal digits.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let id = u64::from_str_radix(text, 16).ok().filter(|id| *id != 0)?;
        (text.len() == 16).then_some(Self(LeaseId(id)))
    }
}

/// The number of a log in the object store. A process has one log, which it names when it serves a range.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct LogNumber(pub u64);

impl fmt::Display for LogNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl LogNumber {
    /// Reads the text form: 16 hexadecimal digits.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let number = u64::from_str_radix(text, 16).ok()?;
        (text.len() == 16).then_some(Self(number))
    }
}

/// A process and its life.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Owner {
    /// The name of the server.
    pub name: String,
    /// The life.
    pub life: Life,
}

/// The value of `manager`: the elected manager. Its term is the create revision of the key.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ManagerRecord {
    /// The manager.
    #[serde(flatten)]
    pub owner: Owner,
}

/// The value of `map`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct MapRecord {
    /// The version of the partition map that the keys of ranges reflect.
    pub version: u64,
}

/// The value of `balance`. Without this key, the manager balances.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct BalanceRecord {
    /// Whether the manager splits, merges and moves ranges of its own accord.
    pub(crate) on: bool,
}

/// The value of `version`. Without this key, the cluster has [`ClusterVersion::FIRST`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct VersionRecord {
    /// What all servers write.
    pub active: ClusterVersion,
    /// The version that the manager is about to make active. Servers that do not support it cannot join meanwhile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<ClusterVersion>,
}

impl Default for VersionRecord {
    fn default() -> Self {
        Self {
            active: ClusterVersion::FIRST,
            next: None,
        }
    }
}

/// The value of `servers/NAME`, which ends with the server's lease.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ServerRecord {
    /// The life of the server.
    pub life: Life,
    /// The TTL of its lease in milliseconds, as granted.
    pub lease_ms: u64,
    /// What it says about itself.
    #[serde(flatten)]
    pub info: ServerInfo,
}

/// What a server says about itself.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct ServerInfo {
    /// The addresses at which other servers and clients reach it, by purpose.
    pub addresses: BTreeMap<String, String>,
    /// The version of the program.
    pub version: String,
    /// The versions of each protocol and format that it reads, from and to.
    pub speaks: BTreeMap<String, [u32; 2]>,
    /// The names of its roles. None: all.
    pub roles: Vec<String>,
    /// A hash of the settings that all servers must share.
    pub settings: String,
    /// Where it runs, if the operator says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zone: Option<String>,
    /// It gives its ranges away and takes no new ones.
    #[serde(default)]
    pub draining: bool,
    /// Its log in the object store. A server without a log serves no ranges.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log: Option<LogNumber>,
}

impl ServerInfo {
    /// The same, with the cluster versions at which the server can run.
    #[must_use]
    pub fn with_versions(mut self, versions: Versions) -> Self {
        let range = [versions.oldest().0, versions.newest().0];
        self.speaks.insert(SPEAKS.to_owned(), range);
        self
    }

    /// The cluster versions at which the server can run. A server that does not say so supports the first one.
    #[must_use]
    pub fn versions(&self) -> Versions {
        let said = self.speaks.get(SPEAKS);
        let versions = said.and_then(|[oldest, newest]| Versions::new(*oldest, *newest));
        versions.unwrap_or(Versions::FIRST)
    }
}

/// What the partition map says about a range.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct RangeShape {
    /// The epoch under which it is served.
    pub epoch: u64,
    /// Its first key.
    #[serde(with = "codec::key_bytes")]
    pub start: Vec<u8>,
    /// The first key after it, or none for the last range.
    #[serde(
        with = "codec::end_bytes",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub end: Option<Vec<u8>>,
}

/// How far a range has come with its owner.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "lowercase")]
pub enum RangeState {
    /// Assigned: the owner opens it.
    Opening {
        /// The life that is to serve it.
        owner: Owner,
    },
    /// The owner serves it.
    Serving {
        /// The life that serves it.
        owner: Owner,
        /// The revision of the assignment that was activated. Absent after a change of shape.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        assigned: Option<u64>,
    },
    /// The last owner has closed it, and has written everything to data files, except what is in the logs of the key.
    Released,
}

/// The value of `ranges/ID`.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct RangeRecord {
    /// Epoch and keys.
    #[serde(flatten)]
    pub shape: RangeShape,
    /// Owner and state.
    #[serde(flatten)]
    pub state: RangeState,
    /// The logs that can have groups which the data files of the range lack. The next owner replays them.
    pub logs: Vec<LogNumber>,
}

impl RangeState {
    /// The owner, unless the range was released.
    #[must_use]
    pub fn owner(&self) -> Option<&Owner> {
        match self {
            Self::Opening { owner } | Self::Serving { owner, .. } => Some(owner),
            Self::Released => None,
        }
    }
}

impl RangeRecord {
    /// The owner, unless the range was released.
    #[must_use]
    pub fn owner(&self) -> Option<&Owner> {
        self.state.owner()
    }

    /// Whether this server serves the range.
    #[must_use]
    pub fn is_served_by(&self, server: &str) -> bool {
        matches!(&self.state, RangeState::Serving { owner, .. } if owner.name == server)
    }

    /// Whether the owner serves the range under the activation of this assignment.
    pub(crate) fn serves(&self, life: Life, assignment: Revision) -> bool {
        matches!(&self.state, RangeState::Serving { owner, assigned }
            if owner.life == life && *assigned == Some(assignment.0))
    }
}

/// The value of `expelled/LIFE`: nothing that this life served is assigned while the key exists.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Expulsion {
    /// The name of the server.
    pub name: String,
    /// The TTL of its lease in milliseconds.
    pub lease_ms: u64,
}

#[cfg(test)]
mod tests;
