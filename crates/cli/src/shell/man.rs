//! `partita man DIR`: a page for the binary, and one for each verb.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context as _;
use clap::ArgMatches;

use crate::command_line::{self as cli, argument};
use crate::output::plain as output;

pub(crate) fn run(matches: &ArgMatches) -> anyhow::Result<ExitCode> {
    let directory = matches
        .get_one::<PathBuf>(argument::DIRECTORY)
        .context("no directory")?;
    let shown = directory.display();
    std::fs::create_dir_all(directory).with_context(|| format!("cannot make {shown}"))?;
    clap_mangen::generate_to(cli::command(), directory)
        .with_context(|| format!("cannot write manual pages to {shown}"))?;
    output::talk(&format!("manual pages are in {shown}"));
    Ok(ExitCode::SUCCESS)
}
