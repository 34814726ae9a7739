//! Flags that several commands take, as groups to flatten into their arguments.
//!
//! The doc comments of a command and of its flags are the help texts. The comment of a flattened group is not shown:
//! the comment of the command replaces it.

pub(crate) mod admin_port;
mod choice;
pub(crate) mod connection;
pub(crate) mod destination;
mod filter;
mod place;
pub(crate) mod scanning;
pub(crate) mod settings;
mod validity;

pub(crate) use admin_port::AdminPortArgs;
pub(crate) use choice::choice;
pub(crate) use connection::{ConnectionArgs, QueueConnectionArgs};
pub(crate) use destination::DestinationArgs;
pub(crate) use filter::{FilterArgs, NeededFilterArgs};
pub(crate) use place::{Place, PlaceFlags};
pub(crate) use scanning::{ResumableScanArgs, ResumeArgs, ScanArgs};
pub(crate) use settings::SettingsArgs;
pub(crate) use validity::ValidityArgs;

use crate::error::CommandError;
use crate::progress::Progress;

/// The flag that confirms in advance.
#[derive(Debug, clap::Args)]
pub(crate) struct ConfirmArgs {
    /// Do not ask for confirmation
    #[arg(long, short)]
    yes: bool,
}

impl ConfirmArgs {
    /// Asks before the command does `what`, unless the flag confirms it.
    pub(crate) fn confirm(&self, what: &str, progress: &mut Progress) -> Result<(), CommandError> {
        if self.yes {
            return Ok(());
        }
        progress.confirm(what)
    }
}

/// Which properties of an entity are returned.
#[derive(Debug, clap::Args)]
pub(crate) struct SelectArgs {
    /// Properties to return, separated by commas; PartitionKey and RowKey are always included
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    select: Vec<String>,
}

impl SelectArgs {
    /// The properties that the user named; `None` for all properties.
    pub(crate) fn names(&self) -> Option<Vec<String>> {
        let names = self.select.iter().map(|name| name.trim().to_owned());
        let names: Vec<String> = names.collect();
        (!names.is_empty()).then_some(names)
    }
}
