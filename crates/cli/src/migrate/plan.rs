//! `partita migrate plan`: the steps that would run, with their cost.

use super::MigrationArgs;
use crate::args::connection::Connection;
use crate::error::{CommandError, Outcome};
use crate::output::{Output, OutputArgs, Shape, number};
use crate::progress::Progress;
use crate::units::many;
use partita_client::ValueRef;
use partita_tools::migrate::{Cost, Direction, LeaseOptions, Planned};

#[derive(clap::Args)]
#[command(about = "Show the steps that would run, with their cost in requests where it is known")]
pub(crate) struct PlanCommand {
    /// Up to this version; with --down, back to it
    #[arg(long, value_name = "VERSION")]
    to: Option<u64>,
    /// Plan the revert of migrations
    #[arg(long)]
    down: bool,
    #[command(flatten)]
    migrations: MigrationArgs,
}

impl PlanCommand {
    pub(super) async fn run(self) -> Result<Outcome, CommandError> {
        let connection = Connection::new(&self.migrations.connection)?;
        let progress = Progress::new(&connection);
        let migrations = self.migrations.migrations()?;
        let migrator = self
            .migrations
            .migrator(&connection, LeaseOptions::default());
        let direction = if self.down {
            Direction::Down
        } else {
            Direction::Up
        };
        let planned = migrator.plan(&migrations, direction, self.to).await?;
        write_plan(self.migrations.output, &planned)?;
        progress.finish(&summary(&planned));
        Ok(Outcome::of_count(planned.len() as u64))
    }
}

/// Writes each step that would run.
pub(super) fn write_plan(args: OutputArgs, planned: &[Planned<'_>]) -> Result<(), CommandError> {
    let mut output = Output::stdout(args, Shape::Rows, None);
    for planned in planned {
        for (step, operation) in (planned.steps_done + 1..).zip(planned.left()) {
            let text = operation.to_string();
            let mut fields = vec![
                ("Version", number(planned.migration.version())),
                ("Id", ValueRef::String(planned.migration.id())),
                ("Direction", ValueRef::String(planned.direction.verb())),
                ("Step", number(step as u64)),
                ("Operation", ValueRef::String(&text)),
            ];
            if let Some(requests) = operation.requests() {
                fields.push(("Requests", number(requests)));
            }
            output.record(&fields)?;
        }
    }
    output.finish()
}

/// What would run, for the last line.
pub(super) fn summary(planned: &[Planned<'_>]) -> String {
    if planned.is_empty() {
        return "nothing to do".to_owned();
    }
    let steps: usize = planned.iter().map(|planned| planned.left().count()).sum();
    let cost = Cost::of(planned);
    let requests = many(cost.requests, "request", "requests");
    let more = match cost.open_steps {
        0 => String::new(),
        1 => " and those for the rows of 1 step".to_owned(),
        open => format!(" and those for the rows of {open} steps"),
    };
    format!(
        "{} with {} would take {requests}{more}",
        many(planned.len() as u64, "migration", "migrations"),
        many(steps as u64, "step", "steps"),
    )
}
