//! [`FleetTable`]: the table with the rows of jobs, steps and workers.

use super::job::JOBS;
use super::step_row::{PREFIX, StepResult, row_key};
use super::{FleetError, Job, JobState, StepRow, StepState, StepSummary};
use crate::transfer::create_if_missing;
use futures::TryStreamExt as _;
use partita_client::{
    Continuation, DateTime, ETag, Entity, Filter, IfMatch, QueryOptions, TableClient,
    TransactionAction, UpdateMode, Value,
};

/// The default name of the table.
pub const FLEET_TABLE: &str = "PartitaFleet";
/// The prefix of the RowKeys of workers.
const WORKER: &str = "worker-";
/// Maximum number of attempts to change a row that others change at the same time.
const ATTEMPTS: usize = 20;

/// The table of fleets.
#[derive(Debug, Clone)]
pub struct FleetTable(pub TableClient);

/// A worker, as its row describes it.
#[derive(Debug, Clone, PartialEq)]
pub struct WorkerRow {
    /// The id of the worker.
    pub id: String,
    /// Host and process.
    pub name: String,
    /// Number of steps that it executes at the same time.
    pub loops: u64,
    /// Its last sign of life, by the server's clock.
    pub seen: Option<DateTime>,
}

/// Whether a conditional write of a row took place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Written {
    /// With the new ETags: first that of the changed row, then those of inserted rows.
    Yes(Vec<Option<ETag>>),
    /// Another worker changed the row first.
    Lost,
}

impl FleetTable {
    /// Creates the table, if it does not exist.
    ///
    /// # Errors
    /// [`FleetError::Table`].
    pub async fn create(&self) -> Result<(), FleetError> {
        Ok(create_if_missing(&self.0).await?)
    }

    /// Reads a job.
    ///
    /// # Errors
    /// [`FleetError::NoJob`], [`FleetError::Table`], [`FleetError::Damaged`].
    pub async fn job(&self, id: &str) -> Result<Job, FleetError> {
        match self.0.get_entity(JOBS, id).await {
            Ok(row) => Job::read(&row),
            Err(error) if error.is_not_found() => Err(FleetError::NoJob(id.to_owned())),
            Err(error) => Err(error.into()),
        }
    }

    /// All jobs, in the order of their ids. None if the table does not exist.
    ///
    /// # Errors
    /// [`FleetError::Table`], [`FleetError::Damaged`].
    pub async fn jobs(&self) -> Result<Vec<Job>, FleetError> {
        let options = QueryOptions::new().filter(Filter::pk().eq(JOBS));
        let rows = self.0.query_entities(options).try_collect::<Vec<_>>().await;
        match rows {
            Ok(rows) => rows.iter().map(Job::read).collect(),
            Err(error) if error.is_not_found() => Ok(Vec::new()),
            Err(error) => Err(error.into()),
        }
    }

    pub(super) async fn insert_job(&self, job: &Job) -> Result<(), FleetError> {
        self.0.create_entity(&job.entity()?).await?;
        Ok(())
    }

    /// Changes a job. `change` may be called several times, each time with the current job; returning false keeps it.
    pub(super) async fn change_job(
        &self,
        id: &str,
        change: impl Fn(&mut Job) -> Result<bool, FleetError>,
    ) -> Result<Job, FleetError> {
        let mut attempt = 1;
        loop {
            let mut job = self.job(id).await?;
            if !change(&mut job)? {
                return Ok(job);
            }
            let if_match = job.etag.clone().map_or(IfMatch::Any, IfMatch::ETag);
            let row = job.entity()?;
            match self
                .0
                .update_entity(&row, UpdateMode::Replace, &if_match)
                .await
            {
                Ok(etag) => {
                    job.etag = Some(etag);
                    return Ok(job);
                }
                Err(error) if error.is_precondition_failed() && attempt < ATTEMPTS => attempt += 1,
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Inserts the first steps of a job, at most 100, in one transaction.
    pub(super) async fn insert_steps(&self, steps: &[StepRow]) -> Result<(), FleetError> {
        if steps.is_empty() {
            return Ok(());
        }
        let create = |step: &StepRow| step.entity().map(TransactionAction::Create);
        let actions = steps.iter().map(create).collect::<Result<Vec<_>, _>>()?;
        self.0.submit_transaction(&actions).await?;
        Ok(())
    }

    /// Reads a step; `None` if it does not exist.
    pub(super) async fn step(&self, job: &str, id: &str) -> Result<Option<StepRow>, FleetError> {
        let row = self.0.get_entity_if_exists(job, &row_key(id)).await?;
        row.as_ref().map(StepRow::read).transpose()
    }

    /// Marks a step done and inserts its follow-up steps, all or nothing, if the step is unchanged.
    pub(super) async fn commit(
        &self,
        step: &StepRow,
        result: &StepResult,
        follow_ups: &[StepRow],
    ) -> Result<Written, FleetError> {
        let run = format!("{:032x}", fastrand::u128(..));
        let done = step.done(result, &run)?;
        let if_match = step.etag.clone().map_or(IfMatch::Any, IfMatch::ETag);
        #[cfg(feature = "planted-bugs")]
        let if_match = super::planted::condition(if_match);
        let mut actions = vec![TransactionAction::Update(
            done,
            UpdateMode::Replace,
            if_match,
        )];
        for follow_up in follow_ups {
            actions.push(TransactionAction::Create(follow_up.entity()?));
        }
        #[cfg(feature = "planted-bugs")]
        let late = super::planted::late(&mut actions);
        match self.0.submit_transaction(&actions).await {
            #[cfg(feature = "planted-bugs")]
            Ok(written) if !late.is_empty() => {
                self.0.submit_transaction(&late).await?;
                Ok(Written::Yes(written.etags))
            }
            Ok(written) => Ok(Written::Yes(written.etags)),
            Err(error) if is_changed(&error) && error.operation_index() == Some(0) => {
                Ok(Written::Lost)
            }
            Err(error) if error.status() == Some(413) => Err(FleetError::TooLarge),
            Err(error) => Err(error.into()),
        }
    }

    /// Replaces the row of an open or dead step, if the step is unchanged.
    pub(super) async fn replace(&self, step: &StepRow) -> Result<Written, FleetError> {
        let if_match = step.etag.clone().map_or(IfMatch::Any, IfMatch::ETag);
        let row = step.entity()?;
        match self
            .0
            .update_entity(&row, UpdateMode::Replace, &if_match)
            .await
        {
            Ok(etag) => Ok(Written::Yes(vec![Some(etag)])),
            Err(error) if is_changed(&error) => Ok(Written::Lost),
            Err(error) => Err(error.into()),
        }
    }

    /// Ids of steps in a state, at most about `count`. Empty only if there is none.
    pub(super) async fn ids_in_state(
        &self,
        job: &str,
        state: StepState,
        count: u32,
    ) -> Result<Vec<String>, FleetError> {
        let filter = rows_of(job, PREFIX).and(Filter::property("State").eq(state.name()));
        let options = QueryOptions::new()
            .filter(filter)
            .page_size(count)
            .select(["State"]);
        let mut from: Option<Continuation> = None;
        loop {
            // A server may answer with an empty page although more rows follow.
            let page = self.0.query_page(&options, from.as_ref()).await?;
            let rows = page.entities()?;
            from = page.continuation().cloned();
            if !rows.is_empty() || from.is_none() {
                let id = |row: &Entity| row.row_key().trim_start_matches(PREFIX).to_owned();
                return Ok(rows.iter().map(id).collect());
            }
        }
    }

    /// All steps of a job. `select` names the properties to read; empty for all.
    pub(super) async fn steps(
        &self,
        job: &str,
        select: &[&str],
    ) -> Result<Vec<StepSummary>, FleetError> {
        let options = QueryOptions::new().filter(rows_of(job, PREFIX));
        let options = options.select(select.iter().copied());
        let rows: Vec<Entity> = self.0.query_entities(options).try_collect().await?;
        rows.iter().map(StepSummary::read).collect()
    }

    /// Writes the row of a worker: its sign of life.
    pub(super) async fn heartbeat(&self, job: &str, worker: &WorkerRow) -> Result<(), FleetError> {
        let mut row = Entity::new(job, format!("{WORKER}{}", worker.id));
        let loops = i64::try_from(worker.loops).unwrap_or(i64::MAX);
        row.insert("Name", &*worker.name).insert("Loops", loops);
        self.0.upsert_entity(&row, UpdateMode::Replace).await?;
        Ok(())
    }

    /// All workers that ever worked on a job, alive or not.
    pub(super) async fn workers(&self, job: &str) -> Result<Vec<WorkerRow>, FleetError> {
        let options = QueryOptions::new().filter(rows_of(job, WORKER));
        let rows: Vec<Entity> = self.0.query_entities(options).try_collect().await?;
        let read = |row: &Entity| WorkerRow {
            id: row.row_key().trim_start_matches(WORKER).to_owned(),
            name: match row.get("Name") {
                Some(Value::String(name)) => name.clone(),
                _ => String::new(),
            },
            loops: match row.get("Loops") {
                Some(Value::Int64(loops)) => u64::try_from(*loops).unwrap_or(0),
                _ => 0,
            },
            seen: row.timestamp(),
        };
        Ok(rows.iter().map(read).collect())
    }

    /// Ends a job, if it is still running.
    pub(super) async fn end_job(
        &self,
        id: &str,
        state: JobState,
        totals: super::Tally,
    ) -> Result<Job, FleetError> {
        let ended = partita_client::now();
        self.change_job(id, |job| {
            let is_running = job.state == JobState::Running;
            if is_running {
                (job.state, job.totals, job.ended) = (state, Some(totals), Some(ended));
            }
            Ok(is_running)
        })
        .await
    }
}

/// Whether a conditional write failed because the row was changed or deleted.
fn is_changed(error: &partita_client::Error) -> bool {
    error.is_precondition_failed() || error.is_not_found()
}

/// The rows of a job whose RowKeys begin with a prefix.
fn rows_of(job: &str, prefix: &str) -> Filter {
    Filter::pk().eq(job).and(Filter::rk().starts_with(prefix))
}
