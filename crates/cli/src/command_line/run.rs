//! The verbs that concern this binary and its server, one file each. Those that work on any account are the toolbox's.

use std::ffi::OsString;
use std::process::ExitCode;

use anyhow::Context as _;
use clap::ArgMatches;
use partita_server::config::{Settings, Values};

use crate::argv0::Called;
use crate::command_line as cli;
use crate::output::plain as output;

/// Runs the verb that was given.
pub(crate) fn run(matches: &ArgMatches) -> anyhow::Result<ExitCode> {
    match matches.subcommand() {
        Some(("serve", matches)) => crate::server::serve::run(matches),
        Some(("config", matches)) => match matches.subcommand() {
            Some(("show", matches)) => crate::config::show::run(matches),
            _ => unreachable!("clap lets only known verbs through"),
        },
        Some(("connect", matches)) => crate::server::connect::run(matches),
        Some(("explain", matches)) => crate::rows::explain::run(matches),
        Some(("snapshot", matches)) => crate::snapshot::run(matches),
        Some(("backup", matches)) => crate::backup::run(matches),
        Some(("restore", matches)) => crate::backup::restore::run(matches),
        Some(("completions", matches)) => crate::shell::completions::run(matches),
        Some(("man", matches)) => crate::shell::man::run(matches),
        Some((name, matches)) => {
            crate::run(name, matches).with_context(|| format!("there is no verb {name}"))
        }
        None => unreachable!("clap lets only known verbs through"),
    }
}

/// Runs work that waits, on a runtime of its own.
pub(crate) fn blocking<T>(work: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    runtime.block_on(work)
}

/// The settings of a command line. Warnings go to stderr.
pub(crate) fn settings(matches: &ArgMatches) -> anyhow::Result<(Settings, Values)> {
    let (values, warnings) = cli::layers(matches)?.resolve()?;
    for warning in warnings {
        output::talk(&format!("warning: {warning}"));
    }
    Ok((Settings::from_values(&values)?, values))
}

/// Runs the command line of the process, and says what went wrong.
#[must_use]
pub fn main(arguments: Vec<OsString>) -> ExitCode {
    let outcome = match Called::by(&arguments) {
        Called::Partita => run(&cli::command().get_matches_from(arguments)),
        Called::AzuriteTable => {
            crate::server::serve::run(&cli::azurite_command().get_matches_from(arguments))
        }
        Called::OtherService(name) => Err(anyhow::anyhow!(
            "{name} is not here: this server has tables; start it as azurite-table"
        )),
    };
    match outcome {
        Ok(code) => code,
        Err(error) if output::is_closed_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            output::talk(&format!("error: {error:#}"));
            ExitCode::from(2)
        }
    }
}
