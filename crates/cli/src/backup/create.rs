//! `partita backup NAME --to URL`: a snapshot copied out of the store, by a job of the server.

use super::parse_place;
use crate::args::AdminPortArgs;
use crate::error::{CommandError, Outcome};
use crate::output::{self, Field, Format, Output, OutputArgs, Shape};
use crate::progress::message;
use crate::snapshot::parse_name;
use crate::units::{bytes, many};
use partita_server::backup::Place;
use partita_tools::admin::{AdminError, AdminPort};
use partita_wire::admin::{BackupResult, JobResult, SnapshotActionParams};

/// A backup to make. It is given if its destination is: clap leaves the group of a structure with flattened fields empty.
#[derive(clap::Args)]
#[group(args = ["to"])]
pub(super) struct CreateArgs {
    /// Snapshot name [default: a snapshot that is created now, and deleted after the copy]
    #[arg(value_name = "NAME", value_parser = parse_name)]
    name: Option<String>,
    /// Destination: a path or file:// URL on the server's machine, or the URL of an object store; in a place that --backup-place allows
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

impl CreateArgs {
    pub(super) async fn run(self) -> Result<Outcome, CommandError> {
        let (port, progress) = self.admin.open()?;
        let temporary = self.temporary || self.name.is_none();
        let name = match self.name {
            Some(name) => name,
            None => {
                let name = format!("backup-{}", time_digits(&port).await?);
                message(&format!("creating snapshot {name}"));
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
        let result = result.map_err(|error| not_finished(&name, place, temporary, error))?;
        if self.output.format() == Format::Json {
            output::print_json(&result)?;
        }
        let JobResult::BackedUp(backup) = result else {
            progress.finish(&format!("snapshot {name} copied to {place}"));
            return Ok(Outcome::Done);
        };
        if self.output.format() != Format::Json {
            write_backup(self.output, &name, &backup)?;
        }
        if let Some(warning) = &backup.warning {
            message(&format!("warning: {warning}"));
        }
        let kept = match backup.kept {
            0 => String::new(),
            kept => format!(", {kept} of them copied before"),
        };
        progress.finish(&format!(
            "snapshot {name} copied to {place}: {} in {}{kept}, {}",
            many(backup.rows, "row", "rows"),
            many(backup.parts, "part", "parts"),
            bytes(backup.bytes),
        ));
        Ok(Outcome::Done)
    }
}

/// Says how to go on.
fn not_finished(name: &str, place: &Place, temporary: bool, error: AdminError) -> CommandError {
    let what = if temporary {
        format!(
            "the backup is not finished; to resume: partita backup {name} --to {place} --temporary; to give up: partita snapshot delete {name}"
        )
    } else {
        format!("the backup of {name} is not finished")
    };
    CommandError::because(what)(error)
}

fn write_backup(args: OutputArgs, name: &str, backup: &BackupResult) -> Result<(), CommandError> {
    let mut output = Output::stdout(args, Shape::Single, None);
    output.measured(&[
        ("Snapshot", Field::text(name)),
        ("Parts", Field::count(backup.parts)),
        ("Kept", Field::count(backup.kept)),
        ("Rows", Field::count(backup.rows)),
        ("RowBytes", Field::Bytes(backup.row_bytes)),
        ("Bytes", Field::Bytes(backup.bytes)),
    ])?;
    output.finish()
}

/// Start and uptime of the server as digits: a name that no other snapshot has.
async fn time_digits(port: &AdminPort) -> Result<String, AdminError> {
    let status = port.status().await?.document;
    let started = status.started_at.unwrap_or_default();
    let digits: String = started.chars().filter(char::is_ascii_digit).collect();
    Ok(format!("{digits}-{:.0}", status.uptime_seconds * 1000.0))
}
