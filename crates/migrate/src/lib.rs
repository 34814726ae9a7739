//! Migrations: versioned changes of tables. Each runs once, in the order of versions, and is recorded in a table of the
//! account, the version table.
//!
//! - [`Migration`]: steps, and optionally steps that revert them; built in code, or read from files
//!   ([`read_directory`]).
//! - [`Migrator`]: runs the migrations that have not run.
//!
//! Promises:
//! - a migration runs once. If its definition changes after that, the next run reports an error;
//! - migrations can be stopped at any point, even by `kill -9`; the next run ends with the same tables as an
//!   uninterrupted run (`runner/step.rs` describes how for each step);
//! - two runners do not run at the same time (`lease.rs` states the conditions);
//! - all rows are written through the public protocol, so migrations work on any server.
//!
//! Other clients should not write to the tables of a running migration. Rows that they add during the run may remain
//! unchanged, and a copied table that differs from its source is an error.

mod change;
mod checksum;
mod direction;
mod error;
mod file;
mod lease;
mod migration;
mod operation;
mod owner;
mod record;
mod runner;
mod set;

pub use change::{ChangeError, PropertyChange};
pub use checksum::Checksum;
pub use direction::Direction;
pub use error::{ChangedMigration, MigrateError, RowError, StepError};
pub use file::{FileError, MigrationsError, parse, read_directory};
pub use lease::LeaseOptions;
pub use migration::{InvalidMigration, Migration, Steps};
pub use operation::{Operation, RowSelection, Transform, WriteRows};
pub use partita_bulk::{InvalidTemplate, Template, TemplateError};
pub use record::{Record, State};
pub use runner::{
    Cost, Done, Event, Migrator, MigratorOptions, Planned, Ran, VERSIONS_TABLE, Watch,
};
pub use set::Migrations;
