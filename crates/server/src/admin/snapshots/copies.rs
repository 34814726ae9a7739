//! Copies of a snapshot outside the store: backups, and stores of their own.
//!
//! The server writes them, because it alone reads the snapshot: whoever asks may be elsewhere, and with many processes each can
//! write what it serves. It writes only where its settings let it ([`crate::config::Store::backup_places`]): the admin port knows
//! no credentials, and must not become a way to write into any file of the server's user, or to take the data along.

use std::sync::Arc;

use hyper::StatusCode;
use partita_model::DateTime;
use partita_rt::Place;
use partita_snapshot::backup::{Progress, unpack, write};
use partita_snapshot::{SnapshotError, SnapshotName, SnapshotRecord, Snapshots};
use serde_json::{Value, json};

use super::{Doers, now, snapshot_refused, started};
use crate::admin::ranges::{Answer, refused};
use crate::jobs::Job;

/// Begins to copy a snapshot.
pub(super) async fn copy(
    doers: &Doers<'_>,
    name: SnapshotName,
    action: &str,
    to: Option<String>,
    temporary: bool,
) -> Answer {
    let place = match allowed(doers, to.as_deref()) {
        Ok(place) => place,
        Err(answer) => return answer,
    };
    let is_backup = action == "backup";
    let directory = match (&place, is_backup) {
        (_, true) => None,
        (Place::Directory(path), false) => Some(path.clone()),
        (Place::Url(_), false) => {
            let message = "a store is unpacked into a directory";
            return refused(StatusCode::BAD_REQUEST, "InvalidBody", message);
        }
    };
    if !temporary && let Err(error) = doers.snapshots.record(&name).await {
        return snapshot_refused(&error);
    }
    let asked = json!({ "snapshot": name, "to": place.to_string() });
    let (snapshots, now) = (Arc::clone(doers.snapshots), now(doers.standing));
    let work = move |job: Arc<Job>| async move {
        let made = match temporary {
            true => Some(create(&snapshots, &name, now).await?),
            false => None,
        };
        let mut copied = match directory {
            Some(directory) => unpacked(&snapshots, &name, &directory, &job).await?,
            None => backed_up(&snapshots, &name, &place, &job).await?,
        };
        // The copy is whole whether the snapshot goes now or later.
        if let Some(made) = made
            && let Err(error) = snapshots.delete(name).await
            && !matches!(error, SnapshotError::NoSuchSnapshot(_))
        {
            snapshots.delete_later(&made);
            copied["warning"] = json!(format!(
                "snapshot {0} stays for now: {error}; the server deletes it as soon as it can, after a restart `partita snapshot delete {0}` does",
                made.name
            ));
        }
        Ok(copied)
    };
    let kind = if is_backup { "backup" } else { "unpack" };
    started(&doers.standing.jobs, doers.tasks, kind, asked, work)
}

/// The place, if the settings let this server write there.
fn allowed(doers: &Doers<'_>, to: Option<&str>) -> Result<Place, Answer> {
    let to = to.ok_or_else(|| refused(StatusCode::BAD_REQUEST, "InvalidBody", "to is missing"))?;
    let place = Place::parse(to)
        .map_err(|error| refused(StatusCode::BAD_REQUEST, "InvalidBody", &error.to_string()))?;
    let places = &doers.standing.settings.store.backup_places;
    if places.iter().any(|allowed| allowed.contains(&place)) {
        return Ok(place);
    }
    let message = format!("this server may not write to {place}: start it with --backup-place");
    Err(refused(StatusCode::FORBIDDEN, "PlaceNotAllowed", &message))
}

/// Takes the snapshot, unless an earlier try has.
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

async fn backed_up(
    snapshots: &Snapshots,
    name: &SnapshotName,
    place: &Place,
    job: &Job,
) -> Result<Value, String> {
    let reader = snapshots.read(name).await.map_err(chain)?;
    let store = place.store().map_err(chain)?;
    let note = |now: Progress| job.note(now.rows, now.bytes);
    let written = write(&reader, &store, &note).await.map_err(chain)?;
    Ok(json!({
        "parts": written.parts,
        "kept": written.kept,
        "rows": written.rows,
        "row_bytes": written.row_bytes,
        "bytes": written.bytes,
    }))
}

async fn unpacked(
    snapshots: &Snapshots,
    name: &SnapshotName,
    directory: &std::path::Path,
    job: &Job,
) -> Result<Value, String> {
    let reader = snapshots.read(name).await.map_err(chain)?;
    let note = |now: Progress| job.note(now.rows, now.bytes);
    let copied = unpack(&reader, directory, &note).await.map_err(chain)?;
    Ok(json!({ "rows": copied.rows, "bytes": copied.bytes }))
}

/// An error and its causes in one text.
fn chain(error: impl std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let more = error.to_string();
        if !text.contains(&more) {
            text = format!("{text}: {more}");
        }
        cause = error.source();
    }
    text
}
