//! `partita migrate status|plan|up|down`: versioned changes of tables, from files, each run once.

mod plan;
mod run;
mod status;

use crate::args::ConnectionArgs;
use crate::args::connection::Connection;
use crate::error::{CommandError, Outcome};
use crate::output::OutputArgs;
use clap::Subcommand;
use partita_tools::migrate::{
    LeaseOptions, Migrations, Migrator, MigratorOptions, VERSIONS_TABLE, read_directory,
};
use std::path::PathBuf;

#[derive(Subcommand)]
pub(crate) enum MigrateCommand {
    Status(status::StatusCommand),
    Plan(plan::PlanCommand),
    Up(run::UpCommand),
    Down(run::DownCommand),
}

impl MigrateCommand {
    pub(crate) async fn run(self) -> Result<Outcome, CommandError> {
        match self {
            Self::Status(command) => command.run().await,
            Self::Plan(command) => command.run().await,
            Self::Up(command) => command.run().await,
            Self::Down(command) => command.run().await,
        }
    }
}

/// Where migrations are, and where they are recorded.
#[derive(clap::Args)]
struct MigrationArgs {
    /// Directory of the migrations, its files *.toml
    #[arg(long, value_name = "DIR", default_value = "migrations")]
    directory: PathBuf,
    /// Table that records which migrations ran
    #[arg(long, value_name = "TABLE", default_value = VERSIONS_TABLE)]
    versions_table: String,
    #[command(flatten)]
    output: OutputArgs,
    #[command(flatten)]
    connection: ConnectionArgs,
}

impl MigrationArgs {
    fn migrations(&self) -> Result<Migrations, CommandError> {
        Ok(read_directory(&self.directory)?)
    }

    fn migrator(&self, connection: &Connection, lease: LeaseOptions) -> Migrator {
        let options = MigratorOptions {
            versions_table: self.versions_table.clone(),
            who: who(),
            lease,
            ..MigratorOptions::default()
        };
        Migrator::new(connection.service.clone(), options)
    }
}

/// User, host and process, for the record of who ran a migration.
fn who() -> String {
    let first = |names: [&str; 2]| {
        let mut values = names.iter().filter_map(|name| std::env::var(name).ok());
        values.find(|value| !value.is_empty())
    };
    let user = first(["USER", "USERNAME"]).unwrap_or_else(|| "unknown user".to_owned());
    let host = first(["HOSTNAME", "COMPUTERNAME"]);
    let at = host.map_or(String::new(), |host| format!(" at {host}"));
    format!("{user}{at}, process {}", std::process::id())
}
