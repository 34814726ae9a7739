//! `/admin/v1/snapshots`: the snapshots, and the actions on them; `/admin/v1/jobs`: actions that take longer than a
//! request. `docs/admin-api.md` lists fields and actions.

mod copies;
mod restore;

use std::sync::Arc;

use hyper::StatusCode;
use partita_model::DateTime;
use partita_snapshot::{SnapshotError, SnapshotInfo, SnapshotName, SnapshotRecord, Snapshots};
use partita_table::snapshot_tables;
use partita_wire::admin::{
    ActionDone, JobList, JobParams, JobResult, Snapshot, SnapshotActionParams, SnapshotCreated,
    SnapshotDetails, SnapshotList, SnapshotSummary, SnapshotTable, UnreadableSnapshot,
};

use super::answer::{Answer, Answered};
use super::ranges::{milliseconds, read_params};
use crate::jobs::Job;
use crate::status::{OpenStore, ServerStatus};

/// The parts of the server that actions use.
pub(super) struct ActionContext<'s> {
    pub(super) server: &'s ServerStatus,
    pub(super) store: &'s OpenStore,
}

/// All snapshots, oldest first.
pub(super) async fn list(snapshots: &Snapshots) -> Answered {
    let (listed, unreadable) = (snapshots.listing().await?, snapshots.unreadable().await?);
    let unreadable = unreadable.into_iter().map(|snapshot| UnreadableSnapshot {
        object: snapshot.object,
        why: snapshot.reason,
    });
    Answer::ok(&SnapshotList {
        snapshots: listed.snapshots.iter().map(snapshot).collect(),
        unreadable: unreadable.collect(),
        silent: (!listed.silent.is_empty()).then_some(listed.silent),
    })
}

/// One snapshot, with its tables.
pub(super) async fn show(snapshots: &Snapshots, name: &str) -> Answered {
    Answer::ok(&details(snapshots, name).await?)
}

async fn details(snapshots: &Snapshots, name: &str) -> Result<SnapshotDetails, SnapshotError> {
    let name = parse_name(name)?;
    // The list omits unreadable records, so this read comes first: it fails with the reason.
    snapshots.record(&name).await?;
    let listed = snapshots.list().await?;
    let listed = listed.into_iter().find(|listed| listed.record.name == name);
    let listed = listed.ok_or_else(|| SnapshotError::NoSuchSnapshot(name.clone()))?;
    let reader = snapshots.read(&name).await?;
    let tables = snapshot_tables(&reader).await;
    let tables = tables.map_err(|error| failed(&error))?.into_iter();
    let tables = tables.map(|table| SnapshotTable {
        account: table.account,
        table: table.name,
        created: table.created.to_string(),
    });
    Ok(SnapshotDetails {
        snapshot: snapshot(&listed),
        tables: tables.collect(),
    })
}

fn snapshot(listed: &SnapshotInfo) -> Snapshot {
    Snapshot {
        summary: summary(&listed.record),
        own_bytes: listed.own_bytes,
    }
}

fn summary(record: &SnapshotRecord) -> SnapshotSummary {
    SnapshotSummary {
        name: record.name.to_string(),
        id: record.id.clone(),
        created: record.created.to_string(),
        map_version: record.map_version,
        ranges: record.ranges.iter().map(|range| range.id).collect(),
        bytes: record.bytes,
    }
}

/// Runs an action on a snapshot.
pub(super) async fn act(
    context: &ActionContext<'_>,
    name: &str,
    action: &str,
    body: &[u8],
) -> Answered {
    let name = parse_name(name)?;
    let params: SnapshotActionParams = read_params(body)?;
    match action {
        "create" => create(context, name).await,
        "delete" => {
            context.store.snapshots.delete(name).await?;
            Answer::ok(&ActionDone { done: true })
        }
        "restore" => restore::restore(context, &name, params).await,
        "backup" | "unpack" => copies::copy(context, name, action, params).await,
        _ => {
            let message = "unknown action: expected create, delete, restore, backup or unpack";
            Err(Answer::not_found("NoSuchAction", message))
        }
    }
}

async fn create(context: &ActionContext<'_>, name: SnapshotName) -> Answered {
    let now = DateTime::from_system(context.server.now());
    let created = context.store.snapshots.create(name, now).await?;
    Answer::ok(&SnapshotCreated {
        summary: summary(&created.record),
        pause_ms: milliseconds(created.pause),
    })
}

/// Starts a job and describes it.
fn start_job<F, W>(
    context: &ActionContext<'_>,
    kind: &'static str,
    params: JobParams,
    work: F,
) -> Answered
where
    F: FnOnce(Arc<Job>) -> W,
    W: Future<Output = Result<JobResult, String>> + Send + 'static,
{
    let tasks = context.store.cluster.tasks();
    match context.server.jobs.start(tasks, kind, params, work) {
        Some(job) => Ok(Answer::new(StatusCode::ACCEPTED, &job.describe())),
        None => Err(Answer::refused(
            StatusCode::CONFLICT,
            "TooManyJobs",
            "too many jobs are running; try again when one has ended",
        )),
    }
}

/// The jobs, latest first.
pub(super) fn jobs(server: &ServerStatus) -> Answered {
    let jobs = server.jobs.list();
    Answer::ok(&JobList {
        jobs: jobs.iter().map(|job| job.describe()).collect(),
    })
}

/// One job.
pub(super) fn job(server: &ServerStatus, id: &str) -> Answered {
    let job = id.parse().ok().and_then(|id| server.jobs.find(id));
    let message = "job not found; the server remembers only the last 100 jobs";
    let job = job.ok_or_else(|| Answer::not_found("NoSuchJob", message))?;
    Answer::ok(&job.describe())
}

fn parse_name(name: &str) -> Result<SnapshotName, SnapshotError> {
    name.parse().map_err(|error| failed(&error))
}

fn failed(error: &dyn std::error::Error) -> SnapshotError {
    SnapshotError::Failed(error.to_string().into())
}

impl From<SnapshotError> for Answer {
    fn from(error: SnapshotError) -> Self {
        let (status, code) = match error {
            SnapshotError::Exists(_) => (StatusCode::CONFLICT, "SnapshotExists"),
            SnapshotError::NoSuchSnapshot(_) => (StatusCode::NOT_FOUND, "NoSuchSnapshot"),
            SnapshotError::InUse(_) => (StatusCode::CONFLICT, "SnapshotInUse"),
            SnapshotError::TooMany => (StatusCode::CONFLICT, "TooManySnapshots"),
            SnapshotError::NotNow(_) => (StatusCode::SERVICE_UNAVAILABLE, "Busy"),
            SnapshotError::Failed(_) => (StatusCode::SERVICE_UNAVAILABLE, "Failed"),
        };
        Self::refused(status, code, error.to_string())
    }
}
