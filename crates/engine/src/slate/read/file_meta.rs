//! The metadata of a data file: its index and its filter.

use super::filter::Filter;
use super::index::BlockIndex;

/// What is known of a file besides its rows.
#[derive(Debug)]
pub(super) struct FileMeta {
    pub(super) index: BlockIndex,
    pub(super) filter: Option<Filter>,
}

impl FileMeta {
    /// The bytes of memory that it takes.
    pub(super) fn bytes(&self) -> usize {
        self.index.bytes() + self.filter.as_ref().map_or(0, Filter::bytes)
    }
}
