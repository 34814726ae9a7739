//! The verbs, one file each.

mod config_show;
mod connect;
mod explain;
pub(crate) mod serve;

use std::process::ExitCode;

use clap::ArgMatches;
use partita_server::config::{Settings, Values};

use crate::{cli, output};

/// Runs the verb that was given.
pub(crate) fn run(matches: &ArgMatches) -> anyhow::Result<ExitCode> {
    match matches.subcommand() {
        Some(("serve", matches)) => serve::run(matches),
        Some(("config", matches)) => match matches.subcommand() {
            Some(("show", matches)) => config_show::run(matches),
            _ => unreachable!("clap lets only known verbs through"),
        },
        Some(("connect", matches)) => connect::run(matches),
        Some(("explain", matches)) => explain::run(matches),
        _ => unreachable!("clap lets only known verbs through"),
    }
}

/// The settings of a command line. Warnings go to stderr.
fn settings(matches: &ArgMatches) -> anyhow::Result<(Settings, Values)> {
    let (values, warnings) = cli::layers(matches)?.resolve()?;
    for warning in warnings {
        output::talk(&format!("warning: {warning}"));
    }
    Ok((Settings::from_values(&values)?, values))
}
