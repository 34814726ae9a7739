//! The admin API as types: the documents of the admin port, and the parameters of its actions.
//!
//! The server serializes these types; the command line and the tools deserialize them. `docs/admin-api.md` describes
//! the same documents for users. There is one module for each path.
//!
//! - A field is never renamed or removed. A new field is an `Option`, so that a client can read an older server.
//! - Unknown fields are ignored, so that a client can read a newer server. Enums that a later version may extend have a
//!   variant for any other text.
//! - `null` and *absent* differ: the documentation of a field says if it may be absent. Every other `Option` is written
//!   as `null`.
//! - Request bodies refuse unknown fields, because a misspelt parameter must not count as a missing one.
//!
//! The server's side is in `partita-server`, the client is in `partita-tools`.

mod errors;
mod heat;
mod hot;
mod jobs;
mod missing;
mod named_key;
mod queues;
mod ranges;
mod snapshots;
mod status;
#[cfg(test)]
mod tests;

pub use errors::{ErrorDocument, ErrorText, NoSuchPage};
pub use heat::{Heat, HeatMetric, HeatRow};
pub use hot::{AdviceKind, GrowthAdvice, Hot, HotPartition, PartitionRates, SplitAdvice};
pub use jobs::{BackupResult, Job, JobList, JobParams, JobResult, JobState, RestoredTable};
pub use missing::Missing;
pub use named_key::NamedKey;
pub use queues::{QueueSummary, Queues};
pub use ranges::{
    ActionDone, Activity, CheckpointResult, Counts, Finalized, GrowthPattern, MergeResult, Range,
    RangeActionParams, RangeChange, RangeFiles, RangeHotPartition, RangeWindow, Ranges,
    SplitResult, TableGrowth, WindowCounts, WindowLatency,
};
pub use snapshots::{
    Snapshot, SnapshotActionParams, SnapshotCreated, SnapshotDetails, SnapshotList,
    SnapshotSummary, SnapshotTable, UnreadableSnapshot,
};
pub use status::{
    BlockCache, ClusterInfo, ClusterServer, ConnectionCounts, DamagedFile, EngineStats,
    EntityCache, ErrorCount, LimitedKey, Listening, LoadSummary, OperationLatency, OperationStats,
    Percentiles, ProcessStats, RangeSummary, RequestCounts, ScrubStatus, ServerHealth, ServerState,
    Status, StoreInfo, StoredBytes, UnownedRange, WrittenBytes,
};

use serde::{Deserialize, Deserializer};

/// Reads an `Option` whose field must be present, at least as `null`. By default, serde reads an absent field as
/// `None`.
fn present<'de, D: Deserializer<'de>, T: Deserialize<'de>>(from: D) -> Result<Option<T>, D::Error> {
    Option::deserialize(from)
}
