//! A range, without the place where it is served.

use super::partition_map::Epoch;
use partita_range::{Bounds, RangeId};

/// A range as listed in the partition map.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RangeSpec {
    /// The id of the range and of its database.
    pub id: RangeId,
    /// The epoch under which it is served.
    pub epoch: Epoch,
    /// Its keys.
    pub bounds: Bounds,
}
