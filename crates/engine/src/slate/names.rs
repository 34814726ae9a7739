//! The names of databases in the store.

use crate::RangeId;

/// The prefix of all database names in the store.
pub(super) const DATABASE_PREFIX: &str = "range-";

/// The name of a range's database in the store.
pub(super) fn database_path(range: RangeId) -> String {
    format!("{DATABASE_PREFIX}{range}")
}
