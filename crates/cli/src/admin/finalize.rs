//! `partita admin finalize`: the servers of a cluster write the next version of their formats from now on.

use crate::args::AdminPortArgs;
use crate::command::{Command, CommandResult, Outcome, block_on};
use crate::output::{Field, OutputArgs, Shape};
use partita_tools::admin::Page;

/// End the upgrade of a cluster: from now on its servers write the formats of the new release, and the old one cannot join
#[derive(clap::Args)]
#[command(
    after_help = "All servers must run the new release. Before this command, each server can be started again with the old one; after it, none can."
)]
pub(crate) struct FinalizeCommand {
    #[command(flatten)]
    output: OutputArgs,
    #[command(flatten)]
    admin: AdminPortArgs,
}

impl Command for FinalizeCommand {
    fn run(self) -> CommandResult {
        let (port, progress) = self.admin.open()?;
        block_on(async move {
            let Page { document, text } = port.finalize().await?;
            let version = u64::from(document.active_version);
            self.output.write_document(&text, Shape::Single, |output| {
                output.record(&[("active version", Field::count(version))])
            })?;
            let text = format!("the cluster has version {version}");
            progress.finish(&text, Outcome::Done)
        })
    }
}
