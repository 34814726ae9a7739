//! The whole command line, and how a command is run: threads, outcome, exit code.

#[cfg(test)]
mod tests;

use crate::admin::AdminCommand;
use crate::argv0::Argv0;
use crate::backup::BackupCommand;
use crate::backup::restore::RestoreCommand;
use crate::config::ConfigCommand;
use crate::entity::EntityCommand;
use crate::error::{CommandError, Outcome, exit_code};
use crate::log::LogCommand;
use crate::migrate::MigrateCommand;
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
use crate::shell::completions::CompletionsCommand;
use crate::shell::man::ManCommand;
use crate::snapshot::SnapshotCommand;
use crate::stress::StressCommand;
use crate::table::TableCommand;
use crate::transfer::copy::CopyCommand;
use crate::transfer::diff::DiffCommand;
use crate::transfer::export::ExportCommand;
use crate::transfer::import::ImportCommand;
use clap::{ArgAction, Parser, Subcommand};
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

#[derive(Subcommand)]
enum Command {
    Serve(ServeCommand),
    Connect(ConnectCommand),
    #[command(subcommand, about = "Settings of the server")]
    Config(ConfigCommand),
    #[command(subcommand, about = "Tables of an account")]
    Table(TableCommand),
    #[command(subcommand, about = "Entities of a table")]
    Entity(EntityCommand),
    #[command(
        subcommand,
        about = "Partitions as logs: rows whose keys count down, so that the newest come first"
    )]
    Log(LogCommand),
    Scan(ScanCommand),
    Count(CountCommand),
    Partitions(PartitionsCommand),
    Purge(PurgeCommand),
    Explain(ExplainCommand),
    Export(ExportCommand),
    Import(ImportCommand),
    Copy(CopyCommand),
    Diff(DiffCommand),
    #[command(
        subcommand,
        about = "Versioned changes of tables, from files, each run once"
    )]
    Migrate(MigrateCommand),
    Stress(StressCommand),
    Status(StatusCommand),
    Hot(HotCommand),
    Heat(HeatCommand),
    Ranges(RangesCommand),
    #[command(subcommand, about = "Act on a range of a Partita server")]
    Admin(AdminCommand),
    #[command(
        subcommand,
        about = "Keep the whole store as it is now, and restore tables from it",
        after_help = "Snapshots are kept by the server, in its own store: for another disk, see `partita backup`."
    )]
    Snapshot(SnapshotCommand),
    Backup(BackupCommand),
    Restore(RestoreCommand),
    Completions(CompletionsCommand),
    Man(ManCommand),
}

/// Runs the command line of the process. Errors are reported on stderr; returns the exit code.
#[must_use]
pub fn main(arguments: Vec<OsString>) -> ExitCode {
    exit_code(match Argv0::of(&arguments) {
        Argv0::Partita => CommandLine::parse_from(arguments).command.run(),
        Argv0::AzuriteTable => AzuriteCommandLine::parse_from(arguments).serve.run(),
        Argv0::OtherService(name) => Err(CommandError::usage(format!(
            "{name} is not supported: this server has tables only; start it as azurite-table"
        ))),
    })
}

impl Command {
    fn run(self) -> Result<Outcome, CommandError> {
        match self {
            // It has threads of its own.
            Self::Serve(command) => command.run(),
            Self::Config(command) => command.run(),
            Self::Explain(command) => command.run(),
            Self::Completions(command) => command.run(),
            Self::Man(command) => command.run(),
            Self::Connect(command) => block_on(command.run()),
            Self::Table(command) => block_on(command.run()),
            Self::Entity(command) => block_on(command.run()),
            Self::Log(command) => block_on(command.run()),
            Self::Scan(command) => block_on(command.run()),
            Self::Count(command) => block_on(command.run()),
            Self::Partitions(command) => block_on(command.run()),
            Self::Purge(command) => block_on(command.run()),
            Self::Export(command) => block_on(command.run()),
            Self::Import(command) => block_on(command.run()),
            Self::Copy(command) => block_on(command.run()),
            Self::Diff(command) => block_on(command.run()),
            Self::Migrate(command) => block_on(command.run()),
            Self::Stress(command) => block_on(command.run()),
            Self::Status(command) => block_on(command.run()),
            Self::Hot(command) => block_on(command.run()),
            Self::Heat(command) => block_on(command.run()),
            Self::Ranges(command) => block_on(command.run()),
            Self::Admin(command) => block_on(command.run()),
            Self::Snapshot(command) => block_on(command.run()),
            Self::Backup(command) => block_on(command.run()),
            Self::Restore(command) => block_on(command.run()),
        }
    }
}

/// Runs a command on threads of its own.
fn block_on(
    command: impl Future<Output = Result<Outcome, CommandError>>,
) -> Result<Outcome, CommandError> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build();
    let runtime = runtime.map_err(CommandError::because("cannot start threads"))?;
    let ended = runtime.block_on(command);
    // A transfer that was stopped at once may have a thread that still writes, or waits for input: it ends with the process.
    runtime.shutdown_background();
    ended
}
