//! Versions of entities.

use std::fmt;

/// The version of an entity, as the server wrote it. It means nothing to a client but whether two are equal.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ETag(pub(super) Box<str>);

impl ETag {
    /// The text.
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
