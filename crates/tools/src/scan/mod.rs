//! Every row of a table, or of a part of it, read by many requests at once and returned exactly once.
//!
//! A [`Strategy`] cuts the table into the first [`Step`]s; [`execute`] reads a step's pages and says what is left; a [`Frontier`]
//! keeps what is open; a [`Scan`] runs steps at the same time, and a [`ResumeToken`] says where it stands. Where pages come from is
//! a [`PageSource`]: nothing here knows of HTTP.
//!
//! Promises, for a table that does not change meanwhile:
//! - every row within the bounds that passes the filter is returned once, whatever the strategy, the order in which requests end,
//!   failures and resumptions between; with [`Order::Table`] in the table's order;
//! - rows in memory are bounded, see [`RunOptions`] and [`Frontier`];
//! - a failure loses nothing: what is left is open, and goes on where the rows returned end.
//!
//! A row that is written or deleted during the scan is seen or not, as with any paged query.
//!
//! ```
//! use partita_tools::scan::{
//!     Bounds, MemoryRow, MemoryTable, Query, QueryOptions, RunOptions, Scan, Strategy,
//! };
//! use std::sync::Arc;
//!
//! # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
//! let people = [("Dashner", "Cleopatra"), ("Davis", "Gemma"), ("Davis", "Loralee")];
//! let rows = people.map(|(partition_key, row_key)| MemoryRow {
//!     partition_key: partition_key.to_owned(),
//!     row_key: row_key.to_owned(),
//!     ..MemoryRow::default()
//! });
//! let table = Arc::new(MemoryTable::new(rows.to_vec(), 1000));
//! let query = Query::new(QueryOptions { page_rows: 2, ..QueryOptions::default() })?;
//! let options = RunOptions { jobs: 4, ..RunOptions::default() };
//! let steps = Strategy::Prefix.plan(&Bounds::of_prefix("D"), &[], options.jobs);
//!
//! let mut scan = Scan::new(table, query, steps, options);
//! let mut found = Vec::new();
//! while let Some(batch) = scan.next().await {
//!     found.extend(batch?.rows.into_iter().map(|row| row.row_key));
//!     println!("to go on from here: {}", scan.token());
//! }
//! assert_eq!(found, ["Cleopatra", "Gemma", "Loralee"]);
//! # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
//! ```

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
pub(crate) mod tests;
mod token;

pub use bounds::{Bounds, Lower, Upper};
pub use execute::{ScanError, StepResult, execute};
pub use frontier::{Batch, Frontier, FrontierOptions, Order};
pub use memory::{MemoryRow, MemoryTable};
pub use partitions::{PartitionCount, PartitionCounts};
pub use plan::Strategy;
pub use query::{Emit, InvalidQuery, LongPartitions, Query, QueryOptions, Tokens};
pub use run::{Progress, RunOptions, Scan};
pub use source::{Keyed, Page, PageRequest, PageSource, SourceError};
pub use step::{Part, Step, StepId};
pub use token::{InvalidToken, ResumeToken};
