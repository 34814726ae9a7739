//! `partita snapshot restore NAME`: tables into the running server, or the whole store into a new directory.

use super::SnapshotArgs;
use crate::error::{CommandError, Outcome};
use crate::output::{self, Field, Format, Output, OutputArgs, Shape};
use crate::units::{bytes, many};
use clap::ArgGroup;
use partita_wire::admin::{JobResult, RestoredTable, SnapshotActionParams};
use std::path::PathBuf;

#[derive(clap::Args)]
#[command(
    about = "Restore tables from a snapshot",
    after_help = "Restored tables have new ETags and Timestamps; types and values are exact. An existing table is not touched: use --as, or\ndelete it first. A whole store keeps its ETags and Timestamps, and is served by `partita serve --location DIR`.",
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
    /// Copy the whole store into this new directory: on the server's machine, in a place that --backup-place allows
    #[arg(long, value_name = "DIR")]
    to_directory: Option<PathBuf>,
    /// Account of the tables [default: the only account]
    #[arg(long, value_name = "ACCOUNT", conflicts_with = "to_directory")]
    account: Option<String>,
    #[command(flatten)]
    snapshot: SnapshotArgs,
}

impl RestoreCommand {
    pub(super) async fn run(self) -> Result<Outcome, CommandError> {
        let SnapshotArgs {
            name,
            admin,
            output,
        } = self.snapshot;
        let (port, progress) = admin.open()?;
        let (action, params) = match &self.to_directory {
            Some(directory) => {
                let failed = CommandError::because("cannot make the path of DIR absolute");
                let directory = std::path::absolute(directory).map_err(failed)?;
                let to = directory
                    .to_str()
                    .ok_or_else(|| CommandError::usage("the path of DIR is not valid UTF-8"))?;
                let params = SnapshotActionParams {
                    to: Some(to.to_owned()),
                    ..SnapshotActionParams::default()
                };
                ("unpack", params)
            }
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
        if output.format() == Format::Json {
            output::print_json(&result)?;
        }
        let (summary, outcome) = match &result {
            JobResult::Restored { tables, rows, .. } => {
                write_tables(output, tables)?;
                let count = tables.len() as u64;
                let (tables, rows) = (many(count, "table", "tables"), many(*rows, "row", "rows"));
                (
                    format!("{tables} with {rows} restored from snapshot {name}"),
                    Outcome::of_count(count),
                )
            }
            JobResult::Unpacked {
                rows, bytes: size, ..
            } => {
                let (rows, size) = (many(*rows, "row", "rows"), bytes(*size));
                let to = params.to.as_deref().unwrap_or_default();
                (
                    format!(
                        "snapshot {name} with {rows}, {size}, copied; to serve it: partita serve --location {to}"
                    ),
                    Outcome::Done,
                )
            }
            JobResult::BackedUp(_) => (format!("snapshot {name} copied"), Outcome::Done),
        };
        progress.finish(&summary);
        Ok(outcome)
    }
}

fn write_tables(args: OutputArgs, tables: &[RestoredTable]) -> Result<(), CommandError> {
    if args.format() == Format::Json {
        return Ok(());
    }
    let mut output = Output::stdout(args, Shape::Rows, None);
    for table in tables {
        output.measured(&[
            ("Table", Field::text(&table.table)),
            ("As", Field::text(&table.into)),
            ("Rows", Field::count(table.rows)),
        ])?;
    }
    output.finish()
}
