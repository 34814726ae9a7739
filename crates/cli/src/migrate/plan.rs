//! `partita migrate plan`: the steps that would run, with their cost.

use super::MigrationArgs;
use crate::prelude::*;
use partita_migrate::{Cost, Direction, Planned};

/// Show the steps that would run, with their cost in requests where it is known
#[derive(clap::Args)]
pub(crate) struct PlanCommand {
    /// Plan up to this version; with --down, the revert of all versions above it
    #[arg(long, value_name = "VERSION")]
    to: Option<u64>,
    /// Plan the revert of migrations
    #[arg(long)]
    down: bool,
    #[command(flatten)]
    migrations: MigrationArgs,
}

impl AccountCommand for PlanCommand {
    async fn run(self, connection: Connection, progress: Progress) -> CommandResult {
        let (migrations, migrator) = self.migrations.read(&connection)?;
        let direction = if self.down {
            Direction::Down
        } else {
            Direction::Up
        };
        let planned = migrator.plan(&migrations, direction, self.to).await?;
        write_plan(self.migrations.output, &planned)?;
        progress.finish(&summary(&planned), Outcome::of_count(planned.len() as u64))
    }
}

/// Writes each step that would run.
pub(super) fn write_plan(args: OutputArgs, planned: &[Planned<'_>]) -> Result<(), CommandError> {
    args.write(Shape::Rows, |output| {
        for planned in planned {
            for (step, operation) in (planned.steps_done + 1..).zip(planned.left()) {
                let text = operation.to_string();
                let mut fields = vec![
                    ("version", Field::id(planned.migration.version)),
                    ("id", Field::text(&planned.migration.id)),
                    ("direction", Field::text(planned.direction.name())),
                    ("step", Field::id(step as u64)),
                    ("operation", Field::text(&text)),
                ];
                let requests = operation.requests().map(Field::count);
                fields.extend(requests.map(|requests| ("requests", requests)));
                output.record(&fields)?;
            }
        }
        Ok(())
    })
}

/// The last line: how many migrations and steps would run, and how many requests they take.
pub(super) fn summary(planned: &[Planned<'_>]) -> String {
    if planned.is_empty() {
        return "nothing to do".to_owned();
    }
    let steps: usize = planned.iter().map(|planned| planned.left().count()).sum();
    let cost = Cost::of(planned);
    let requests = many(cost.requests, "request", "requests");
    let more = match cost.open_steps {
        0 => String::new(),
        1 => ", and more for the rows of 1 step".to_owned(),
        open => format!(", and more for the rows of {open} steps"),
    };
    format!(
        "{} with {} would take {requests}{more}",
        many(planned.len() as u64, "migration", "migrations"),
        many(steps as u64, "step", "steps"),
    )
}
