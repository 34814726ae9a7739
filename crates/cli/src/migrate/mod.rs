//! `partita migrate status|plan|up|down`: versioned changes of tables, from files, each run once.

mod plan;
mod run;
mod status;

use crate::prelude::*;
use partita_migrate::{
    LeaseOptions, Migrations, Migrator, MigratorOptions, VERSIONS_TABLE, read_directory,
};
use std::path::PathBuf;

commands! {
    pub(crate) enum MigrateCommand {
        Status(OnAccount<status::StatusCommand>), Plan(OnAccount<plan::PlanCommand>),
        Up(OnAccount<run::UpCommand>), Down(OnAccount<run::DownCommand>),
    }
}

/// Where migrations are read from, and where they are recorded.
#[derive(clap::Args)]
struct MigrationArgs {
    /// Directory of the migrations, one *.toml file for each
    #[arg(long, value_name = "DIR", default_value = "migrations")]
    directory: PathBuf,
    /// Table that records which migrations ran
    #[arg(long, value_name = "TABLE", default_value = VERSIONS_TABLE)]
    versions_table: String,
    #[command(flatten)]
    output: OutputArgs,
}

impl MigrationArgs {
    /// The migrations of the directory, and a runner that runs none of them.
    fn read(&self, connection: &Connection) -> Result<(Migrations, Migrator), CommandError> {
        self.open(connection, LeaseOptions::default())
    }

    /// The migrations of the directory, and their runner.
    fn open(
        &self,
        connection: &Connection,
        lease: LeaseOptions,
    ) -> Result<(Migrations, Migrator), CommandError> {
        let options = MigratorOptions {
            versions_table: self.versions_table.clone(),
            who: who(),
            lease,
            ..MigratorOptions::default()
        };
        let migrator = Migrator::new(connection.service.clone(), options);
        let directory = &self.directory;
        if !directory.is_dir() {
            return Err(CommandError::usage(format!(
                "directory {} not found; --directory names the directory of the migrations",
                directory.display()
            )));
        }
        Ok((read_directory(directory)?, migrator))
    }
}

/// User, host and process: the record of a migration names them.
pub(crate) fn who() -> String {
    let first = |names: &[&str]| {
        let mut values = names.iter().filter_map(|name| std::env::var(name).ok());
        values.find(|value| !value.is_empty())
    };
    // Services and containers have no such variables.
    let user = first(&["USER", "LOGNAME", "USERNAME"]).or_else(user_number);
    let user = user.unwrap_or_else(|| "unknown user".to_owned());
    let host = first(&["HOSTNAME", "COMPUTERNAME"]).or_else(host_name);
    let at = host.map_or(String::new(), |host| format!(" at {host}"));
    format!("{user}{at}, process {}", std::process::id())
}

/// The number of the user who runs this process, on systems with `/proc`.
#[cfg(unix)]
fn user_number() -> Option<String> {
    use std::os::unix::fs::MetadataExt as _;
    let process = std::fs::metadata("/proc/self").ok()?;
    Some(format!("user {}", process.uid()))
}

#[cfg(not(unix))]
fn user_number() -> Option<String> {
    None
}

/// The name of this machine, on Linux.
fn host_name() -> Option<String> {
    let files = ["/proc/sys/kernel/hostname", "/etc/hostname"];
    let mut names = files
        .iter()
        .filter_map(|file| std::fs::read_to_string(file).ok());
    let name = names.find(|name| !name.trim().is_empty())?;
    Some(name.trim().to_owned())
}
