//! Reads every row of a table, or of a part of it, with parallel requests, and returns each row exactly once.
//!
//! A [`Strategy`] cuts the table into the first [`Step`]s. [`execute`] reads a page of a step and returns steps for the
//! rest. A [`Frontier`] holds the open steps, and a [`Scan`] runs several at the same time. A [`ResumeToken`] stores
//! the position of the scan. Pages come from a [`PageSource`], so this module does not depend on HTTP.
//!
//! Promises, for a table that does not change during the scan:
//! - every row within the bounds that passes the filter is returned once. The strategy, the order of answers, failures
//!   and resumptions do not change that;
//! - with [`Order::Table`], rows are in the table's order;
//! - the number of rows in memory is bounded, see [`Scan`] and [`Frontier`];
//! - a failure does not lose rows: the failed step waits again.
//!
//! A row that is inserted or deleted during the scan may or may not be returned, as in any paged query.
//!
//! ```
//! # mod server { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/../client/tests/example/server.rs")); }
//! # server::on_a_server(async |connection_string| {
//! use partita_client::{Entity, TableServiceClient};
//! use partita_bulk::scan::{Bounds, Keyed as _, Query, QueryOptions, RunOptions, Scan, Strategy};
//! use partita_bulk::source::TableSource;
//! use std::sync::Arc;
//!
//! let service = TableServiceClient::from_connection_string(&connection_string)?;
//! let table = service.create_table("people").await?;
//! for (family, name) in [("Dashner", "Cleopatra"), ("Davis", "Gemma"), ("Davis", "Loralee")] {
//!     table.create_entity(&Entity::new(family, name)).await?;
//! }
//! let query = Query::new(QueryOptions { page_rows: 2, ..QueryOptions::default() })?;
//! let options = RunOptions { jobs: 4, ..RunOptions::default() };
//! let steps = Strategy::Prefix.plan(&Bounds::of_prefix("D"), &[], options.jobs);
//!
//! let mut scan = Scan::new(Arc::new(TableSource(table)), query, steps, options);
//! let mut found = Vec::new();
//! while let Some(batch) = scan.next().await {
//!     found.extend(batch?.rows.iter().map(|row| row.row_key().to_owned()));
//!     println!("resume from here: {}", scan.token());
//! }
//! assert_eq!(found, ["Cleopatra", "Gemma", "Loralee"]);
//! # Ok(()) });
//! ```

mod bounds;
mod execute;
mod frontier;
mod partitions;
mod plan;
mod prefix;
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
pub use partitions::{PartitionCount, PartitionCounts};
pub use plan::Strategy;
pub use query::{Emit, InvalidQuery, Query, QueryOptions, Tokens};
pub use run::{Progress, RunOptions, Scan};
pub use source::{Keyed, NoTable, Page, PageRequest, PageSource, SourceError, compare_keys};
pub use step::{Part, Step, StepId};
pub use token::{InvalidToken, ResumeToken};
