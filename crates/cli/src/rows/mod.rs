//! Commands on many rows of one table: `scan`, `count`, `partitions`, `purge`; and `explain`, which tells what a filter reads.

pub(crate) mod count;
pub(crate) mod explain;
pub(crate) mod partitions;
pub(crate) mod purge;
pub(crate) mod scan;
