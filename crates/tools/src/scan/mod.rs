//! Every row of a table, or of a part of it, read by many requests at once and returned exactly once.

mod bounds;
mod execute;
mod frontier;
mod memory;
mod partitions;
mod plan;
pub mod prefix;
mod query;
mod run;
mod source;
mod step;
#[cfg(test)]
mod tests;
mod token;

pub use bounds::{Bounds, Lower, Upper};
pub use execute::{ScanError, StepResult, execute};
pub use frontier::{Batch, Frontier, FrontierOptions, Order};
pub use memory::{MemoryRow, MemoryTable};
pub use partitions::{PartitionCount, PartitionCounts};
pub use plan::Strategy;
pub use query::{Emit, InvalidQuery, LongPartitions, Query, QueryOptions, Tokens};
pub use run::{Progress, RunOptions, Scan};
pub use source::{Continuation, Keyed, Page, PageRequest, PageSource, SourceError};
pub use step::{Part, Step, StepId};
pub use token::{InvalidToken, ResumeToken};
