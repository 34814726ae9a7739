//! Copies of a snapshot outside the store: backups, and data directories. Each copy is a job.
//!
//! The server writes them, because only it can read the snapshot; the caller may be on another machine. The server
//! writes only below [`crate::config::Store::backup_places`]: the admin port has no credentials, and a caller must not
//! be able to overwrite any file of the server's user, or to copy the data to any place.

use std::path::PathBuf;
use std::sync::Arc;

use hyper::StatusCode;
use partita_model::DateTime;
use partita_rt::Place;
use partita_snapshot::backup::{Progress, unpack, write};
use partita_snapshot::{SnapshotError, SnapshotName, SnapshotRecord, Snapshots};
use partita_wire::admin::{BackupResult, JobParams, JobResult, SnapshotActionParams};

use super::{ActionContext, start_job};
use crate::admin::answer::{Answer, Answered};
use crate::jobs::Job;

/// Where a copy goes.
enum Destination {
    /// A backup, in a directory or an object store.
    Backup(Place),
    /// A data directory.
    Directory(PathBuf),
}

/// Starts to copy a snapshot.
pub(super) async fn copy(
    context: &ActionContext<'_>,
    name: SnapshotName,
    action: &str,
    params: SnapshotActionParams,
) -> Answered {
    let place = allowed_place(context, params.to.as_deref())?;
    let asked = JobParams::Copy {
        snapshot: name.to_string(),
        to: place.to_string(),
    };
    let (kind, destination) = match (action, place) {
        ("backup", place) => ("backup", Destination::Backup(place)),
        (_, Place::Directory(path)) => ("unpack", Destination::Directory(path)),
        (_, Place::Url(_)) => {
            let message = "unpack needs a directory, not a URL";
            return Err(Answer::invalid_body(message));
        }
    };
    let snapshots = Arc::clone(&context.store.snapshots);
    if !params.temporary {
        snapshots.record(&name).await?;
    }
    let now = DateTime::from_system(context.server.now());
    let work = move |job: Arc<Job>| async move {
        if !params.temporary {
            return copied(&snapshots, &name, &destination, &job).await;
        }
        let created = create(&snapshots, &name, now).await?;
        let mut result = copied(&snapshots, &name, &destination, &job).await?;
        // The copy is complete, so a snapshot that cannot be deleted yet is a warning only.
        if let Err(error) = snapshots.delete(name).await
            && !matches!(error, SnapshotError::NoSuchSnapshot(_))
        {
            snapshots.delete_later(&created);
            warn(&mut result, not_deleted(&created, &error));
        }
        Ok(result)
    };
    start_job(context, kind, asked, work)
}

fn not_deleted(snapshot: &SnapshotRecord, error: &SnapshotError) -> String {
    let name = &snapshot.name;
    format!(
        "snapshot {name} is not deleted yet: {error}; the server retries until it restarts, after that `partita snapshot delete {name}` deletes it"
    )
}

fn warn(result: &mut JobResult, text: String) {
    match result {
        JobResult::BackedUp(BackupResult { warning, .. }) | JobResult::Unpacked { warning, .. } => {
            *warning = Some(text);
        }
        JobResult::Restored { .. } => {}
    }
}

/// The place, if the settings let this server write there.
fn allowed_place(context: &ActionContext<'_>, to: Option<&str>) -> Result<Place, Answer> {
    let to = to.ok_or_else(|| Answer::invalid_body("the parameter to is missing"))?;
    let place = Place::parse(to).map_err(|error| Answer::invalid_body(error.to_string()))?;
    let places = &context.server.settings.store.backup_places;
    if places.iter().any(|allowed| allowed.contains(&place)) {
        return Ok(place);
    }
    let message = format!("this server may not write to {place}: start it with --backup-place");
    let status = StatusCode::FORBIDDEN;
    Err(Answer::refused(status, "PlaceNotAllowed", message))
}

/// Creates the snapshot, or returns its record if it exists already.
async fn create(
    snapshots: &Arc<Snapshots>,
    name: &SnapshotName,
    now: DateTime,
) -> Result<SnapshotRecord, String> {
    match snapshots.create(name.clone(), now).await {
        Ok(taken) => Ok(taken.record),
        Err(SnapshotError::Exists(_)) => snapshots.record(name).await.map_err(chain),
        Err(error) => Err(error.to_string()),
    }
}

async fn copied(
    snapshots: &Snapshots,
    name: &SnapshotName,
    destination: &Destination,
    job: &Job,
) -> Result<JobResult, String> {
    let reader = snapshots.read(name).await.map_err(chain)?;
    let note = |now: Progress| job.note(now.rows, now.bytes);
    match destination {
        Destination::Backup(place) => {
            let store = place.store().map_err(chain)?;
            let written = write(&reader, &store, &note).await.map_err(chain)?;
            Ok(JobResult::BackedUp(BackupResult {
                parts: written.parts,
                kept: written.kept,
                rows: written.rows,
                row_bytes: written.row_bytes,
                bytes: written.bytes,
                warning: None,
            }))
        }
        Destination::Directory(path) => {
            let copied = unpack(&reader, path, &note).await.map_err(chain)?;
            Ok(JobResult::Unpacked {
                rows: copied.rows,
                bytes: copied.bytes,
                warning: None,
            })
        }
    }
}

/// An error and its causes in one text, without causes that it quotes already.
fn chain(error: impl std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |cause| cause.source());
    causes.fold(error.to_string(), |text, cause| {
        let cause = cause.to_string();
        match text.contains(&cause) {
            true => text,
            false => format!("{text}: {cause}"),
        }
    })
}
