//! Commands that read rows of a table, or tell what reading them costs.

pub(crate) mod count;
pub(crate) mod explain;
pub(crate) mod partitions;
pub(crate) mod purge;
pub(crate) mod scan;
