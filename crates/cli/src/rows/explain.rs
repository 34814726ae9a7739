//! `partita explain FILTER`

use std::process::ExitCode;

use clap::ArgMatches;
use partita_server::explain::Explained;

use crate::command_line::{self as cli, argument};
use crate::output::plain as output;

pub(crate) fn run(matches: &ArgMatches) -> anyhow::Result<ExitCode> {
    let filter = matches
        .get_one::<String>(argument::FILTER)
        .map(String::as_str)
        .unwrap_or_default();
    let explained = Explained::new(filter)?;
    match cli::is_json(matches) {
        true => output::data(&format!("{:#}\n", explained.as_json()))?,
        false => output::data(&explained.as_text())?,
    }
    Ok(ExitCode::SUCCESS)
}
