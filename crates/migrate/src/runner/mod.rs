//! Runs migrations.
//!
//! ```text
//! take the lease ─▶ read the records ─▶ plan ─▶ run each planned migration ─▶ release the lease
//!
//! migration: record "applying", 0 steps done ─▶ run step 1 ─▶ record 1 step done ─▶ … ─▶ record "applied"
//! ```
//!
//! A runner may be killed at any point, even within a step. The next runner continues from the record: [`step`]
//! describes how each step continues after an interrupted run.

mod copy;
mod cost;
mod delete;
mod in_place;
mod plan;
mod step;
mod transform;
mod write;

pub use cost::Cost;
pub use plan::Planned;

use super::lease::{Lease, LeaseOptions};
use super::record::{self, Progress, Record};
use super::{Direction, MigrateError, Migrations, Operation, State, StepError};
use partita_client::{TableClient, TableServiceClient, UnknownOutcome};
use partita_model::limits::PAGE_ENTITIES_MAX;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use step::Step;

/// The default name of the version table.
pub const VERSIONS_TABLE: &str = "versionData";

/// Settings of a migrator.
#[derive(Debug, Clone)]
pub struct MigratorOptions {
    /// The name of the version table.
    pub versions_table: String,
    /// The name of this runner. It is stored in records, and other runners report it if they cannot take the lease.
    pub who: String,
    /// Settings of the lease.
    pub lease: LeaseOptions,
    /// Rows per page when tables are copied or changed, 1 to 1,000.
    pub page_rows: usize,
    /// Number of pages between two records of a copy's progress. After a failure, pages after the last record are
    /// copied again.
    pub pages_between_records: usize,
    /// Number of parallel writes where the order is irrelevant, at least 1.
    pub jobs: usize,
    /// Whether to use only the public protocol. A rename then always copies the table.
    pub public_only: bool,
}

impl Default for MigratorOptions {
    fn default() -> Self {
        Self {
            versions_table: VERSIONS_TABLE.to_owned(),
            who: "partita-migrate".to_owned(),
            lease: LeaseOptions::default(),
            page_rows: PAGE_ENTITIES_MAX,
            pages_between_records: 20,
            jobs: 8,
            public_only: false,
        }
    }
}

/// An event of a run.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Event<'a> {
    /// A migration begins or continues.
    Migration(&'a Planned<'a>),
    /// A step begins or continues.
    Step {
        /// The number of the step, from 1.
        step: usize,
        /// The number of steps of the migration.
        steps: usize,
        /// The operation of the step.
        operation: &'a Operation,
    },
    /// A step has processed this number of rows.
    Rows(u64),
    /// The process with this name, which holds the lease, ran on this machine and has ended. The run takes its lease
    /// over after [`LeaseOptions::dead_owner_pause`].
    DeadOwner(&'a str),
}

/// Receives the events of a run. It must not block.
pub trait Watch: Send + Sync {
    /// Called for each event.
    fn event(&self, event: &Event<'_>);
}

/// Ignores all events.
impl Watch for () {
    fn event(&self, _: &Event<'_>) {}
}

/// The migrations that a run has finished, or why it ended early.
pub type Ran = Result<Vec<Done>, MigrateError>;

/// A migration that a run has finished.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Done {
    /// The version of the migration.
    pub version: u64,
    /// The id of the migration.
    pub id: String,
    /// The direction of the run.
    pub direction: Direction,
    /// Number of steps that this run has finished.
    pub steps: usize,
}

/// Runs migrations on the tables of an account.
///
/// ```
/// # mod server { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/../client/tests/example/server.rs")); }
/// # server::on_a_server(async |connection_string| {
/// use partita_client::{Entity, TableServiceClient};
/// use partita_migrate::{Migration, Migrations, Migrator, MigratorOptions};
///
/// let service = TableServiceClient::from_connection_string(&connection_string)?;
/// let migrations = Migrations::new([
///     Migration::new(1, "crew").create_and_insert("crew", [Entity::new("O'Brien", "Keiko")]),
///     Migration::new(2, "staff")
///         .rename_table("crew", "staff")
///         .down(|down| down.rename_table("staff", "crew")),
/// ])?;
/// let migrator = Migrator::new(service.clone(), MigratorOptions::default());
/// assert_eq!(migrator.up(&migrations, None).await?.len(), 2);
/// assert!(migrator.up(&migrations, None).await?.is_empty());
/// service.table_client("staff").get_entity("O'Brien", "Keiko").await?;
///
/// migrator.down(&migrations, None).await?;
/// service.table_client("crew").get_entity("O'Brien", "Keiko").await?;
/// # Ok(()) });
/// ```
#[derive(Clone)]
pub struct Migrator {
    service: TableServiceClient,
    versions: TableClient,
    options: MigratorOptions,
    watch: Arc<dyn Watch>,
    stop: Arc<AtomicBool>,
}

impl Migrator {
    /// A migrator for the account of `service`.
    pub fn new(service: TableServiceClient, options: MigratorOptions) -> Self {
        // The lease has a random value, and only its holder writes the other rows.
        let assuming = UnknownOutcome::AssumeFromEqualContent;
        let versions = service.table_client(&options.versions_table);
        Self {
            versions: versions.with_unknown_outcome(assuming),
            service,
            options,
            watch: Arc::new(()),
            stop: Arc::default(),
        }
    }

    /// Stops the runs of this migrator and of its clones before their next write. A stopped run releases its lease and
    /// ends with [`MigrateError::Stopped`].
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Sends events to `watch`.
    #[must_use]
    pub fn watched_by(self, watch: Arc<dyn Watch>) -> Self {
        Self { watch, ..self }
    }

    /// The records of all migrations, by version.
    ///
    /// # Errors
    /// [`MigrateError::Records`], [`MigrateError::Damaged`].
    pub async fn records(&self) -> Result<Vec<Record>, MigrateError> {
        record::read_all(&self.versions).await
    }

    /// The migrations that a run would run now.
    ///
    /// # Errors
    /// The errors of [`Self::up`] and [`Self::down`] that occur before the first step.
    pub async fn plan<'a>(
        &self,
        migrations: &'a Migrations,
        direction: Direction,
        to: Option<u64>,
    ) -> Result<Vec<Planned<'a>>, MigrateError> {
        let records = self.records().await?;
        plan::planned(migrations, &records, direction, to)
    }

    /// Applies every migration that has not run, in the order of versions, up to `to`. If the future is dropped, the
    /// run stops as if it had been killed, and the next run continues.
    ///
    /// # Errors
    /// [`MigrateError`].
    pub async fn up(&self, migrations: &Migrations, to: Option<u64>) -> Ran {
        self.run(migrations, Direction::Up, to).await
    }

    /// Reverts every applied migration above `to`, the newest first; without `to`, only the newest one. The future may
    /// be dropped like that of [`Self::up`].
    ///
    /// # Errors
    /// [`MigrateError`]. If one of these migrations has no down steps, none is reverted.
    pub async fn down(&self, migrations: &Migrations, to: Option<u64>) -> Ran {
        self.run(migrations, Direction::Down, to).await
    }

    async fn run(&self, migrations: &Migrations, direction: Direction, to: Option<u64>) -> Ran {
        let name = &self.options.versions_table;
        let created = self.service.create_table_if_not_exists(name).await;
        created.map_err(record::failed)?;
        let (who, options) = (&self.options.who, &self.options.lease);
        let on_dead_owner = |who: &str| self.watch.event(&Event::DeadOwner(who));
        let mut lease = Lease::take(&self.versions, who, options, &on_dead_owner).await?;
        // The records are read only now: while this runner holds the lease, no other runner changes them.
        let done = self.run_all(migrations, direction, to, &mut lease).await;
        if !matches!(done, Err(MigrateError::Lost(_))) {
            lease.release().await;
        }
        done
    }

    async fn run_all(
        &self,
        migrations: &Migrations,
        direction: Direction,
        to: Option<u64>,
        lease: &mut Lease,
    ) -> Ran {
        let records = self.records().await?;
        let mut done = Vec::new();
        for planned in plan::planned(migrations, &records, direction, to)? {
            self.watch.event(&Event::Migration(&planned));
            let found = plan::of(&records, planned.migration.version);
            self.run_one(&planned, found, lease).await?;
            done.push(Done {
                version: planned.migration.version,
                id: planned.migration.id.clone(),
                direction,
                steps: planned.steps().operations().len() - planned.steps_done,
            });
        }
        Ok(done)
    }

    async fn run_one(
        &self,
        planned: &Planned<'_>,
        found: Option<&Record>,
        lease: &mut Lease,
    ) -> Result<(), MigrateError> {
        let mut record = begun(planned, found, &self.options.who);
        if !planned.is_resumed {
            lease.keep().await?;
            record::write(&self.versions, &mut record).await?;
        }
        // An earlier run may have done more of the next step than its record says.
        let mut in_doubt = planned.is_resumed && record.in_doubt;
        let operations = planned.steps().operations();
        for (index, operation) in operations.iter().enumerate().skip(planned.steps_done) {
            self.watch.event(&Event::Step {
                step: index + 1,
                steps: operations.len(),
                operation,
            });
            let mut step = Step {
                migrator: self,
                lease,
                record: &mut record,
                in_doubt,
            };
            if let Err(error) = step.run(operation).await {
                let error = step.failed(error).await;
                return Err(step_error(&record, index, operation, error));
            }
            in_doubt = false;
            record.steps_done = index + 1;
            record.in_doubt = true;
            record.progress = Progress::default();
            record.failure = None;
            if record.steps_done == operations.len() {
                record.state = State::finished(planned.direction);
                record.ended = Some(partita_client::now());
            }
            lease.keep().await?;
            record::write(&self.versions, &mut record).await?;
        }
        Ok(())
    }
}

/// The record of a migration that begins or continues.
fn begun(planned: &Planned<'_>, found: Option<&Record>, who: &str) -> Record {
    if let (true, Some(found)) = (planned.is_resumed, found) {
        return Record {
            who: who.to_owned(),
            ..found.clone()
        };
    }
    let migration = planned.migration;
    Record {
        version: migration.version,
        id: migration.id.clone(),
        description: migration.description.clone(),
        checksum: migration.checksum(),
        state: State::running(planned.direction),
        steps_done: 0,
        steps: planned.steps().operations().len(),
        begun: partita_client::now(),
        ended: None,
        who: who.to_owned(),
        failure: None,
        // The record is written before the first step begins. If the run is interrupted, that step may have done more
        // than the record says.
        in_doubt: true,
        progress: Progress::default(),
        etag: found.and_then(|found| found.etag.clone()),
    }
}

fn step_error(
    record: &Record,
    index: usize,
    operation: &Operation,
    source: StepError,
) -> MigrateError {
    let done = match index {
        0 => "no step".to_owned(),
        1 => "1 step".to_owned(),
        steps => format!("{steps} steps"),
    };
    match source {
        StepError::Runner(error) => *error,
        source => MigrateError::Step {
            version: record.version,
            id: record.id.clone(),
            step: index + 1,
            steps: record.steps,
            operation: operation.to_string(),
            done,
            source: Box::new(source),
        },
    }
}
