//! Runs migrations.
//!
//! ```text
//! lease ─▶ records ─▶ plan ─▶ for each migration: record "applying", 0 steps done
//!                              for each step: do it ─▶ record one step more
//!                              record "applied" with the last step ─▶ … ─▶ lease given back
//! ```
//!
//! A runner may be killed at any of these places, and within a step. The next one finds the record, and does the rest: see
//! [`step`] for what each step does where it may have been begun before.

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

use super::lease::{self, Lease, LeaseOptions};
use super::record::{self, Progress, Record};
use super::{Direction, MigrateError, Migrations, Operation, State, StepError};
use partita_client::{TableClient, TableServiceClient};
use partita_model::limits::PAGE_ENTITIES_MAX;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use step::Step;

/// The name of the table of versions, unless another one is chosen.
pub const VERSIONS_TABLE: &str = "versionData";

/// How migrations are run. `..MigratorOptions::default()` fills the rest.
#[derive(Debug, Clone)]
pub struct MigratorOptions {
    /// The table of versions.
    pub versions_table: String,
    /// Who runs them, in words: for the records, and for others who find the lease held.
    pub who: String,
    /// How the lease is held.
    pub lease: LeaseOptions,
    /// Rows on a page of a table that is copied or changed, 1 to 1,000.
    pub page_rows: usize,
    /// Pages after which it is recorded how far a copy is. Those behind the record are copied again after a failure.
    pub pages_between_records: usize,
    /// Writes at the same time where their order does not count, at least 1.
    pub jobs: usize,
}

impl Default for MigratorOptions {
    fn default() -> Self {
        Self {
            versions_table: VERSIONS_TABLE.to_owned(),
            who: "somebody".to_owned(),
            lease: LeaseOptions::default(),
            page_rows: PAGE_ENTITIES_MAX,
            pages_between_records: 20,
            jobs: 8,
        }
    }
}

/// Something has happened.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Event<'a> {
    /// A migration begins, or goes on.
    Migration(&'a Planned<'a>),
    /// A step begins, or goes on.
    Step {
        /// The step, from 1.
        step: usize,
        /// Of how many.
        steps: usize,
        /// What it does.
        operation: &'a Operation,
    },
    /// Rows of a step are written, deleted or compared.
    Rows(u64),
}

/// Sees what happens. It has to be quick; it must not block.
pub trait Watch: Send + Sync {
    /// Something has happened.
    fn event(&self, event: &Event<'_>);
}

/// Sees nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct Unwatched;

impl Watch for Unwatched {
    fn event(&self, _: &Event<'_>) {}
}

/// What a run has done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Done {
    /// The migration's version.
    pub version: u64,
    /// Its id.
    pub id: String,
    /// Which way it went.
    pub direction: Direction,
    /// Steps done by this run.
    pub steps: usize,
}

/// Runs migrations on the tables of an account.
///
/// ```
/// # mod server { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/../client/tests/example/server.rs")); }
/// # server::on_a_server(async |connection_string| {
/// use partita_client::{Entity, TableServiceClient};
/// use partita_tools::migrate::{Migration, Migrations, Migrator, MigratorOptions};
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
    /// A runner on that account.
    #[must_use]
    pub fn new(service: TableServiceClient, options: MigratorOptions) -> Self {
        Self {
            versions: service.table_client(&options.versions_table),
            service,
            options,
            watch: Arc::new(Unwatched),
            stop: Arc::default(),
        }
    }

    /// Stops a run of this runner, or of a clone of it, before its next write: it gives its lease back and ends with
    /// [`MigrateError::Stopped`].
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Tells somebody what happens.
    #[must_use]
    pub fn watched_by(self, watch: Arc<dyn Watch>) -> Self {
        Self { watch, ..self }
    }

    /// What ran, by versions.
    ///
    /// # Errors
    /// [`MigrateError::Records`], [`MigrateError::Damaged`].
    pub async fn records(&self) -> Result<Vec<Record>, MigrateError> {
        record::read_all(&self.versions).await
    }

    /// What a run would do now.
    ///
    /// # Errors
    /// Those of [`Self::up`] and [`Self::down`] that can be told before they begin.
    pub async fn plan<'a>(
        &self,
        migrations: &'a Migrations,
        direction: Direction,
        to: Option<u64>,
    ) -> Result<Vec<Planned<'a>>, MigrateError> {
        let records = self.records().await?;
        planned(migrations, &records, direction, to)
    }

    /// Runs every migration that has not run, in the order of versions, up to `to`. Says what was done; nothing if there was
    /// nothing to do. If the future is dropped, it stops as if it had been killed: run it again.
    ///
    /// # Errors
    /// [`MigrateError`].
    pub async fn up(
        &self,
        migrations: &Migrations,
        to: Option<u64>,
    ) -> Result<Vec<Done>, MigrateError> {
        self.run(migrations, Direction::Up, to).await
    }

    /// Takes back every migration above `to` that ran, the newest first; without `to`, the newest one. As [`Self::up`] else.
    ///
    /// # Errors
    /// [`MigrateError`]; if one of them declares no reverse, nothing is done.
    pub async fn down(
        &self,
        migrations: &Migrations,
        to: Option<u64>,
    ) -> Result<Vec<Done>, MigrateError> {
        self.run(migrations, Direction::Down, to).await
    }

    async fn run(
        &self,
        migrations: &Migrations,
        direction: Direction,
        to: Option<u64>,
    ) -> Result<Vec<Done>, MigrateError> {
        lease::prepare(&self.versions).await?;
        let mut lease = Lease::take(&self.versions, &self.options.who, &self.options.lease).await?;
        // Only the holder of the lease knows that what it reads stays so.
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
    ) -> Result<Vec<Done>, MigrateError> {
        let records = self.records().await?;
        let mut done = Vec::new();
        for planned in planned(migrations, &records, direction, to)? {
            self.watch.event(&Event::Migration(&planned));
            let found = plan::of(&records, planned.migration.version());
            self.run_one(&planned, found, lease).await?;
            done.push(Done {
                version: planned.migration.version(),
                id: planned.migration.id().to_owned(),
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
        // A run before may have done more of the next step than it could record.
        let mut in_doubt = planned.is_resumed && record.in_doubt;
        let operations = planned.steps().operations();
        for (index, operation) in operations.iter().enumerate().skip(planned.steps_done) {
            self.watch.event(&Event::Step {
                step: index + 1,
                steps: operations.len(),
                operation,
            });
            let mut step = Step {
                service: &self.service,
                versions: &self.versions,
                options: &self.options,
                watch: &*self.watch,
                stop: &self.stop,
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
                record.state = State::at_the_end(planned.direction);
                record.ended = Some(partita_client::now());
            }
            lease.keep().await?;
            record::write(&self.versions, &mut record).await?;
        }
        Ok(())
    }
}

fn planned<'a>(
    migrations: &'a Migrations,
    records: &[Record],
    direction: Direction,
    to: Option<u64>,
) -> Result<Vec<Planned<'a>>, MigrateError> {
    match direction {
        Direction::Up => plan::up(migrations, records, to),
        Direction::Down => plan::down(migrations, records, to),
    }
}

/// The record of a migration that begins or goes on.
fn begun(planned: &Planned<'_>, found: Option<&Record>, who: &str) -> Record {
    if let (true, Some(found)) = (planned.is_resumed, found) {
        return Record {
            who: who.to_owned(),
            ..found.clone()
        };
    }
    let migration = planned.migration;
    Record {
        version: migration.version(),
        id: migration.id().to_owned(),
        description: migration.about().to_owned(),
        checksum: migration.checksum(),
        state: State::under_way(planned.direction),
        steps_done: 0,
        steps: planned.steps().operations().len(),
        begun: partita_client::now(),
        ended: None,
        who: who.to_owned(),
        failure: None,
        // Once this is written the first step may begin.
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
        0 => "nothing".to_owned(),
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

impl fmt::Debug for Migrator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Migrator")
            .field("service", &self.service)
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}
