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

#[cfg(test)]
mod tests {
    use super::*;
    use partita_service::{decode_record, encode_record};

    #[test]
    fn rows_are_those_of_the_format_document() {
        let mut metadata = Metadata::default();
        metadata.add("Color", "red").unwrap();
        let record = QueueRecord {
            id: 7,
            created: 5,
            metadata: metadata_record(&metadata),
            policies: Vec::new(),
        };
        let row = encode_record(&record);
        let json = br#"{"id":7,"created":5,"metadata":[["Color","red"]],"policies":[]}"#;
        assert_eq!(&row[1..], json);
        let read: QueueRecord = decode_record(&row).unwrap();
        assert_eq!((read.metadata(), read), (metadata, record));
    }
}
