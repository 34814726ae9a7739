//! `partita snapshot restore NAME`: restores tables into the running server, or the whole store into a new directory.

use super::SnapshotArgs;
use crate::prelude::*;
use clap::ArgGroup;
use partita_tools::admin::AdminPort;
use partita_wire::admin::{JobResult, RestoredTable, SnapshotActionParams};
use std::path::{Path, PathBuf};

/// Restore tables from a snapshot
#[derive(clap::Args)]
#[command(
    after_help = "Restored tables have new ETags and Timestamps; types and values are exact. An existing table is not overwritten: use --as, or delete it first. A whole store keeps its ETags and Timestamps, and is served by `partita serve --location DIR`.",
    group = ArgGroup::new("what").args(["table", "all_tables", "to_directory"]).required(true)
)]
pub(crate) struct RestoreCommand {
    /// Table to restore
    #[arg(long, value_name = "TABLE")]
    table: Option<String>,
    /// New name of the table [default: its own]
    #[arg(long = "as", value_name = "NAME", requires = "table")]
    into: Option<String>,
    /// Restore all tables of the account, under their own names
    #[arg(long)]
    all_tables: bool,
    /// Copy the whole store into this new directory on the server's machine; the server's --backup-place must allow it
    #[arg(long, value_name = "DIR")]
    to_directory: Option<PathBuf>,
    /// Account of the tables [default: the only account]
    #[arg(long, value_name = "ACCOUNT", conflicts_with = "to_directory")]
    account: Option<String>,
    #[command(flatten)]
    snapshot: SnapshotArgs,
}

impl AdminPortCommand for RestoreCommand {
    async fn run(self, port: AdminPort, progress: Progress) -> CommandResult {
        let SnapshotArgs { name, output } = self.snapshot;
        let (action, params) = match &self.to_directory {
            Some(directory) => ("unpack", unpack_params(directory)?),
            None => {
                let params = SnapshotActionParams {
                    account: self.account,
                    table: self.table,
                    into: self.into,
                    ..SnapshotActionParams::default()
                };
                ("restore", params)
            }
        };
        let result = port.snapshot_job(&name, action, &params).await?;
        let tables: &[RestoredTable] = match &result {
            JobResult::Restored { tables, .. } => tables,
            JobResult::Unpacked { .. } | JobResult::BackedUp(_) => &[],
        };
        output.write_document(&to_json(&result)?, Shape::Rows, |output| {
            tables.iter().try_for_each(|table| {
                output.record(&[
                    ("table", Field::text(&table.table)),
                    ("as", Field::text(&table.into)),
                    ("rows", Field::count(table.rows)),
                ])
            })
        })?;
        let outcome = match &result {
            JobResult::Restored { tables, .. } => Outcome::of_count(tables.len() as u64),
            JobResult::Unpacked { .. } | JobResult::BackedUp(_) => Outcome::Done,
        };
        progress.finish(&summary(&name, &result, &params), outcome)
    }
}

fn unpack_params(directory: &Path) -> Result<SnapshotActionParams, CommandError> {
    let directory =
        std::path::absolute(directory).because("cannot make the path of DIR absolute")?;
    let to = directory
        .to_str()
        .ok_or_else(|| CommandError::usage("the path of DIR is not valid UTF-8"))?;
    Ok(SnapshotActionParams {
        to: Some(to.to_owned()),
        ..SnapshotActionParams::default()
    })
}

fn summary(name: &str, result: &JobResult, params: &SnapshotActionParams) -> String {
    match result {
        JobResult::Restored { tables, rows, .. } => {
            let tables = many(tables.len() as u64, "table", "tables");
            let rows = many(*rows, "row", "rows");
            format!("{tables} with {rows} restored from snapshot {name}")
        }
        JobResult::Unpacked {
            rows, bytes: size, ..
        } => {
            let (rows, size) = (many(*rows, "row", "rows"), bytes(*size));
            let to = params.to.as_deref().unwrap_or_default();
            format!(
                "snapshot {name} with {rows}, {size}, copied; to serve it: partita serve --location {to}"
            )
        }
        JobResult::BackedUp(_) => format!("snapshot {name} copied"),
    }
}
