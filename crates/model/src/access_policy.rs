//! Stored access policies of a table: what a SAS with `si` borrows its rights and times from.

use crate::DateTime;

/// An entry of a table's access control list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignedIdentifier {
    /// Its name, 1 to 64 characters.
    pub id: String,
    /// Its policy; an empty one is legal.
    pub policy: AccessPolicy,
}

/// What a signed identifier grants; each part may be left to the SAS.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AccessPolicy {
    /// From when.
    pub start: Option<DateTime>,
    /// Until when.
    pub expiry: Option<DateTime>,
    /// The permission letters as given, a part of `raud`.
    pub permission: Option<String>,
}
