//! `partita completions SHELL`: prints a script with which a shell completes commands and flags.

use super::help;
use crate::prelude::*;
use clap_complete::Shell;

/// Print shell completions of this command line
#[derive(clap::Args)]
#[command(
    after_help = "Example: partita completions bash > ~/.local/share/bash-completion/completions/partita"
)]
pub(super) struct CompletionsCommand {
    /// Shell to generate completions for
    #[arg(value_name = "shell")]
    shell: Shell,
}

impl Command for CompletionsCommand {
    fn run(self) -> CommandResult {
        let mut script = Vec::new();
        let mut command = help::command();
        clap_complete::generate(self.shell, &mut command, "partita", &mut script);
        let script = String::from_utf8(script).because("the completions are not valid UTF-8")?;
        output::print(&script)?;
        Ok(Outcome::Done)
    }
}
