//! Commands on many rows of one table: `scan`, `count`, `partitions`, `purge`; and `explain`, which shows the plan of a
//! query.

pub(crate) mod count;
pub(crate) mod explain;
pub(crate) mod partitions;
pub(crate) mod purge;
pub(crate) mod scan;
