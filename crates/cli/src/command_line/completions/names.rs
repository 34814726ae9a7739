//! Names in completions: of tables, queues, jobs and columns from the account that the line names so far, and of
//! profiles.
//!
//! The account is asked in a thread for at most [`TIME_MAX`], or as long as the variable [`TIME_VARIABLE`] says. Without
//! an answer in time, or after any error, there are no names.

use super::super::help;
use crate::args::{ConnectionArgs, DestinationArgs};
use crate::command::{CommandError, Connection, QueueConnection};
use crate::profile::ProfilesFile;
use crate::units::parse_duration;
use clap::{Arg, ArgMatches, Command, FromArgMatches as _};
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate};
use futures::{StreamExt as _, TryStreamExt as _};
use partita_client::{Filter, ListQueuesOptions, QueryOptions, QueueServiceClient};
use partita_tools::fleet::FleetTable;
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::sync::{Arc, mpsc};
use std::time::Duration;

/// How long the account is asked.
const TIME_MAX: Duration = Duration::from_millis(300);
/// Another time, for accounts that are far away.
const TIME_VARIABLE: &str = "PARTITA_COMPLETE_WAIT";
/// The maximum number of names.
const NAMES_MAX: usize = 1000;
/// The number of rows in which columns are looked for.
const ROWS_SAMPLED: usize = 20;

/// What an argument names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Named {
    Table,
    /// A table of the second account.
    SecondTable,
    Queue,
    Job,
    Column,
    Profile,
}

impl Named {
    /// What an argument of a command names; `None` if it is not a name in an account. `path` has the words of the
    /// command.
    fn of(arg: &Arg, path: &str, has_account: bool) -> Option<Self> {
        let id = arg.get_id().as_str();
        let is_known_profile = arg.is_positional() && path != "profile add";
        if id == "to_profile" || id == "profile" && (arg.get_long().is_some() || is_known_profile) {
            return Some(Self::Profile);
        }
        // A new table or queue has a new name.
        if !has_account || path.ends_with(" create") {
            return None;
        }
        let value = arg.get_value_names().and_then(|names| names.first());
        match value.map(|name| name.as_str()).unwrap_or_default() {
            "TABLE" if path == "fleet run partitions" && id == "to" => Some(Self::SecondTable),
            "TABLE" | "SRC" => Some(Self::Table),
            "DST" => Some(Self::SecondTable),
            "QUEUE" => Some(Self::Queue),
            "FROM" | "TO" if path == "queue move" => Some(Self::Queue),
            "JOB" => Some(Self::Job),
            "NAMES" if id == "select" => Some(Self::Column),
            _ => None,
        }
    }
}

/// The command line with completers of names.
pub(super) fn with_names(command: Command, line: &Line) -> Command {
    add(command, "", line)
}

fn add(command: Command, path: &str, line: &Line) -> Command {
    let has_account = command
        .get_arguments()
        .any(|arg| arg.get_id() == "connection_string");
    let command = command.mut_args(|arg| match Named::of(&arg, path, has_account) {
        None => arg,
        Some(named) => {
            let line = line.clone();
            arg.add(ArgValueCompleter::new(move |current: &OsStr| {
                line.candidates(named, current)
            }))
        }
    });
    let names: Vec<String> = command
        .get_subcommands()
        .map(|command| command.get_name().to_owned())
        .collect();
    names.into_iter().fold(command, |command, name| {
        let path = format!("{path} {name}");
        command.mut_subcommand(name, |command| add(command, path.trim(), line))
    })
}

/// The words before the one that is completed.
#[derive(Clone)]
pub(super) struct Line(Arc<[OsString]>);

impl Line {
    pub(super) fn new(words: &[OsString], index: usize) -> Self {
        let before = words.get(..index).unwrap_or(words);
        Self(before.into())
    }

    fn candidates(&self, named: Named, current: &OsStr) -> Vec<CompletionCandidate> {
        let Some(prefix) = current.to_str() else {
            return Vec::new();
        };
        let names = match named {
            Named::Profile => profiles(),
            named => self.asked(named, prefix),
        };
        let fitting = names.into_iter().filter(|name| name.starts_with(prefix));
        fitting.map(CompletionCandidate::new).collect()
    }

    /// Names from the account; none if the account does not answer in time.
    fn asked(&self, named: Named, prefix: &str) -> Vec<String> {
        let (line, prefix) = (self.clone(), prefix.to_owned());
        let (send, receive) = mpsc::sync_channel(1);
        let ask = move || {
            let names = line.ask(named, &prefix).unwrap_or_default();
            // The send fails if the time is over, because the receiver was dropped.
            let _ = send.send(names);
        };
        let thread = std::thread::Builder::new().name("names".to_owned());
        if thread.spawn(ask).is_err() {
            return Vec::new();
        }
        receive.recv_timeout(time_max()).unwrap_or_default()
    }

    fn ask(&self, named: Named, prefix: &str) -> Option<Vec<String>> {
        let matches = self.matches()?;
        let mut leaf = &matches;
        while let Some((_, next)) = leaf.subcommand() {
            leaf = next;
        }
        let runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = { runtime }.enable_all().build().ok()?;
        runtime
            .block_on(Asked::new(leaf)?.names(named, prefix))
            .ok()
    }

    /// The words so far as the command line reads them, although some are missing.
    fn matches(&self) -> Option<ArgMatches> {
        let command = help::command().ignore_errors(true);
        command.try_get_matches_from(self.0.iter()).ok()
    }
}

/// The account of a line, and what else it says.
struct Asked<'a> {
    args: ConnectionArgs,
    matches: &'a ArgMatches,
}

impl<'a> Asked<'a> {
    fn new(matches: &'a ArgMatches) -> Option<Self> {
        let mut args = ConnectionArgs::from_arg_matches(matches).ok()?;
        args.retries = 0;
        Some(Self { args, matches })
    }

    async fn names(&self, named: Named, prefix: &str) -> Result<Vec<String>, CommandError> {
        match named {
            Named::Table => tables(&Connection::new(&self.args)?, prefix).await,
            Named::SecondTable => tables(&self.second()?, prefix).await,
            Named::Queue => queues(&self.queues()?, prefix).await,
            Named::Job => self.jobs().await,
            Named::Column => self.columns().await,
            Named::Profile => Ok(profiles()),
        }
    }

    /// The value of an argument that this command may have.
    fn text(&self, id: &str) -> Option<&'a str> {
        let value = self.matches.try_get_one::<String>(id).ok()??;
        Some(value)
    }

    fn second(&self) -> Result<Connection, CommandError> {
        let first = Connection::new(&self.args)?;
        match DestinationArgs::from_arg_matches(self.matches) {
            Ok(to) => to.open(&self.args, &first),
            Err(_) => Ok(first),
        }
    }

    /// The queues of the account: `--endpoint` is their URL, except in commands that have another flag for it.
    fn queues(&self) -> Result<QueueServiceClient, CommandError> {
        match self.matches.try_contains_id("queue_endpoint") {
            Ok(_) => {
                let endpoint = self.text("queue_endpoint");
                self.args.queues(endpoint, &Arc::default())
            }
            Err(_) => Ok(QueueConnection::of_account(&self.args)?.service),
        }
    }

    async fn jobs(&self) -> Result<Vec<String>, CommandError> {
        let connection = Connection::new(&self.args)?;
        let table = self.text("fleet_table").unwrap_or_default();
        let table = FleetTable(connection.service.table_client(table));
        let jobs = table.jobs().await?;
        Ok(jobs.into_iter().map(|job| job.id).collect())
    }

    /// The properties of the first rows of the table that the line names.
    async fn columns(&self) -> Result<Vec<String>, CommandError> {
        let name = self.text("table").or_else(|| self.text("source"));
        let Some(name) = name else {
            return Ok(Vec::new());
        };
        let connection = Connection::new(&self.args)?;
        let table = connection.service.table_client(name);
        let mut rows = table.query_entities(QueryOptions::new()).take(ROWS_SAMPLED);
        let mut names = BTreeSet::from(["PartitionKey", "RowKey", "Timestamp"].map(str::to_owned));
        while let Some(row) = rows.try_next().await? {
            names.extend(row.iter().map(|(name, _)| name.to_owned()));
        }
        Ok(names.into_iter().collect())
    }
}

fn time_max() -> Duration {
    let given = std::env::var(TIME_VARIABLE).ok();
    let given = given.and_then(|text| parse_duration(&text).ok());
    given.unwrap_or(TIME_MAX)
}

async fn tables(connection: &Connection, prefix: &str) -> Result<Vec<String>, CommandError> {
    let found = if prefix.is_empty() {
        connection.service.list_tables()
    } else {
        // No character of a table's name is after "z".
        let from = Filter::property("TableName").ge(prefix);
        let to = Filter::property("TableName").lt(format!("{prefix}~"));
        connection.service.query_tables(from.and(to))
    };
    Ok(found.take(NAMES_MAX).try_collect().await?)
}

async fn queues(service: &QueueServiceClient, prefix: &str) -> Result<Vec<String>, CommandError> {
    let options = ListQueuesOptions {
        prefix: prefix.to_owned(),
        ..ListQueuesOptions::default()
    };
    let found = service.list_queues(options).take(NAMES_MAX);
    let names = found.map_ok(|queue| queue.name);
    Ok(names.try_collect().await?)
}

/// The names of the user's profiles.
fn profiles() -> Vec<String> {
    let profiles = ProfilesFile::of_user().and_then(|file| file.read().ok());
    let names = profiles.map(|profiles| profiles.profiles.into_keys().collect());
    names.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the arguments of a command name, with their ids.
    fn named(path: &str) -> Vec<(String, Named)> {
        let mut command = &help::command();
        for word in path.split(' ') {
            command = command.find_subcommand(word).unwrap();
        }
        let arguments = command.get_arguments();
        let of = |arg: &Arg| Some((arg.get_id().to_string(), Named::of(arg, path, true)?));
        arguments.filter_map(of).collect()
    }

    #[test]
    fn arguments_name_what_they_say() {
        let found = |path: &str| -> Vec<(String, Named)> {
            let all = named(path).into_iter();
            all.filter(|(_, named)| *named != Named::Profile).collect()
        };
        let expect = |names: &[(&str, Named)]| -> Vec<(String, Named)> {
            let names = names.iter();
            names
                .map(|(id, named)| ((*id).to_owned(), *named))
                .collect()
        };
        for (path, expected) in [
            (
                "scan",
                &[("table", Named::Table), ("select", Named::Column)][..],
            ),
            (
                "copy",
                &[
                    ("source", Named::Table),
                    ("destination", Named::SecondTable),
                    ("select", Named::Column),
                ],
            ),
            (
                "queue move",
                &[("from", Named::Queue), ("to", Named::Queue)],
            ),
            ("table create", &[]),
            ("sas queue", &[("queue", Named::Queue)]),
        ] {
            let mut found = found(path);
            let mut expected = expect(expected);
            found.sort_by(|a, b| a.0.cmp(&b.0));
            expected.sort_by(|a, b| a.0.cmp(&b.0));
            assert_eq!(found, expected, "{path}");
        }
        assert_eq!(
            named("profile show"),
            expect(&[("profile", Named::Profile)])
        );
        assert_eq!(named("profile add"), []);
        assert!(named("diff").contains(&("to_profile".to_owned(), Named::Profile)));
    }
}
