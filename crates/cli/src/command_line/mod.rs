//! The whole command line: reads it, runs the command that it names, and reports how the command ended.

mod completions;
mod man;
#[cfg(test)]
mod tests;

use crate::admin::AdminCommand;
use crate::argv0::Argv0;
use crate::backup::BackupCommand;
use crate::backup::restore::RestoreCommand;
use crate::command::{Command as _, CommandError, CommandResult, OnAccount, OnAdminPort, commands};
use crate::config::ConfigCommand;
use crate::entity::EntityCommand;
use crate::log::LogCommand;
use crate::migrate::MigrateCommand;
use crate::progress::message;
use crate::rows::count::CountCommand;
use crate::rows::explain::ExplainCommand;
use crate::rows::partitions::PartitionsCommand;
use crate::rows::purge::PurgeCommand;
use crate::rows::scan::ScanCommand;
use crate::server::connect::ConnectCommand;
use crate::server::heat::HeatCommand;
use crate::server::hot::HotCommand;
use crate::server::ranges::RangesCommand;
use crate::server::serve::ServeCommand;
use crate::server::status::StatusCommand;
use crate::snapshot::SnapshotCommand;
use crate::stress::StressCommand;
use crate::table::TableCommand;
use crate::transfer::OnTwoTables;
use crate::transfer::copy::CopyCommand;
use crate::transfer::diff::DiffCommand;
use crate::transfer::export::ExportCommand;
use crate::transfer::import::ImportCommand;
use clap::{ArgAction, Parser};
use completions::CompletionsCommand;
use man::ManCommand;
use std::ffi::OsString;
use std::process::ExitCode;

/// The command line of `partita`.
#[derive(Parser)]
#[command(
    name = "partita",
    about = "Azure Table storage that you run yourself",
    version = partita_server::VERSION,
    disable_version_flag = true
)]
pub(crate) struct CommandLine {
    #[command(flatten)]
    _version: VersionArgs,
    #[command(subcommand)]
    command: Command,
}

/// The command line of `azurite` and `azurite-table`: the flags of `serve`, without a command.
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
    serve: ServeCommand,
}

/// `-v` as well as `-V`, as Azurite has it.
#[derive(clap::Args)]
struct VersionArgs {
    /// Print the version
    #[arg(id = "version", long, short = 'V', short_alias = 'v', action = ArgAction::Version)]
    _version: Option<bool>,
}

commands! {
    enum Command {
        Serve(ServeCommand),
        Connect(ConnectCommand),
        /// Settings of the server
        #[command(subcommand)]
        Config(ConfigCommand),
        /// Tables of an account
        #[command(subcommand)]
        Table(TableCommand),
        /// Entities of a table
        #[command(subcommand)]
        Entity(EntityCommand),
        /// Partitions as logs: rows whose keys count down, so that the newest come first
        #[command(subcommand)]
        Log(LogCommand),
        Scan(OnAccount<ScanCommand>),
        Count(OnAccount<CountCommand>),
        Partitions(OnAccount<PartitionsCommand>),
        Purge(OnAccount<PurgeCommand>),
        Explain(ExplainCommand),
        Export(OnAccount<ExportCommand>),
        Import(OnAccount<ImportCommand>),
        Copy(OnTwoTables<CopyCommand>),
        Diff(OnTwoTables<DiffCommand>),
        /// Versioned changes of tables, from files, each run once
        #[command(subcommand)]
        Migrate(MigrateCommand),
        Stress(StressCommand),
        Status(OnAdminPort<StatusCommand>),
        Hot(OnAdminPort<HotCommand>),
        Heat(OnAdminPort<HeatCommand>),
        Ranges(OnAdminPort<RangesCommand>),
        /// Act on a range of a Partita server
        #[command(subcommand)]
        Admin(AdminCommand),
        /// Keep the whole store as it is now, and restore tables from it
        #[command(
            subcommand,
            after_help = "Snapshots are kept by the server, in its own store: for another disk, see `partita backup`."
        )]
        Snapshot(SnapshotCommand),
        Backup(BackupCommand),
        Restore(RestoreCommand),
        Completions(CompletionsCommand),
        Man(ManCommand),
    }
}

/// Runs the command line of the process. Errors are reported on stderr; returns the exit code.
pub fn main(arguments: Vec<OsString>) -> ExitCode {
    exit_code(match Argv0::of(&arguments) {
        Argv0::Partita => CommandLine::parse_from(arguments).command.run(),
        Argv0::AzuriteTable => AzuriteCommandLine::parse_from(arguments).serve.run(),
        Argv0::OtherService(name) => Err(CommandError::usage(format!(
            "{name} is not supported: this server has tables only; start it as azurite-table"
        ))),
    })
}

/// Reports an error, and returns the exit code.
fn exit_code(ended: CommandResult) -> ExitCode {
    match ended {
        Ok(outcome) => outcome.into(),
        Err(error) if error.is_closed_pipe() => ExitCode::SUCCESS,
        Err(error) => {
            let hint = if error.is_not_connected() {
                " (is a server running? `partita serve` starts one)"
            } else {
                ""
            };
            message(&format!("error: {}{hint}", error.chain()));
            ExitCode::from(2)
        }
    }
}
