//! `partita snapshot delete NAME`

use std::io::{BufRead as _, IsTerminal as _, Write as _};
use std::process::ExitCode;

use clap::ArgMatches;
use serde_json::Value;

use super::{YES, as_json, name, page, port};
use crate::output::plain as output;

pub(crate) async fn run(matches: &ArgMatches) -> anyhow::Result<ExitCode> {
    let name = name(matches);
    if !matches.get_flag(YES) {
        confirm(&format!("delete snapshot {name}"))?;
    }
    let delete = format!("{}/delete", page(matches)?);
    let answer: Value = port(matches)?.post(&delete, "").await?.read()?;
    if !as_json(matches, &answer)? {
        output::talk(&format!("deleted snapshot {name}"));
    }
    Ok(ExitCode::SUCCESS)
}

/// Asks on the terminal.
fn confirm(what: &str) -> anyhow::Result<()> {
    let (stdin, mut stderr) = (std::io::stdin(), std::io::stderr());
    anyhow::ensure!(
        stdin.is_terminal() && stderr.is_terminal(),
        "to {what}, say --yes: there is no terminal to ask on"
    );
    write!(stderr, "{what}? [y/N] ")?;
    stderr.flush()?;
    let mut answer = String::new();
    stdin.lock().read_line(&mut answer)?;
    let is_yes = matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes");
    anyhow::ensure!(is_yes, "nothing was done");
    Ok(())
}
