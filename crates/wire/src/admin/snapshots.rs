//! `/admin/v1/snapshots`: the snapshots, and the actions on them.

use serde::{Deserialize, Serialize};

/// All snapshots.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SnapshotList {
    /// The snapshots, oldest first.
    pub snapshots: Vec<Snapshot>,
    /// Records that cannot be read. They count as snapshots, and can be deleted by name.
    pub unreadable: Vec<UnreadableSnapshot>,
    /// The servers of the cluster that did not answer: `own_bytes` may be too high. Absent if all did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub silent: Option<Vec<String>>,
}

/// A snapshot: the whole store at one instant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SnapshotSummary {
    /// Its name.
    pub name: String,
    /// A random id, which distinguishes the snapshot from earlier ones of the same name.
    pub id: String,
    /// When the snapshot was created, RFC 3339.
    pub created: String,
    /// Version of the partition map at that time.
    pub map_version: u64,
    /// Ids of the ranges at that time.
    pub ranges: Vec<u64>,
    /// Bytes of all files that it uses.
    pub bytes: u64,
}

/// A snapshot and its own share of the files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Snapshot {
    /// The snapshot.
    #[serde(flatten)]
    pub summary: SnapshotSummary,
    /// Bytes of files that only this snapshot uses.
    pub own_bytes: u64,
}

/// A snapshot with its tables: the page of one snapshot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SnapshotDetails {
    /// The snapshot.
    #[serde(flatten)]
    pub snapshot: Snapshot,
    /// Its tables.
    pub tables: Vec<SnapshotTable>,
}

/// A table of a snapshot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SnapshotTable {
    /// The account.
    pub account: String,
    /// The table.
    pub table: String,
    /// When the table was created.
    pub created: String,
}

/// A snapshot whose record cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnreadableSnapshot {
    /// The stored object, `snapshots/NAME.json`.
    pub object: String,
    /// Why it cannot be read.
    pub why: String,
}

/// The answer to `create`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SnapshotCreated {
    /// The snapshot.
    #[serde(flatten)]
    pub summary: SnapshotSummary,
    /// How long writes waited.
    pub pause_ms: f64,
}

/// The body of an action on a snapshot; each action uses its own fields. An empty body is the default.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SnapshotActionParams {
    /// `restore`: the account of the tables; may be absent on a server with one account.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub account: Option<String>,
    /// `restore`: the table; if absent, all tables of the account.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub table: Option<String>,
    /// `restore`: the name of the restored table; if absent, the name in the snapshot.
    #[serde(rename = "as", skip_serializing_if = "Option::is_none")]
    pub into: Option<String>,
    /// `backup`, `unpack`: the destination, an absolute path or a URL.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// `backup`: whether to create the snapshot if it does not exist, and delete it after the copy.
    pub temporary: bool,
}
