//! Restores tables from a snapshot, under their old names or new ones. Each restore is a job.

use std::sync::Arc;

use hyper::StatusCode;
use partita_model::{AccountName, TableName};
use partita_snapshot::{SnapshotName, SnapshotReader};
use partita_table::{Error, Restored, Service, SnapshotTable, snapshot_tables};
use partita_wire::admin::{JobParams, JobResult, RestoredTable, SnapshotActionParams};

use super::{ActionContext, start_job};
use crate::admin::answer::{Answer, Answered};
use crate::jobs::Job;

/// Starts to restore one table, or all tables of an account.
pub(super) async fn restore(
    context: &ActionContext<'_>,
    name: &SnapshotName,
    params: SnapshotActionParams,
) -> Answered {
    let plan = RestorePlan::new(context, name, &params).await?;
    let asked = JobParams::Restore {
        snapshot: name.to_string(),
        account: plan.account.as_str().to_owned(),
        table: params.table,
        into: params.into,
    };
    let service = Arc::clone(&context.store.service);
    let work = |job| async move { plan.run(&service, job).await };
    start_job(context, "restore tables", asked, work)
}

/// Tables to restore, checked as far as possible beforehand.
struct RestorePlan {
    snapshot: SnapshotReader,
    account: AccountName,
    /// The name in the snapshot, and the new name.
    tables: Vec<(TableName, TableName)>,
}

impl RestorePlan {
    async fn new(
        context: &ActionContext<'_>,
        name: &SnapshotName,
        params: &SnapshotActionParams,
    ) -> Result<Self, Answer> {
        let accounts = context.server.settings.accounts.as_slice();
        let account = match (&params.account, accounts) {
            (Some(account), _) => account.as_str(),
            (None, [only]) => &only.name,
            (None, _) => {
                let message = "the server has several accounts: give the parameter account";
                return Err(Answer::invalid_body(message));
            }
        };
        let account = AccountName::new(account)
            .map_err(|_| Answer::invalid_body("account is not a valid account name"))?;
        let snapshot = context.store.snapshots.read(name).await?;
        let stored = snapshot_tables(&snapshot).await;
        let stored = stored.map_err(table_refused)?;
        let tables = chosen(&stored, account.as_str(), params)?;
        // A client may still create a table before its restore starts. Then the restore fails.
        for (_, into) in &tables {
            match context.store.service.table(&account, into).await {
                Err(Error::TableNotFound) => {}
                Ok(existing) => return Err(table_exists(&existing.name)),
                Err(error) => return Err(table_refused(error)),
            }
        }
        Ok(Self {
            snapshot,
            account,
            tables,
        })
    }

    async fn run(self, service: &Service, job: Arc<Job>) -> Result<JobResult, String> {
        let (mut all, mut tables) = (Restored::default(), Vec::new());
        for (table, into) in &self.tables {
            let note = |now: Restored| job.note(all.rows + now.rows, all.bytes + now.bytes);
            let (snapshot, account) = (&self.snapshot, &self.account);
            let restoring = service.restore_table(snapshot, account, table, into, &note);
            let failed = |error| format!("table {}: {error}", into.as_str());
            let restored = restoring.await.map_err(failed)?;
            all.rows += restored.rows;
            all.bytes += restored.bytes;
            tables.push(RestoredTable {
                table: table.as_str().to_owned(),
                into: into.as_str().to_owned(),
                rows: restored.rows,
            });
        }
        job.note(all.rows, all.bytes);
        Ok(JobResult::Restored {
            tables,
            rows: all.rows,
            bytes: all.bytes,
        })
    }
}

/// The tables that the parameters name, with their new names.
fn chosen(
    stored: &[SnapshotTable],
    account: &str,
    params: &SnapshotActionParams,
) -> Result<Vec<(TableName, TableName)>, Answer> {
    let name = |text: &str| {
        let invalid = |_| Answer::invalid_body(format!("{text:?} is not a valid table name"));
        TableName::new(text).map_err(invalid)
    };
    let mut of_account = stored.iter().filter(|table| table.account == account);
    match (&params.table, &params.into) {
        (Some(wanted), into) => {
            let (from, into) = (name(wanted)?, name(into.as_ref().unwrap_or(wanted))?);
            if !of_account.any(|table| table.name.eq_ignore_ascii_case(wanted)) {
                return Err(table_refused(Error::NoSuchTable));
            }
            Ok(vec![(from, into)])
        }
        (None, None) => of_account
            .map(|table| Ok((name(&table.name)?, name(&table.name)?)))
            .collect(),
        (None, Some(_)) => Err(Answer::invalid_body(
            "the parameter as needs the parameter table",
        )),
    }
}

fn table_exists(name: &str) -> Answer {
    let message = format!("there is a table {name}; restore it under another name");
    Answer::refused(StatusCode::CONFLICT, "TableExists", message)
}

fn table_refused(error: Error) -> Answer {
    let (status, code) = match error {
        Error::NoSuchTable | Error::TableNotFound => (StatusCode::NOT_FOUND, "NoSuchTable"),
        _ => (StatusCode::SERVICE_UNAVAILABLE, "Failed"),
    };
    Answer::refused(status, code, error.to_string())
}
