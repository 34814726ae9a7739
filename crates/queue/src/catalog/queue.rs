//! [`Queue`], the result of looking up a queue by its name.

use super::record::QueueRecord;
use crate::Error;
use partita_model::{DateTime, Metadata, QueueId, QueueSpace, SignedIdentifier};
use partita_service::decode_record;

/// A queue as it was when it was looked up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Queue {
    /// The account.
    pub account: String,
    /// The name.
    pub name: String,
    /// The id.
    pub id: QueueId,
    /// The creation time.
    pub created: DateTime,
    /// Its metadata.
    pub metadata: Metadata,
    /// Its stored access policies.
    pub policies: Vec<SignedIdentifier>,
    /// The key space of its rows.
    pub space: QueueSpace,
}

impl Queue {
    pub(super) fn from_row(account: &str, name: &str, row: &[u8]) -> Result<Self, Error> {
        let record: QueueRecord = decode_record(row)?;
        let id = QueueId(record.id);
        Ok(Self {
            account: account.to_owned(),
            name: name.to_owned(),
            id,
            created: DateTime::from_ticks(record.created).unwrap_or(DateTime::MIN),
            metadata: record.metadata(),
            policies: record.policies.iter().map(SignedIdentifier::from).collect(),
            space: QueueSpace::new(account, id),
        })
    }
}
