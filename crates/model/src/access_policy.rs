//! Stored access policies of a table, which supply permissions and times to a SAS that names one in `si`.

use crate::DateTime;

/// An entry of a table's access control list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignedIdentifier {
    /// Its name, 1 to 64 characters.
    pub id: String,
    /// Its policy, which may be empty.
    pub policy: AccessPolicy,
}

/// The terms of a signed identifier. The SAS supplies each part that is absent here.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AccessPolicy {
    /// Start of validity.
    pub start: Option<DateTime>,
    /// End of validity.
    pub expiry: Option<DateTime>,
    /// Permission letters out of `raud`, in the order given.
    pub permission: Option<String>,
}
