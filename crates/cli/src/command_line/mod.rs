//! The whole command line: reads it, runs the command that it names, and reports how the command ended.

mod completions;
mod help;
mod man;
#[cfg(test)]
mod tests;

use crate::argv0::Argv0;
use crate::command::{Command as _, CommandError, CommandResult, OnAccount, OnAdminPort, commands};
use crate::progress::message;
use crate::remedy::remedy;
use crate::{
    admin, backup, cluster, config, entity, fleet, log, migrate, profile, queue, rows, sas, server,
    service, snapshot, stress, table, transfer,
};
use clap::{ArgAction, FromArgMatches as _, Parser};
use completions::CompletionsCommand;
use man::ManCommand;
use std::ffi::OsString;
use std::process::ExitCode;

/// The command line of `partita`.
#[derive(Parser)]
#[command(
    name = "partita",
    about = "Azure tables and queues that you run yourself",
    version = partita_server::VERSION,
    disable_version_flag = true
)]
pub(crate) struct CommandLine {
    #[command(flatten)]
    _version: VersionArgs,
    #[command(subcommand)]
    command: Command,
}

/// The command line of `azurite`, `azurite-queue` and `azurite-table`: the flags of `serve`, without a command.
#[derive(Parser)]
#[command(
    name = "azurite",
    version = partita_server::VERSION,
    disable_version_flag = true
)]
struct AzuriteCommandLine {
    #[command(flatten)]
    _version: VersionArgs,
    #[command(flatten)]
    serve: server::serve::ServeCommand,
}

/// The version flag: `-V`, and `-v` because Azurite has it.
#[derive(clap::Args)]
struct VersionArgs {
    /// Print the version
    #[arg(id = "version", long, short = 'V', short_alias = 'v', action = ArgAction::Version)]
    _version: Option<bool>,
}

commands! {
    enum Command {
        Serve(server::serve::ServeCommand),
        Check(server::check::CheckCommand),
        Connect(server::connect::ConnectCommand),
        /// Settings of the server
        #[command(subcommand)]
        Config(config::ConfigCommand),
        /// The servers of a cluster
        #[command(subcommand)]
        Cluster(cluster::ClusterCommand),
        /// Tables of an account
        #[command(subcommand)]
        Table(table::TableCommand),
        /// Entities of a table
        #[command(subcommand)]
        Entity(entity::EntityCommand),
        /// Partitions as logs: the keys decrease with time, so that the newest row comes first
        #[command(subcommand)]
        Log(log::LogCommand),
        /// Queues of an account, and their messages
        #[command(subcommand)]
        Queue(queue::QueueCommand),
        /// Settings of an account's services: logging, metrics, CORS
        #[command(subcommand)]
        Service(service::ServiceCommand),
        /// Shared access signatures: rights on a table, a queue or an account, in a text
        #[command(subcommand)]
        Sas(sas::SasCommand),
        Scan(OnAccount<rows::scan::ScanCommand>),
        Count(OnAccount<rows::count::CountCommand>),
        Partitions(OnAccount<rows::partitions::PartitionsCommand>),
        Purge(OnAccount<rows::purge::PurgeCommand>),
        Explain(rows::explain::ExplainCommand),
        Export(OnAccount<transfer::export::ExportCommand>),
        Import(OnAccount<transfer::import::ImportCommand>),
        Copy(transfer::OnTwoTables<transfer::copy::CopyCommand>),
        Diff(transfer::OnTwoTables<transfer::diff::DiffCommand>),
        /// Versioned changes of tables, from files, each run once
        #[command(subcommand)]
        Migrate(migrate::MigrateCommand),
        /// Work on the rows of a table by many worker processes
        #[command(subcommand)]
        Fleet(fleet::FleetCommand),
        Stress(stress::StressCommand),
        Status(OnAdminPort<server::status::StatusCommand>),
        Hot(OnAdminPort<server::hot::HotCommand>),
        Heat(OnAdminPort<server::heat::HeatCommand>),
        Ranges(OnAdminPort<server::ranges::RangesCommand>),
        Servers(OnAdminPort<server::servers::ServersCommand>),
        /// Act on a range or a server
        #[command(subcommand)]
        Admin(admin::AdminCommand),
        /// Create and delete snapshots of the whole store, and restore tables from them
        #[command(
            subcommand,
            after_help = "The server keeps snapshots in its own store; `partita backup` copies one to another disk."
        )]
        Snapshot(snapshot::SnapshotCommand),
        Backup(backup::BackupCommand),
        Restore(backup::restore::RestoreCommand),
        /// Accounts by name, with their credentials, in a file that only you can read
        #[command(subcommand)]
        Profile(profile::ProfileCommand),
        Completions(CompletionsCommand),
        Man(ManCommand),
    }
}

/// Runs the command line of the process. Errors are reported on stderr; returns the exit code.
pub fn main(arguments: Vec<OsString>) -> ExitCode {
    if let Some(code) = completions::answer(&arguments) {
        return code;
    }
    exit_code(match Argv0::of(&arguments) {
        Argv0::Partita => {
            let matches = help::command().get_matches_from(arguments);
            match CommandLine::from_arg_matches(&matches) {
                Ok(line) => line.command.run(),
                Err(error) => error.exit(),
            }
        }
        Argv0::Azurite => {
            let serve = AzuriteCommandLine::parse_from(arguments).serve;
            serve.like_azurite().run()
        }
        Argv0::AzuriteTable => {
            let serve = AzuriteCommandLine::parse_from(arguments).serve;
            serve.like_azurite().without_queues_by_default().run()
        }
        Argv0::OtherService(name) => Err(CommandError::usage(format!(
            "{name} is not supported: this server has tables and queues; start it as azurite"
        ))),
    })
}

/// Reports an error, and returns the exit code.
fn exit_code(ended: CommandResult) -> ExitCode {
    match ended {
        Ok(outcome) => outcome.into(),
        Err(error) if error.is_closed_pipe() => ExitCode::SUCCESS,
        Err(error) => {
            let remedy = remedy(&error).map(|text| format!(" ({text})"));
            message(&format!(
                "error: {}{}",
                error.chain(),
                remedy.unwrap_or_default()
            ));
            ExitCode::from(2)
        }
    }
}
