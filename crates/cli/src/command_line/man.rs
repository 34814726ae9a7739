//! `partita man DIR`: a manual page for the binary, and one for each command.

use super::help;
use crate::prelude::*;
use std::path::PathBuf;

/// Write the manual pages of this command line
#[derive(clap::Args)]
#[command(after_help = "Example: partita man ~/.local/share/man/man1")]
pub(super) struct ManCommand {
    /// Directory for the manual pages; created if it does not exist
    #[arg(value_name = "DIR")]
    directory: PathBuf,
}

impl Command for ManCommand {
    fn run(self) -> CommandResult {
        let name = self.directory.display();
        let written = std::fs::create_dir_all(&self.directory)
            .and_then(|()| clap_mangen::generate_to(help::command(), &self.directory));
        written.because(format!("cannot write manual pages to {name}"))?;
        message(&format!("manual pages are in {name}"));
        Ok(Outcome::Done)
    }
}
