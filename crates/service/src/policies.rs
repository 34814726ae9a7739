//! Stored access policies as records. A shared access signature with the parameter `si` takes its permissions and times
//! from such a policy.

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
        let policy = &identifier.policy;
        Self {
            id: identifier.id.clone(),
            start: policy.start.map(DateTime::ticks),
            expiry: policy.expiry.map(DateTime::ticks),
            permission: policy.permission.clone(),
        }
    }
}

impl From<&PolicyRecord> for SignedIdentifier {
    fn from(record: &PolicyRecord) -> Self {
        Self {
            id: record.id.clone(),
            policy: AccessPolicy {
                start: record.start.and_then(DateTime::from_ticks),
                expiry: record.expiry.and_then(DateTime::from_ticks),
                permission: record.permission.clone(),
            },
        }
    }
}
