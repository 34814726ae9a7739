//! `partita man DIR`: a manual page for the binary, and one for each command.

use crate::command_line::CommandLine;
use crate::error::{CommandError, Outcome};
use crate::progress::message;
use clap::CommandFactory as _;
use std::path::PathBuf;

#[derive(clap::Args)]
#[command(
    about = "Write the manual pages of this command line",
    after_help = "Such as: partita man ~/.local/share/man/man1"
)]
pub(crate) struct ManCommand {
    /// Directory to write them to; created if it does not exist
    #[arg(value_name = "DIR")]
    directory: PathBuf,
}

impl ManCommand {
    pub(crate) fn run(self) -> Result<Outcome, CommandError> {
        let directory = &self.directory;
        let name = directory.display();
        let what = || format!("cannot write manual pages to {name}");
        std::fs::create_dir_all(directory).map_err(CommandError::because(what()))?;
        clap_mangen::generate_to(CommandLine::command(), directory)
            .map_err(CommandError::because(what()))?;
        message(&format!("manual pages are in {name}"));
        Ok(Outcome::Done)
    }
}
