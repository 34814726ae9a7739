//! `partita snapshot`: the whole store as it was at one instant.

mod create;
mod delete;
mod list;
mod restore;
mod show;

use std::process::ExitCode;
use std::sync::Arc;

use crate::args::admin_port;
use clap::{Arg, ArgAction, ArgMatches, Command};
use partita_tools::admin::{AdminError, AdminPort};
use serde_json::Value;

use crate::command_line as cli;
use crate::output::plain as output;

const NAME: &str = "name";
const YES: &str = "yes";
const PAGE: &str = "/admin/v1/snapshots";

/// The command.
pub(crate) fn command() -> Command {
    let verb = |name: &'static str, about: &'static str| {
        Command::new(name)
            .about(about)
            .arg(admin_port::argument())
            .arg(cli::output())
    };
    let name = || {
        Arg::new(NAME)
            .required(true)
            .value_name("NAME")
            .help("The snapshot")
    };
    let delete = verb("delete", "Delete a snapshot").arg(name()).arg(
        Arg::new(YES)
            .long("yes")
            .action(ArgAction::SetTrue)
            .help("Do not ask"),
    );
    Command::new("snapshot")
        .about("Keep the whole store as it is now, and bring tables back from that")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(
            verb("create", "Take a snapshot: every table at one instant, nothing copied").arg(name()),
        )
        .subcommand(verb("list", "List the snapshots, the oldest first"))
        .subcommand(verb("show", "Show a snapshot and its tables").arg(name()))
        .subcommand(delete)
        .subcommand(restore::arguments(
            verb("restore", "Bring tables back").arg(name()),
        ))
        .after_help("They are kept by the server, in its own store: for another disk, see `partita backup`.")
}

/// Runs the verb that was given.
pub(crate) fn run(matches: &ArgMatches) -> anyhow::Result<ExitCode> {
    crate::command_line::run::blocking(async {
        match matches.subcommand() {
            Some(("create", matches)) => create::run(matches).await,
            Some(("list", matches)) => list::run(matches).await,
            Some(("show", matches)) => show::run(matches).await,
            Some(("delete", matches)) => delete::run(matches).await,
            Some(("restore", matches)) => restore::run(matches).await,
            _ => unreachable!("clap lets only known verbs through"),
        }
    })
}

/// The admin port that was named. What is asked of it is not counted: these verbs print no totals.
pub(crate) fn port(matches: &ArgMatches) -> Result<AdminPort, AdminError> {
    admin_port::of(matches, Arc::default())
}

/// A member that is a text.
pub(crate) fn text<'v>(value: &'v Value, member: &str) -> &'v str {
    value
        .get(member)
        .and_then(Value::as_str)
        .unwrap_or_default()
}

fn name(matches: &ArgMatches) -> &str {
    matches
        .get_one::<String>(NAME)
        .map(String::as_str)
        .unwrap_or_default()
}

/// The page of the snapshot that was named. A name that is none is refused by the server; one that would be another page is not
/// sent.
fn page(matches: &ArgMatches) -> anyhow::Result<String> {
    Ok(format!("{PAGE}/{}", checked_name(matches)?))
}

/// The name, if it can be one.
pub(crate) fn checked_name(matches: &ArgMatches) -> anyhow::Result<&str> {
    let name = name(matches);
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || b".-_".contains(&byte);
    anyhow::ensure!(
        name.bytes().all(is_word),
        "a snapshot's name is 1 to 63 of a-z, 0-9, '.', '-' and '_', the first a letter or a digit"
    );
    Ok(name)
}

/// Prints the answer as JSON if that is wanted. Says whether it was.
pub(crate) fn as_json(matches: &ArgMatches, answer: &Value) -> anyhow::Result<bool> {
    let json = cli::is_json(matches);
    if json {
        output::data(&format!("{answer:#}\n"))?;
    }
    Ok(json)
}

/// Bytes for people.
pub(crate) fn size(value: &Value, member: &str) -> String {
    let bytes = value
        .get(member)
        .and_then(Value::as_u64)
        .unwrap_or_default();
    let units = [(30, "GiB"), (20, "MiB"), (10, "KiB")];
    let unit = units.iter().find(|(shift, _)| bytes >> shift > 0);
    match unit {
        Some((shift, name)) => {
            let tenths = (bytes * 10) >> shift;
            format!("{}.{} {name}", tenths / 10, tenths % 10)
        }
        None => format!("{bytes} B"),
    }
}

fn count(value: &Value, member: &str) -> usize {
    value
        .get(member)
        .and_then(Value::as_array)
        .map_or(0, Vec::len)
}

/// A number and its noun, with an s for several.
pub(crate) fn many(number: u64, noun: &str) -> String {
    match number {
        1 => format!("1 {noun}"),
        _ => format!("{number} {noun}s"),
    }
}

/// How many entities.
fn entities(number: u64) -> String {
    match number {
        1 => "1 entity".to_owned(),
        _ => format!("{number} entities"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn sizes_are_for_people() {
        let shown = |bytes: u64| size(&json!({ "b": bytes }), "b");
        assert_eq!(shown(0), "0 B");
        assert_eq!(shown(1023), "1023 B");
        assert_eq!(shown(1024), "1.0 KiB");
        assert_eq!(shown(1_073_741_824 / 10 * 25), "2.4 GiB");
    }
}
