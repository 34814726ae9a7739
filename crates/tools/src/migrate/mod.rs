//! Versioned changes of tables, run once each, in the order of their versions, and recorded in a table of their account.
//!
//! - [`Migration`]: steps that do something, and maybe steps that take it back; made in code, or read from files
//!   ([`read_directory`]).
//! - [`Migrator`]: runs those that have not run.
//!
//! Promises:
//! - a migration that ran is not run again, and one that has changed since is an error;
//! - stopped anywhere, also by `kill -9`, and run again, migrations end as if they had not been stopped (see
//!   `runner/step.rs` for how, step by step);
//! - two runners do not run at the same time: see `lease.rs` for what that rests on;
//! - what the tables hold is written through the public protocol, so all of it works on any server.
//!
//! Nobody else should write the tables that a migration changes while it runs: rows that come behind its back are not changed, and a
//! copy that is not the same as its source is refused.

mod change;
mod checksum;
mod direction;
mod error;
mod file;
mod lease;
mod migration;
mod operation;
mod record;
mod runner;
mod set;
mod template;

pub use change::{ChangeError, PropertyChange};
pub use checksum::Checksum;
pub use direction::Direction;
pub use error::{ChangedMigration, MigrateError, RowError, StepError};
pub use file::{FileError, MigrationsError, parse, read_directory};
pub use lease::LeaseOptions;
pub use migration::{InvalidMigration, Migration, Steps};
pub use operation::{Operation, RowSelection, Transform};
pub use record::{Record, State};
pub use runner::{
    Cost, Done, Event, Migrator, MigratorOptions, Planned, Unwatched, VERSIONS_TABLE, Watch,
};
pub use set::Migrations;
pub use template::{InvalidTemplate, Template, TemplateError};
