//! `partita config`: the settings of the server.

mod show;

use crate::error::{CommandError, Outcome};
use clap::Subcommand;

#[derive(Subcommand)]
pub(crate) enum ConfigCommand {
    Show(show::ShowCommand),
}

impl ConfigCommand {
    pub(crate) fn run(self) -> Result<Outcome, CommandError> {
        match self {
            Self::Show(command) => command.run(),
        }
    }
}
