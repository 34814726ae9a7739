//! The record of a queue. `docs/format/catalog.md` lists the records.

use partita_model::Metadata;
use partita_service::PolicyRecord;
use serde::{Deserialize, Serialize};

/// The record of a queue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct QueueRecord {
    /// Its [`partita_model::QueueId`].
    pub(super) id: u64,
    /// The creation time in ticks.
    pub(super) created: u64,
    /// Names and values, in the order in which the client sent them.
    pub(super) metadata: Vec<(String, String)>,
    /// Its stored access policies.
    pub(super) policies: Vec<PolicyRecord>,
}

/// The form of metadata in a record.
pub(super) fn metadata_record(metadata: &Metadata) -> Vec<(String, String)> {
    let owned = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
    metadata.iter().map(owned).collect()
}

impl QueueRecord {
    /// The metadata; pairs that are not valid any more are left out.
    pub(super) fn metadata(&self) -> Metadata {
        let mut metadata = Metadata::default();
        for (name, value) in &self.metadata {
            let _ = metadata.add(name, value);
        }
        metadata
    }
}
