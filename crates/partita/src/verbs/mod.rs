//! The verbs that concern this binary and its server, one file each. Those that work on any account are the toolbox's.

pub(crate) mod backup;
mod completions;
mod config_show;
mod connect;
mod explain;
mod man;
pub(crate) mod restore;
pub(crate) mod serve;
pub(crate) mod snapshot;

use std::process::ExitCode;

use anyhow::Context as _;
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
        Some(("snapshot", matches)) => snapshot::run(matches),
        Some(("backup", matches)) => backup::run(matches),
        Some(("restore", matches)) => restore::run(matches),
        Some(("completions", matches)) => completions::run(matches),
        Some(("man", matches)) => man::run(matches),
        Some((name, matches)) => {
            partita_cli::run(name, matches).with_context(|| format!("there is no verb {name}"))
        }
        None => unreachable!("clap lets only known verbs through"),
    }
}

/// Runs work that waits, on a runtime of its own.
fn blocking<T>(work: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    runtime.block_on(work)
}

/// The settings of a command line. Warnings go to stderr.
fn settings(matches: &ArgMatches) -> anyhow::Result<(Settings, Values)> {
    let (values, warnings) = cli::layers(matches)?.resolve()?;
    for warning in warnings {
        output::talk(&format!("warning: {warning}"));
    }
    Ok((Settings::from_values(&values)?, values))
}
