//! `partita migrate status|plan|up|down`: versioned changes of tables, from files.

mod run;
mod show;

use crate::args::connection::{self, Connection};
use crate::args::{self, switch};
use crate::error::{End, Failure};
use crate::output;
use clap::{Arg, ArgMatches, Command, value_parser};
use partita_tools::migrate::{
    Direction, LeaseOptions, Migrations, Migrator, MigratorOptions, VERSIONS_TABLE, read_directory,
};
use std::path::PathBuf;
use std::time::Duration;

pub(crate) fn command() -> Command {
    let plan = verb(
        "plan",
        "Show what would be done, with its cost in requests where that is known",
    );
    let up = verb(
        "up",
        "Run every migration that has not run, in the order of versions",
    );
    let down = verb("down", "Take back the newest migration that ran");
    Command::new("migrate")
        .about("Versioned changes of tables, from files, run once each")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(verb("status", "Show each migration and what became of it"))
        .subcommand(
            plan.arg(to("Up to this version; with --down, back to it"))
                .arg(switch("down", "What taking back would do")),
        )
        .subcommand(running(up.arg(to("Only up to this version"))))
        .subcommand(running(
            down.arg(to("All above this version, the newest first")),
        ))
}

/// A verb with the flags that all of them have.
fn verb(name: &'static str, about: &'static str) -> Command {
    let directory = Arg::new("directory")
        .long("directory")
        .value_name("DIR")
        .default_value("migrations")
        .value_parser(value_parser!(PathBuf))
        .help("Where the migrations are: its files *.toml");
    let versions = Arg::new("versions-table")
        .long("versions-table")
        .value_name("TABLE")
        .default_value(VERSIONS_TABLE)
        .help("Table that holds what ran");
    let command = Command::new(name).about(about);
    connection::add(command.arg(directory).arg(versions).arg(output::argument()))
}

fn to(help: &'static str) -> Arg {
    Arg::new("to")
        .long("to")
        .value_name("VERSION")
        .value_parser(value_parser!(u64))
        .help(help)
}

/// Adds the flags of a run.
fn running(command: Command) -> Command {
    let lease = Arg::new("lease")
        .long("lease")
        .value_name("SECONDS")
        .value_parser(value_parser!(u32).range(5..=86_400))
        .default_value("60")
        .help("How long others are kept away if this run dies; longer than any request takes");
    command
        .arg(args::dry_run("Only show what would be done, as plan does"))
        .arg(args::yes())
        .arg(lease)
        .arg(switch(
            "take-over",
            "Run even if another run's lease has not ended: only if that one is known to be dead",
        ))
}

pub(crate) async fn run(matches: &ArgMatches) -> Result<End, Failure> {
    match matches.subcommand() {
        Some(("status", matches)) => show::status(matches).await,
        Some(("plan", matches)) if matches.get_flag("down") => {
            show::plan(matches, Direction::Down).await
        }
        Some(("plan", matches)) => show::plan(matches, Direction::Up).await,
        Some(("up", matches)) => run::run(matches, Direction::Up).await,
        Some(("down", matches)) => run::run(matches, Direction::Down).await,
        _ => unreachable!("clap lets only known verbs through"),
    }
}

fn migrations(matches: &ArgMatches) -> Result<Migrations, Failure> {
    let directory = matches.get_one::<PathBuf>("directory");
    let directory = directory.ok_or_else(|| Failure::usage("directory is missing"))?;
    Ok(read_directory(directory)?)
}

fn migrator(connection: &Connection, matches: &ArgMatches) -> Result<Migrator, Failure> {
    let mut lease = LeaseOptions::default();
    // Verbs that only look have no lease.
    if let Ok(Some(&seconds)) = matches.try_get_one::<u32>("lease") {
        lease.duration = Duration::from_secs(seconds.into());
        lease.renew_after = lease.duration / 3;
        lease.take_over = matches.get_flag("take-over");
    }
    let options = MigratorOptions {
        versions_table: args::required(matches, "versions-table")?.to_owned(),
        who: who(),
        lease,
        ..MigratorOptions::default()
    };
    Ok(Migrator::new(connection.service.clone(), options))
}

/// Who runs this, as far as the environment says.
fn who() -> String {
    let first = |names: [&str; 2]| {
        let mut values = names.iter().filter_map(|name| std::env::var(name).ok());
        values.find(|value| !value.is_empty())
    };
    let user = first(["USER", "USERNAME"]).unwrap_or_else(|| "somebody".to_owned());
    let host = first(["HOSTNAME", "COMPUTERNAME"]);
    let at = host.map_or(String::new(), |host| format!(" at {host}"));
    format!("{user}{at}, process {}", std::process::id())
}
