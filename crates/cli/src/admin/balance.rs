//! `partita admin balance on|off`: whether the manager of a cluster changes ranges of its own accord.

use super::Answer as _;
use crate::args::AdminPortArgs;
use crate::command::{Command, CommandResult, Outcome, block_on};
use crate::output::{OutputArgs, Shape};
use clap::ValueEnum;
use partita_tools::admin::Page;
use partita_wire::admin::ActionDone;

/// Switch the automatic splits, merges and moves of a cluster on or off
#[derive(clap::Args)]
pub(crate) struct BalanceCommand {
    /// `off`: the manager only assigns ranges without a server, and empties draining servers
    how: How,
    #[command(flatten)]
    output: OutputArgs,
    #[command(flatten)]
    admin: AdminPortArgs,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum How {
    On,
    Off,
}

impl Command for BalanceCommand {
    fn run(self) -> CommandResult {
        let (port, progress) = self.admin.open()?;
        let on = matches!(self.how, How::On);
        block_on(async move {
            let Page { document, text } = port.balance::<ActionDone>(on).await?;
            let output = self.output;
            output.write_document(&text, Shape::Single, |output| document.write(output))?;
            let state = if on { "on" } else { "off" };
            progress.finish(&format!("balancing is {state}"), Outcome::Done)
        })
    }
}
