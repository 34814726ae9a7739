//! `/admin/v1/snapshots`: the snapshots, and what can be done with them; `/admin/v1/jobs`: what takes longer. `docs/admin-api.md`
//! lists fields and actions.

mod copies;

use std::sync::Arc;

use hyper::StatusCode;
use partita_model::{AccountName, DateTime, TableName};
use partita_rt::Tasks;
use partita_snapshot::{
    SnapshotError, SnapshotInfo, SnapshotName, SnapshotReader, SnapshotRecord, Snapshots,
};
use partita_table::{Error, Restored, Service, SnapshotTable, snapshot_tables};
use serde::Deserialize;
use serde_json::{Value, json};

use super::ranges::{Answer, milliseconds, refused};
use crate::jobs::{Job, Jobs};
use crate::standing::Standing;

/// Who does it.
pub(super) struct Doers<'s> {
    pub(super) standing: &'s Standing,
    pub(super) tasks: &'s Tasks,
    pub(super) snapshots: &'s Arc<Snapshots>,
    pub(super) service: &'s Arc<Service>,
}

/// What an action may be told.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Wish {
    /// Whose tables; may be left out where there is one account.
    account: Option<String>,
    /// Which table; without one, all of the account.
    table: Option<String>,
    /// The name it gets.
    #[serde(rename = "as")]
    into: Option<String>,
    /// Where to copy it: an absolute path or a URL.
    to: Option<String>,
    /// The snapshot is made for this, unless it is there already, and deleted once it is copied.
    temporary: bool,
}

/// All snapshots, the oldest first.
pub(super) async fn list(snapshots: &Snapshots) -> Answer {
    let listing = async { Ok((snapshots.list().await?, snapshots.unreadable().await?)) };
    match listing.await {
        Ok((listed, unreadable)) => {
            let snapshots: Vec<Value> = listed.iter().map(listed_json).collect();
            let unreadable: Vec<Value> = unreadable
                .iter()
                .map(|snapshot| json!({ "object": snapshot.object, "why": snapshot.reason }))
                .collect();
            let body = json!({ "snapshots": snapshots, "unreadable": unreadable });
            (StatusCode::OK, body)
        }
        Err(error) => snapshot_refused(&error),
    }
}

/// One snapshot, with its tables.
pub(super) async fn show(snapshots: &Snapshots, name: &str) -> Answer {
    let shown = async {
        let name = parsed(name)?;
        // One that cannot be read is not listed, and this says why.
        snapshots.record(&name).await?;
        let listed = snapshots.list().await?;
        let listed = listed.into_iter().find(|listed| listed.record.name == name);
        let listed = listed.ok_or_else(|| SnapshotError::NoSuchSnapshot(name.clone()))?;
        let reader = snapshots.read(&name).await?;
        let tables = snapshot_tables(&reader)
            .await
            .map_err(|error| failed(&error))?;
        let tables = tables.iter().map(|table| {
            json!({ "account": table.account, "table": table.name, "created": table.created.to_string() })
        });
        let mut shown = listed_json(&listed);
        shown["tables"] = tables.collect();
        Ok(shown)
    };
    match shown.await {
        Ok(shown) => (StatusCode::OK, shown),
        Err(error) => snapshot_refused(&error),
    }
}

fn listed_json(listed: &SnapshotInfo) -> Value {
    let mut shown = record_json(&listed.record);
    shown["own_bytes"] = json!(listed.own_bytes);
    shown
}

fn record_json(record: &SnapshotRecord) -> Value {
    let ranges: Vec<u64> = record.ranges.iter().map(|range| range.id).collect();
    json!({
        "name": record.name,
        "id": record.id,
        "created": record.created.to_string(),
        "map_version": record.map_version,
        "ranges": ranges,
        "bytes": record.bytes,
    })
}

/// Does something with a snapshot.
pub(super) async fn act(doers: &Doers<'_>, name: &str, action: &str, body: &[u8]) -> Answer {
    let name = match parsed(name) {
        Ok(name) => name,
        Err(error) => return snapshot_refused(&error),
    };
    let wish: Wish = match body {
        [] => Wish::default(),
        body => match serde_json::from_slice(body) {
            Ok(wish) => wish,
            Err(error) => {
                return refused(StatusCode::BAD_REQUEST, "InvalidBody", &error.to_string());
            }
        },
    };
    match action {
        "create" => create(doers, name).await,
        "delete" => match doers.snapshots.delete(name).await {
            Ok(()) => (StatusCode::OK, json!({ "done": true })),
            Err(error) => snapshot_refused(&error),
        },
        "restore" => restore(doers, &name, wish).await,
        "backup" | "unpack" => copies::copy(doers, name, action, wish.to, wish.temporary).await,
        _ => refused(
            StatusCode::NOT_FOUND,
            "NoSuchAction",
            "create, delete, restore, backup, unpack",
        ),
    }
}

fn now(standing: &Standing) -> DateTime {
    DateTime::from_system(standing.now())
}

async fn create(doers: &Doers<'_>, name: SnapshotName) -> Answer {
    let now = now(doers.standing);
    match doers.snapshots.create(name, now).await {
        Ok(taken) => {
            let mut body = record_json(&taken.record);
            body["pause_ms"] = json!(milliseconds(taken.pause));
            (StatusCode::OK, body)
        }
        Err(error) => snapshot_refused(&error),
    }
}

async fn restore(doers: &Doers<'_>, name: &SnapshotName, wish: Wish) -> Answer {
    let restores = match restores(doers, name, &wish).await {
        Ok(restores) => restores,
        Err(answer) => return answer,
    };
    let asked = json!({
        "snapshot": name,
        "account": restores.account.as_str(),
        "table": wish.table,
        "as": wish.into,
    });
    let service = Arc::clone(doers.service);
    let work = |job| async move { restores.run(&service, job).await };
    started(
        &doers.standing.jobs,
        doers.tasks,
        "restore tables",
        asked,
        work,
    )
}

/// Starts a job, and says which.
fn started<F, W>(jobs: &Jobs, tasks: &Tasks, kind: &'static str, asked: Value, work: F) -> Answer
where
    F: FnOnce(Arc<Job>) -> W,
    W: Future<Output = Result<Value, String>> + Send + 'static,
{
    match jobs.start(tasks, kind, asked, work) {
        Some(job) => (StatusCode::ACCEPTED, job.as_json()),
        None => refused(
            StatusCode::CONFLICT,
            "TooManyJobs",
            "as many jobs are at work as there may be",
        ),
    }
}

/// Tables that are to be brought back.
struct Restores {
    snapshot: SnapshotReader,
    account: AccountName,
    /// From which to which name.
    tables: Vec<(TableName, TableName)>,
}

/// What is to be brought back, if that can be done at all.
async fn restores(doers: &Doers<'_>, name: &SnapshotName, wish: &Wish) -> Result<Restores, Answer> {
    let invalid = |what: &str| refused(StatusCode::BAD_REQUEST, "InvalidBody", what);
    let account = match (&wish.account, doers.standing.settings.accounts.as_slice()) {
        (Some(account), _) => account.as_str(),
        (None, [only]) => only.name(),
        (None, _) => return Err(invalid("there are several accounts: say which")),
    };
    let account = AccountName::new(account).map_err(|_| invalid("no account name"))?;
    let table = |text: &str| TableName::new(text).map_err(|_| invalid("no table name"));
    let snapshot = doers.snapshots.read(name).await;
    let snapshot = snapshot.map_err(|error| snapshot_refused(&error))?;
    let there = snapshot_tables(&snapshot).await;
    let there = there.map_err(|error| table_refused(&error))?;
    let of_account = |found: &&SnapshotTable| found.account == account.as_str();
    let tables = match (&wish.table, &wish.into) {
        (Some(wanted), into) => {
            let (from, into) = (table(wanted)?, table(into.as_ref().unwrap_or(wanted))?);
            let is_it = |found: &SnapshotTable| found.name.eq_ignore_ascii_case(wanted);
            if !there.iter().filter(of_account).any(is_it) {
                return Err(table_refused(&Error::NoSuchTable));
            }
            vec![(from, into)]
        }
        (None, None) => {
            let names = there.iter().filter(of_account);
            let names = names.map(|found| Ok((table(&found.name)?, table(&found.name)?)));
            names.collect::<Result<_, Answer>>()?
        }
        (None, Some(_)) => return Err(invalid("as needs a table")),
    };
    // All or nothing of what can be known beforehand.
    for (_, into) in &tables {
        match doers.service.table(&account, into).await {
            Err(Error::TableNotFound) => {}
            Ok(there) => return Err(table_exists(&there.name)),
            Err(error) => return Err(table_refused(&error)),
        }
    }
    Ok(Restores {
        snapshot,
        account,
        tables,
    })
}

impl Restores {
    async fn run(self, service: &Service, job: Arc<Job>) -> Result<Value, String> {
        let (mut all, mut tables) = (Restored::default(), Vec::new());
        for (table, into) in &self.tables {
            let note = |now: Restored| job.note(all.rows + now.rows, all.bytes + now.bytes);
            let restoring =
                service.restore_table(&self.snapshot, &self.account, table, into, &note);
            let restored = restoring
                .await
                .map_err(|error| format!("table {}: {error}", into.as_str()))?;
            all.rows += restored.rows;
            all.bytes += restored.bytes;
            tables.push(
                json!({ "table": table.as_str(), "as": into.as_str(), "rows": restored.rows }),
            );
        }
        job.note(all.rows, all.bytes);
        Ok(json!({ "tables": tables, "rows": all.rows, "bytes": all.bytes }))
    }
}

/// The jobs, the latest first; or one of them: `/ID`.
pub(super) fn jobs(standing: &Standing, rest: &str) -> Answer {
    let Some(id) = rest.strip_prefix('/') else {
        let jobs: Vec<Value> = standing
            .jobs
            .list()
            .iter()
            .map(|job| job.as_json())
            .collect();
        return (StatusCode::OK, json!({ "jobs": jobs }));
    };
    match id.parse().ok().and_then(|id| standing.jobs.find(id)) {
        Some(job) => (StatusCode::OK, job.as_json()),
        None => refused(
            StatusCode::NOT_FOUND,
            "NoSuchJob",
            "there is no job of that number, or it is long over",
        ),
    }
}

fn parsed(name: &str) -> Result<SnapshotName, SnapshotError> {
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
    refused(status, code, &error.to_string())
}

fn table_exists(name: &str) -> Answer {
    let message = format!("there is a table {name}; restore it under another name");
    refused(StatusCode::CONFLICT, "TableExists", &message)
}

fn table_refused(error: &Error) -> Answer {
    let (status, code) = match error {
        Error::NoSuchTable | Error::TableNotFound => (StatusCode::NOT_FOUND, "NoSuchTable"),
        _ => (StatusCode::SERVICE_UNAVAILABLE, "Failed"),
    };
    refused(status, code, &error.to_string())
}
