//! Stored access policies as data: what a shared access signature with `si` takes its permissions and times from.

use partita_model::{AccessPolicy, DateTime, SignedIdentifier};
use serde::{Deserialize, Serialize};

/// A stored access policy of a table, a queue or a container: part of its record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PolicyRecord {
    id: String,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    start: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    expiry: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    permission: Option<String>,
}

impl From<&SignedIdentifier> for PolicyRecord {
    fn from(identifier: &SignedIdentifier) -> Self {
        let SignedIdentifier {
            id,
            policy:
                AccessPolicy {
                    start,
                    expiry,
                    permission,
                },
        } = identifier;
        Self {
            id: id.clone(),
            start: start.map(DateTime::ticks),
            expiry: expiry.map(DateTime::ticks),
            permission: permission.clone(),
        }
    }
}

impl From<&PolicyRecord> for SignedIdentifier {
    fn from(record: &PolicyRecord) -> Self {
        let PolicyRecord {
            id,
            start,
            expiry,
            permission,
        } = record;
        Self {
            id: id.clone(),
            policy: AccessPolicy {
                start: start.and_then(DateTime::from_ticks),
                expiry: expiry.and_then(DateTime::from_ticks),
                permission: permission.clone(),
            },
        }
    }
}
