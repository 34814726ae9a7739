//! The admin API as types: what the pages of the admin port say, and what its actions take.
//!
//! The server serialises these types, and every client deserialises them: the command line, the tools, later a console.
//! `docs/admin-api.md` describes the same documents for users. One module a page.
//!
//! - A field is never renamed or removed. A field that is added is an `Option`, so that a client can read an older server.
//! - Unknown fields are ignored, so that a client can read a newer server. Words that a later version may add to have a variant
//!   for any other text.
//! - `null` and *absent* differ: a field that may be absent says so; every other `Option` is written as `null`.
//! - Request bodies refuse unknown fields: a misspelt parameter must not be taken for a missing one.
//!
//! No I/O: the server has the pages, `partita-tools` has the client.

mod errors;
mod heat;
mod hot;
mod jobs;
mod named_key;
mod ranges;
mod snapshots;
mod status;
#[cfg(test)]
mod tests;

pub use errors::{ErrorDocument, ErrorText, NoSuchPage};
pub use heat::{Heat, HeatMetric, HeatRow};
pub use hot::{AdviceKind, GrowthAdvice, Hot, HotPartition, SplitAdvice};
pub use jobs::{BackupResult, Job, JobList, JobParams, JobResult, JobState, RestoredTable};
pub use named_key::NamedKey;
pub use ranges::{
    ActionDone, Activity, CheckpointResult, GrowthPattern, MergeResult, Range, RangeActionParams,
    RangeChange, RangeHotPartition, RangeWindow, Ranges, SplitResult, TableGrowth, WindowCounts,
};
pub use snapshots::{
    Snapshot, SnapshotActionParams, SnapshotCreated, SnapshotDetails, SnapshotList, SnapshotTable,
    UnreadableSnapshot,
};
pub use status::{
    BlockCache, ConnectionCounts, EngineStats, EntityCache, ErrorCount, KeyFilter, LimitedKey,
    Listening, LoadSummary, OperationLatency, OperationStats, Percentiles, ProcessStats,
    RangeSummary, RequestCounts, ServerState, Status, StoreInfo,
};

use serde::{Deserialize, Deserializer};

/// An `Option` whose field must be there, if only as `null`: without this, serde takes an absent field for `None`.
fn present<'de, D: Deserializer<'de>, T: Deserialize<'de>>(from: D) -> Result<Option<T>, D::Error> {
    Option::deserialize(from)
}
