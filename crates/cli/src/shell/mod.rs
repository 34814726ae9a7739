//! What a shell needs of this command line: completions and manual pages.

pub(crate) mod completions;
pub(crate) mod man;
