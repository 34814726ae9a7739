//! `partita backup NAME --to URL`: the server copies a snapshot to a directory or an object store.

use super::parse_place;
use crate::args::AdminPortArgs;
use crate::prelude::*;
use crate::snapshot::parse_name;
use partita_server::backup::Place;
use partita_tools::admin::{AdminError, AdminPort};
use partita_wire::admin::{JobResult, SnapshotActionParams};

/// Copy a snapshot into a directory or an object store
// The command is optional, because `backup` also has subcommands. This group tells clap that --to alone selects the
// command.
#[derive(clap::Args)]
#[group(args = ["to"])]
#[command(
    after_help = "To resume after an interruption, run the command again with the same NAME: complete parts are not copied again.\n`partita restore` makes a data directory from a backup."
)]
pub(crate) struct CreateCommand {
    /// Snapshot name [default: a snapshot that is created now, and deleted after the copy]
    #[arg(value_name = "NAME", value_parser = parse_name)]
    name: Option<String>,
    /// Destination: a path or file:// URL on the server's machine, or the URL of an object store; the server's
    /// --backup-place must allow it
    #[arg(long, value_name = "URL", value_parser = parse_place)]
    to: Place,
    /// Delete the snapshot after the copy; create it if it does not exist
    #[arg(long, requires = "name")]
    temporary: bool,
    #[command(flatten)]
    admin: AdminPortArgs,
    #[command(flatten)]
    output: OutputArgs,
}

impl Command for CreateCommand {
    fn run(self) -> CommandResult {
        let (port, progress) = self.admin.open()?;
        block_on(async move {
            let temporary = self.temporary || self.name.is_none();
            let name = match self.name {
                Some(name) => name,
                None => {
                    let name = format!("backup-{}", time_digits(&port).await?);
                    message(&format!("the snapshot is named {name}"));
                    name
                }
            };
            let place = &self.to;
            let params = SnapshotActionParams {
                to: Some(place.to_string()),
                temporary,
                ..SnapshotActionParams::default()
            };
            let result = port.snapshot_job(&name, "backup", &params).await;
            let result = match result {
                // Refused before a snapshot was created: there is nothing to resume.
                Err(error) if is_not_allowed(&error) => return Err(error.into()),
                result => result.because(not_finished(&name, place, temporary))?,
            };
            let json = to_json(&result)?;
            self.output.write_document(&json, Shape::Single, |output| {
                let JobResult::BackedUp(backup) = &result else {
                    return Ok(());
                };
                output.record(&[
                    ("snapshot", Field::text(&name)),
                    ("parts", Field::count(backup.parts)),
                    ("kept", Field::count(backup.kept)),
                    ("rows", Field::count(backup.rows)),
                    ("row_bytes", Field::Bytes(backup.row_bytes)),
                    ("bytes", Field::Bytes(backup.bytes)),
                ])
            })?;
            let JobResult::BackedUp(backup) = &result else {
                return progress
                    .finish(&format!("snapshot {name} copied to {place}"), Outcome::Done);
            };
            if let Some(warning) = &backup.warning {
                message(&format!("warning: {warning}"));
            }
            let kept = match backup.kept {
                0 => String::new(),
                kept => format!(", {kept} of them copied before"),
            };
            let end = format!(
                "snapshot {name} copied to {place}: {} in {}{kept}, {}",
                many(backup.rows, "row", "rows"),
                many(backup.parts, "part", "parts"),
                bytes(backup.bytes),
            );
            progress.finish(&end, Outcome::Done)
        })
    }
}

/// Whether the server may not write to the destination.
fn is_not_allowed(error: &AdminError) -> bool {
    matches!(error, AdminError::Refused { code, .. } if code == "PlaceNotAllowed")
}

/// The message for a backup that failed; for a temporary snapshot, also how to resume, because its name is generated.
fn not_finished(name: &str, place: &Place, temporary: bool) -> String {
    if temporary {
        format!(
            "the backup is not finished; to resume: partita backup {name} --to {place} --temporary; to give up: partita snapshot delete {name}"
        )
    } else {
        format!("the backup of {name} is not finished")
    }
}

/// Start time and uptime of the server as digits, for a unique snapshot name.
async fn time_digits(port: &AdminPort) -> Result<String, AdminError> {
    let status = port.status().await?.document;
    let started = status.started_at.unwrap_or_default();
    let digits: String = started.chars().filter(char::is_ascii_digit).collect();
    Ok(format!("{digits}-{:.0}", status.uptime_seconds * 1000.0))
}
