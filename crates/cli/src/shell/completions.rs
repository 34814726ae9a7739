//! `partita completions SHELL`

use std::process::ExitCode;

use anyhow::Context as _;
use clap::ArgMatches;
use clap_complete::Shell;

use crate::command_line::{self as cli, argument};
use crate::output::plain as output;

pub(crate) fn run(matches: &ArgMatches) -> anyhow::Result<ExitCode> {
    let shell = matches.get_one::<Shell>(argument::SHELL);
    let shell = *shell.context("no such shell")?;
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut cli::command(), "partita", &mut script);
    output::data(&String::from_utf8(script)?)?;
    Ok(ExitCode::SUCCESS)
}
