//! `partita connect`: the snippet on stdout, whether anything answers on stderr.

use std::process::ExitCode;

use anyhow::Context as _;
use clap::ArgMatches;
use partita_server::config::Settings;
use partita_server::connect::{Answer, Endpoint, Tool, probe, snippet};

use crate::command_line::argument;
use crate::command_line::run::settings;
use crate::output::plain as output;

pub(crate) fn run(matches: &ArgMatches) -> anyhow::Result<ExitCode> {
    let (settings, _) = settings(matches)?;
    let account = matches
        .get_one::<String>(argument::ACCOUNT)
        .map(String::as_str);
    let named = account.unwrap_or_default();
    let mut endpoint = Endpoint::of(&settings, account)
        .with_context(|| format!("the settings have no account {named}"))?;
    let answer = probe(&settings);
    if let Answer::Status {
        table_port: Some(port),
        ..
    } = answer
    {
        endpoint.port = port;
    }
    let word = matches
        .get_one::<String>(argument::TOOL)
        .map(String::as_str)
        .unwrap_or_default();
    let tool = Tool::ALL
        .into_iter()
        .find(|tool| tool.name() == word)
        .context("no such tool")?;
    output::data(&snippet(tool, &endpoint))?;
    Ok(report(&answer, &endpoint, &settings))
}

/// Tells whether the snippet will work. Exit code 1 when it will not.
fn report(answer: &Answer, endpoint: &Endpoint, settings: &Settings) -> ExitCode {
    let url = endpoint.url();
    match answer {
        Answer::Status {
            version,
            state,
            accounts,
            ..
        } => {
            output::talk(&format!("partita {version} answers at {url} ({state})"));
            let known = accounts.iter().any(|name| name == endpoint.account.name());
            if !known {
                output::talk(&format!(
                    "but it serves other accounts: {}; give the server's own settings",
                    accounts.join(", ")
                ));
                return ExitCode::from(1);
            }
            ExitCode::SUCCESS
        }
        Answer::Open => {
            output::talk(&format!(
                "something answers at {url}; its admin port does not tell what"
            ));
            ExitCode::SUCCESS
        }
        Answer::Nothing => {
            let port = settings.table.port;
            output::talk(&format!(
                "nothing answers at {url}: start it by `partita serve --table-port {port}`"
            ));
            ExitCode::from(1)
        }
    }
}
