//! Stored access policies of a table, which supply permissions and times to a SAS that references a policy in `si`.

use crate::DateTime;

/// An entry of a table's access control list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignedIdentifier {
    /// The id of the policy, 1 to 64 characters.
    pub id: String,
    /// The policy, which may be empty.
    pub policy: AccessPolicy,
}

/// The terms of a stored access policy. A SAS that references the policy supplies the terms that are `None` here.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AccessPolicy {
    /// Start of validity.
    pub start: Option<DateTime>,
    /// End of validity.
    pub expiry: Option<DateTime>,
    /// Permission letters, a subset of `raud`, in their original order.
    pub permission: Option<String>,
}
