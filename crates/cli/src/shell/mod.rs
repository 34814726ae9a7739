//! What a shell wants to know of this command line.

pub(crate) mod completions;
pub(crate) mod man;
