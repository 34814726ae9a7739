//! [`Style`]: which columns a written file leaves out.

use serde::{Deserialize, Serialize};

/// Which columns a file leaves out, for programs that need only the values. The default leaves out none, so an import
/// restores every value with its type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Style {
    /// Whether to leave out Timestamp.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub no_timestamp: bool,
    /// Whether to leave out the columns that only an import needs: in CSV the types, in Parquet the last digits (100 ns)
    /// of DateTimes. JSON lines have no columns, so they are not affected.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub plain: bool,
}

impl Style {
    /// Whether no column is left out.
    pub fn is_complete(&self) -> bool {
        *self == Self::default()
    }
}
