//! ETags: versions of entities.

use std::fmt;

/// The version of an entity, an opaque text of the server. Equal ETags of an entity mean equal content.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ETag(pub(super) Box<str>);

impl ETag {
    /// The text, as in the `ETag` header.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<&str> for ETag {
    fn from(text: &str) -> Self {
        Self(text.into())
    }
}

impl fmt::Display for ETag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
