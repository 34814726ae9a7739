//! `partita migrate up` and `down`: runs or reverts migrations, step by step under a lease.

use super::MigrationArgs;
use super::plan::{summary, write_plan};
use crate::prelude::*;
use crate::progress::Bar;
use crate::signals::stoppable;
use crate::units::seconds_within;
use partita_migrate::{
    Direction, Done, Event, LeaseOptions, MigrateError, Migrations, Migrator, Planned, Watch,
};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Run every pending migration, in the order of versions
#[derive(clap::Args)]
pub(crate) struct UpCommand {
    /// Only up to this version
    #[arg(long, value_name = "VERSION")]
    to: Option<u64>,
    #[command(flatten)]
    run: RunArgs,
}

/// Revert the newest migration that ran
#[derive(clap::Args)]
pub(crate) struct DownCommand {
    /// Revert all migrations above this version, newest first
    #[arg(long, value_name = "VERSION")]
    to: Option<u64>,
    #[command(flatten)]
    run: RunArgs,
}

impl AccountCommand for UpCommand {
    async fn run(self, connection: Connection, progress: Progress) -> CommandResult {
        let run = self.run;
        run.run(Direction::Up, self.to, &connection, progress).await
    }
}

impl AccountCommand for DownCommand {
    async fn run(self, connection: Connection, progress: Progress) -> CommandResult {
        let run = self.run;
        run.run(Direction::Down, self.to, &connection, progress)
            .await
    }
}

/// How migrations run.
#[derive(clap::Args)]
struct RunArgs {
    /// Only show the steps, as plan does
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    confirm: ConfirmArgs,
    /// How long other runs must wait if this run dies; must be longer than any request takes
    #[arg(long, value_name = "TIME", value_parser = seconds_within(5..=86_400), default_value = "60s")]
    lease: u64,
    /// Take over the lease of another run before it expires; use it only if that run has died. Not needed if it died on
    /// this machine, under Linux
    #[arg(long)]
    take_over: bool,
    #[command(flatten)]
    migrations: MigrationArgs,
}

impl RunArgs {
    async fn run(
        self,
        direction: Direction,
        to: Option<u64>,
        connection: &Connection,
        mut progress: Progress,
    ) -> CommandResult {
        let (migrations, migrator) = self.migrations.open(connection, self.lease())?;
        let planned = migrator.plan(&migrations, direction, to).await?;
        if self.dry_run {
            write_plan(self.migrations.output, &planned)?;
        }
        if self.dry_run || planned.is_empty() {
            return progress.finish(&summary(&planned), Outcome::Done);
        }
        if planned.iter().any(Planned::destroys) {
            let migrations = many(planned.len() as u64, "migration", "migrations");
            let verb = direction.name();
            let question = format!("run {migrations} {verb}, with steps that delete or overwrite");
            self.confirm.confirm(&question, &mut progress)?;
        }
        let migrator = migrator.watched_by(Arc::new(StepMessages {
            migration: Mutex::default(),
            rows: AtomicU64::new(0),
            bar: progress.bar.clone(),
        }));
        let done = until_stopped(&progress, &migrator, &migrations, direction, to).await?;
        let steps: usize = done.iter().map(|done| done.steps).sum();
        let ran = match direction {
            Direction::Up => "run",
            Direction::Down => "reverted",
        };
        let end = format!(
            "{} with {} {ran}",
            many(done.len() as u64, "migration", "migrations"),
            many(steps as u64, "step", "steps"),
        );
        progress.finish(&end, Outcome::Done)
    }

    fn lease(&self) -> LeaseOptions {
        let duration = Duration::from_secs(self.lease);
        LeaseOptions {
            duration,
            renew_after: duration / 3,
            take_over: self.take_over,
            ..LeaseOptions::default()
        }
    }
}

/// Writes a message for each step, and shows the rows of a step on the progress bar.
struct StepMessages {
    /// Version and id of the running migration.
    migration: Mutex<String>,
    rows: AtomicU64,
    bar: Bar,
}

impl Watch for StepMessages {
    fn event(&self, event: &Event<'_>) {
        let mut migration = self
            .migration
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        match event {
            Event::Migration(planned) => {
                let direction = match planned.direction {
                    Direction::Up => "",
                    Direction::Down => " down",
                };
                let Planned { migration: it, .. } = planned;
                *migration = format!("{} {}{direction}", it.version, it.id);
            }
            Event::Step {
                step,
                steps,
                operation,
            } => {
                self.bar.hide();
                message(&format!("{migration}, step {step} of {steps}: {operation}"));
                self.rows.store(0, Ordering::Relaxed);
                self.bar.show("rows", None);
            }
            Event::DeadOwner(who) => message(&format!(
                "{who} has ended without releasing its lease; taking the lease over"
            )),
            Event::Rows(more) => {
                let before = self.rows.fetch_add(*more, Ordering::Relaxed);
                self.bar.set_position(before + more);
            }
            _ => {}
        }
    }
}

/// Runs the migrations. A signal stops the run before its next write, and the run releases its lease; a second signal
/// stops it at once.
async fn until_stopped(
    progress: &Progress,
    migrator: &Migrator,
    migrations: &Migrations,
    direction: Direction,
    to: Option<u64>,
) -> Result<Vec<Done>, CommandError> {
    let running = async {
        match direction {
            Direction::Up => migrator.up(migrations, to).await,
            Direction::Down => migrator.down(migrations, to).await,
        }
    };
    let stop = || {
        migrator.stop();
        progress.bar.hide();
        message("stopping before the next write; press Ctrl-C again to stop at once");
    };
    let done = stoppable(running, stop).await;
    // The bar must be hidden before the last line or an error is written.
    progress.bar.hide();
    match done.unwrap_or(Err(MigrateError::Stopped)) {
        Err(MigrateError::Stopped) => {
            message("to resume, run the command again");
            Err(CommandError::Interrupted)
        }
        Err(error @ MigrateError::Held { .. }) => Err(CommandError::usage(format!(
            "{error}: run again later or, if that process has died, with --take-over"
        ))),
        done => Ok(done?),
    }
}
