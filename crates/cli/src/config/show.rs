//! `partita config show`

use std::process::ExitCode;

use clap::ArgMatches;
use partita_server::config;

use crate::command_line::argument;
use crate::command_line::run::settings;
use crate::output::plain as output;

pub(crate) fn run(matches: &ArgMatches) -> anyhow::Result<ExitCode> {
    // Settings that would not do are an error here as well: better now than at the start of the server.
    let (_, values) = settings(matches)?;
    let json = matches
        .get_one::<String>(argument::OUTPUT)
        .is_some_and(|form| form == "json");
    match json {
        true => output::data(&format!("{:#}\n", config::as_json(&values)))?,
        false => output::data(&config::as_table(&values))?,
    }
    Ok(ExitCode::SUCCESS)
}
