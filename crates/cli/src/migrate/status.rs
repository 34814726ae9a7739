//! `partita migrate status`: every migration, and whether it ran.

use super::MigrationArgs;
use crate::args::connection::Connection;
use crate::error::{CommandError, Outcome};
use crate::output::{Output, Shape, number};
use crate::progress::Progress;
use crate::units::{count, many};
use partita_client::ValueRef;
use partita_tools::migrate::{LeaseOptions, Migration, Record, State};

#[derive(clap::Args)]
#[command(about = "Show each migration and whether it ran")]
pub(crate) struct StatusCommand {
    #[command(flatten)]
    migrations: MigrationArgs,
}

impl StatusCommand {
    pub(super) async fn run(self) -> Result<Outcome, CommandError> {
        let connection = Connection::new(&self.migrations.connection)?;
        let progress = Progress::new(&connection);
        let migrations = self.migrations.migrations()?;
        let migrator = self
            .migrations
            .migrator(&connection, LeaseOptions::default());
        let records = migrator.records().await?;
        let record_of = |version| records.iter().find(|record| record.version == version);
        let with_file = migrations
            .iter()
            .map(|it| (it.version(), Some(it), record_of(it.version())));
        let without_file = records
            .iter()
            .filter(|record| migrations.get(record.version).is_none())
            .map(|record| (record.version, None, Some(record)));
        let mut all: Vec<_> = with_file.chain(without_file).collect();
        all.sort_by_key(|(version, ..)| *version);

        let mut output = Output::stdout(self.migrations.output, Shape::Rows, None);
        let mut pending = 0;
        for (version, migration, record) in &all {
            let state = state(*migration, *record);
            pending += u64::from(matches!(&*state, "pending" | "reverted"));
            write_row(*version, *migration, *record, &state, &mut output)?;
        }
        output.finish()?;
        let found = all.len() as u64;
        progress.finish(&format!(
            "{}, {} to run",
            many(found, "migration", "migrations"),
            count(pending)
        ));
        Ok(Outcome::of_count(found))
    }
}

fn state(migration: Option<&Migration>, record: Option<&Record>) -> String {
    match (migration, record) {
        (Some(migration), Some(record))
            if record.state != State::Reverted && migration.checksum() != record.checksum =>
        {
            "changed".to_owned()
        }
        (None, Some(record)) => format!("{}, not here", record.state),
        (_, Some(record)) => record.state.to_string(),
        (_, None) => "pending".to_owned(),
    }
}

fn write_row(
    version: u64,
    migration: Option<&Migration>,
    record: Option<&Record>,
    state: &str,
    output: &mut Output,
) -> Result<(), CommandError> {
    let id = migration.map(Migration::id);
    let id = id.or(record.map(|record| record.id.as_str()));
    let steps = record.map(|record| format!("{} of {}", record.steps_done, record.steps));
    let mut fields = vec![
        ("Version", number(version)),
        ("Id", ValueRef::String(id.unwrap_or_default())),
        ("State", ValueRef::String(state)),
    ];
    if let (Some(record), Some(steps)) = (record, &steps) {
        fields.push(("Steps", ValueRef::String(steps)));
        let at = record.ended.unwrap_or(record.begun);
        fields.push(("At", ValueRef::DateTime(at)));
        fields.push(("Who", ValueRef::String(&record.who)));
        if let Some(failure) = &record.failure {
            fields.push(("Failure", ValueRef::String(failure)));
        }
    }
    output.record(&fields)
}
