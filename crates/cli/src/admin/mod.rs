//! `partita admin split|merge|flush|checkpoint|compact|collect|freeze RANGE`: actions on a range, while it serves.

mod checkpoint;
mod freeze;
mod maintenance;
mod merge;
mod split;

use crate::args::AdminPortArgs;
use crate::error::{CommandError, Outcome};
use crate::output::{self, Field, Format, Output, OutputArgs, Shape};
use clap::Subcommand;
use partita_wire::admin::RangeActionParams;
use serde::de::DeserializeOwned;

#[derive(Subcommand)]
pub(crate) enum AdminCommand {
    Split(split::SplitCommand),
    Merge(merge::MergeCommand),
    Flush(maintenance::FlushCommand),
    Checkpoint(checkpoint::CheckpointCommand),
    Compact(maintenance::CompactCommand),
    Collect(maintenance::CollectCommand),
    Freeze(freeze::FreezeCommand),
}

impl AdminCommand {
    pub(crate) async fn run(self) -> Result<Outcome, CommandError> {
        match self {
            Self::Split(command) => command.run().await,
            Self::Merge(command) => command.run().await,
            Self::Flush(command) => command.run().await,
            Self::Checkpoint(command) => command.run().await,
            Self::Compact(command) => command.run().await,
            Self::Collect(command) => command.run().await,
            Self::Freeze(command) => command.run().await,
        }
    }
}

/// A range, and the server that has it.
#[derive(clap::Args)]
struct RangeArgs {
    /// Number of the range, as `partita ranges` shows it
    #[arg(value_name = "RANGE")]
    range: u64,
    #[command(flatten)]
    output: OutputArgs,
    #[command(flatten)]
    admin: AdminPortArgs,
}

impl RangeArgs {
    /// Runs an action, and writes what it answered: the whole document as JSON, the fields that `fields` takes out of it otherwise.
    async fn act<T: DeserializeOwned>(
        self,
        action: &str,
        params: &RangeActionParams,
        fields: impl FnOnce(&T, &mut Fields) -> Result<(), CommandError>,
    ) -> Result<Outcome, CommandError> {
        let (port, progress) = self.admin.open()?;
        let page = port.range_action::<T>(self.range, action, params).await?;
        if self.output.format() == Format::Json {
            output::print(&page.text)?;
        } else {
            let mut written = Fields(Output::stdout(self.output, Shape::Single, None));
            fields(&page.document, &mut written)?;
            written.0.finish()?;
        }
        progress.finish(&format!("{action} of range {} done", self.range));
        Ok(Outcome::Done)
    }
}

/// The answer to an action.
struct Fields(Output);

impl Fields {
    fn write(&mut self, fields: &[(&str, Field<'_>)]) -> Result<(), CommandError> {
        self.0.measured(fields)
    }
}
