//! Every row of a table, or of a part of it, read by many requests at once and returned exactly once.

mod bounds;
mod execute;
mod memory;
mod plan;
pub mod prefix;
mod query;
mod source;
mod step;
#[cfg(test)]
mod tests;

pub use bounds::{Bounds, Lower, Upper};
pub use execute::{ScanError, StepResult, execute};
pub use memory::{MemoryRow, MemoryTable};
pub use plan::Strategy;
pub use query::{Emit, InvalidQuery, Query, QueryOptions, Tokens};
pub use source::{Continuation, Keyed, Page, PageRequest, PageSource, SourceError};
pub use step::{Part, Step, StepId};
