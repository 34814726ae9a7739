//! `/admin/v1/snapshots`: the snapshots, and the actions on them; `/admin/v1/jobs`: actions that take longer than a request.
//! `docs/admin-api.md` lists fields and actions.

mod copies;
mod restore;

use std::sync::Arc;

use hyper::StatusCode;
use partita_model::DateTime;
use partita_rt::Tasks;
use partita_snapshot::{SnapshotError, SnapshotInfo, SnapshotName, SnapshotRecord, Snapshots};
use partita_table::{Service, snapshot_tables};
use partita_wire::admin::{
    ActionDone, JobList, JobParams, JobResult, Snapshot, SnapshotActionParams, SnapshotCreated,
    SnapshotDetails, SnapshotList, SnapshotTable, UnreadableSnapshot,
};

use super::answer::Answer;
use super::ranges::milliseconds;
use crate::jobs::{Job, Jobs};
use crate::status::ServerStatus;

/// What actions work with.
pub(super) struct ActionContext<'s> {
    pub(super) server: &'s ServerStatus,
    pub(super) tasks: &'s Tasks,
    pub(super) snapshots: &'s Arc<Snapshots>,
    pub(super) service: &'s Arc<Service>,
}

/// All snapshots, oldest first.
pub(super) async fn list(snapshots: &Snapshots) -> Answer {
    let listing = async { Ok((snapshots.list().await?, snapshots.unreadable().await?)) };
    match listing.await {
        Ok((listed, unreadable)) => Answer::ok(&SnapshotList {
            snapshots: listed.iter().map(snapshot).collect(),
            unreadable: unreadable
                .into_iter()
                .map(|snapshot| UnreadableSnapshot {
                    object: snapshot.object,
                    why: snapshot.reason,
                })
                .collect(),
        }),
        Err(error) => snapshot_refused(&error),
    }
}

/// One snapshot, with its tables.
pub(super) async fn show(snapshots: &Snapshots, name: &str) -> Answer {
    match details(snapshots, name).await {
        Ok(details) => Answer::ok(&details),
        Err(error) => snapshot_refused(&error),
    }
}

async fn details(snapshots: &Snapshots, name: &str) -> Result<SnapshotDetails, SnapshotError> {
    let name = parse_name(name)?;
    // A record that cannot be read is not listed; this names its fault.
    snapshots.record(&name).await?;
    let listed = snapshots.list().await?;
    let listed = listed.into_iter().find(|listed| listed.record.name == name);
    let listed = listed.ok_or_else(|| SnapshotError::NoSuchSnapshot(name.clone()))?;
    let reader = snapshots.read(&name).await?;
    let tables = snapshot_tables(&reader)
        .await
        .map_err(|error| failed(&error))?;
    Ok(SnapshotDetails {
        snapshot: snapshot(&listed),
        tables: tables
            .into_iter()
            .map(|table| SnapshotTable {
                account: table.account,
                table: table.name,
                created: table.created.to_string(),
            })
            .collect(),
    })
}

fn snapshot(listed: &SnapshotInfo) -> Snapshot {
    let record = &listed.record;
    Snapshot {
        name: record.name.to_string(),
        id: record.id.clone(),
        created: record.created.to_string(),
        map_version: record.map_version,
        ranges: range_ids(record),
        bytes: record.bytes,
        own_bytes: listed.own_bytes,
    }
}

fn range_ids(record: &SnapshotRecord) -> Vec<u64> {
    record.ranges.iter().map(|range| range.id).collect()
}

/// Runs an action on a snapshot.
pub(super) async fn act(
    context: &ActionContext<'_>,
    name: &str,
    action: &str,
    body: &[u8],
) -> Answer {
    let name = match parse_name(name) {
        Ok(name) => name,
        Err(error) => return snapshot_refused(&error),
    };
    let params: SnapshotActionParams = match body {
        [] => SnapshotActionParams::default(),
        body => match serde_json::from_slice(body) {
            Ok(params) => params,
            Err(error) => return Answer::invalid_body(error.to_string()),
        },
    };
    match action {
        "create" => create(context, name).await,
        "delete" => match context.snapshots.delete(name).await {
            Ok(()) => Answer::ok(&ActionDone { done: true }),
            Err(error) => snapshot_refused(&error),
        },
        "restore" => restore::restore(context, &name, params).await,
        "backup" | "unpack" => copies::copy(context, name, action, params).await,
        _ => Answer::refused(
            StatusCode::NOT_FOUND,
            "NoSuchAction",
            "expected create, delete, restore, backup or unpack",
        ),
    }
}

fn now(server: &ServerStatus) -> DateTime {
    DateTime::from_system(server.now())
}

async fn create(context: &ActionContext<'_>, name: SnapshotName) -> Answer {
    let now = now(context.server);
    match context.snapshots.create(name, now).await {
        Ok(taken) => Answer::ok(&SnapshotCreated {
            name: taken.record.name.to_string(),
            id: taken.record.id.clone(),
            created: taken.record.created.to_string(),
            map_version: taken.record.map_version,
            ranges: range_ids(&taken.record),
            bytes: taken.record.bytes,
            pause_ms: milliseconds(taken.pause),
        }),
        Err(error) => snapshot_refused(&error),
    }
}

/// Starts a job and describes it.
fn start_job<F, W>(
    jobs: &Jobs,
    tasks: &Tasks,
    kind: &'static str,
    params: JobParams,
    work: F,
) -> Answer
where
    F: FnOnce(Arc<Job>) -> W,
    W: Future<Output = Result<JobResult, String>> + Send + 'static,
{
    match jobs.start(tasks, kind, params, work) {
        Some(job) => Answer::new(StatusCode::ACCEPTED, &job.describe()),
        None => Answer::refused(
            StatusCode::CONFLICT,
            "TooManyJobs",
            "too many jobs are running; try again when one has ended",
        ),
    }
}

/// The jobs, latest first; or one job: `/ID`.
pub(super) fn jobs(server: &ServerStatus, rest: &str) -> Answer {
    let Some(id) = rest.strip_prefix('/') else {
        let jobs = server.jobs.list();
        return Answer::ok(&JobList {
            jobs: jobs.iter().map(|job| job.describe()).collect(),
        });
    };
    match id.parse().ok().and_then(|id| server.jobs.find(id)) {
        Some(job) => Answer::ok(&job.describe()),
        None => Answer::refused(
            StatusCode::NOT_FOUND,
            "NoSuchJob",
            "there is no job with this id; old jobs are forgotten",
        ),
    }
}

fn parse_name(name: &str) -> Result<SnapshotName, SnapshotError> {
    name.parse().map_err(|error| failed(&error))
}

fn failed(error: &dyn std::error::Error) -> SnapshotError {
    SnapshotError::Failed(error.to_string().into())
}

fn snapshot_refused(error: &SnapshotError) -> Answer {
    let (status, code) = match error {
        SnapshotError::Exists(_) => (StatusCode::CONFLICT, "SnapshotExists"),
        SnapshotError::NoSuchSnapshot(_) => (StatusCode::NOT_FOUND, "NoSuchSnapshot"),
        SnapshotError::InUse(_) => (StatusCode::CONFLICT, "SnapshotInUse"),
        SnapshotError::TooMany => (StatusCode::CONFLICT, "TooManySnapshots"),
        SnapshotError::NotNow(_) => (StatusCode::SERVICE_UNAVAILABLE, "Busy"),
        SnapshotError::Failed(_) => (StatusCode::SERVICE_UNAVAILABLE, "Failed"),
    };
    Answer::refused(status, code, error.to_string())
}
