//! Names of snapshots.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// The maximum length; a name is also an object name in the store.
const LENGTH_MAX: usize = 63;

/// The name of a snapshot: 1 to 63 of the characters `a-z`, `0-9`, `.`, `-` and `_`, the first a letter or digit. No
/// capital letters, because some file systems ignore case.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct SnapshotName(Arc<str>);

/// The text is not a valid snapshot name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "invalid snapshot name: use 1 to 63 of a-z, 0-9, '.', '-' and '_', and begin with a letter or a digit"
)]
pub struct InvalidSnapshotName;

impl SnapshotName {
    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for SnapshotName {
    type Err = InvalidSnapshotName;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let is_word = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
        let first = text.bytes().next().ok_or(InvalidSnapshotName)?;
        let rest = text
            .bytes()
            .all(|byte| is_word(byte) || b".-_".contains(&byte));
        if text.len() > LENGTH_MAX || !is_word(first) || !rest {
            return Err(InvalidSnapshotName);
        }
        Ok(Self(text.into()))
    }
}

impl TryFrom<String> for SnapshotName {
    type Error = InvalidSnapshotName;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<SnapshotName> for String {
    fn from(name: SnapshotName) -> Self {
        name.0.as_ref().to_owned()
    }
}

impl fmt::Display for SnapshotName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_valid_object_names_in_every_store() {
        for good in ["a", "0", "nightly-2026.11.21_b", &"x".repeat(63)] {
            assert_eq!(good.parse::<SnapshotName>().unwrap().as_str(), good);
        }
        let long = "x".repeat(64);
        for bad in [
            "", ".", "..", "-a", "_", "A", "a/b", "a b", "ä", "a\0", &long,
        ] {
            assert_eq!(bad.parse::<SnapshotName>(), Err(InvalidSnapshotName));
        }
        assert!(serde_json::from_str::<SnapshotName>("\"../map\"").is_err());
    }
}
