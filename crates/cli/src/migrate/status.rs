//! `partita migrate status`: every migration, and whether it ran.

use super::MigrationArgs;
use crate::prelude::*;
use partita_client::ValueRef;
use partita_migrate::{Migration, Record, State};

/// Show each migration and whether it ran
#[derive(clap::Args)]
pub(crate) struct StatusCommand {
    #[command(flatten)]
    migrations: MigrationArgs,
}

impl AccountCommand for StatusCommand {
    async fn run(self, connection: Connection, progress: Progress) -> CommandResult {
        let (migrations, migrator) = self.migrations.read(&connection)?;
        let records = migrator.records().await?;
        let record_of = |version| records.iter().find(|record| record.version == version);
        let with_file = migrations
            .iter()
            .map(|it| (it.version, Some(it), record_of(it.version)));
        let without_file = records
            .iter()
            .filter(|record| migrations.get(record.version).is_none())
            .map(|record| (record.version, None, Some(record)));
        let mut all: Vec<_> = with_file.chain(without_file).collect();
        all.sort_by_key(|(version, ..)| *version);

        let (mut pending, mut unfinished) = (0, 0);
        self.migrations.output.write(Shape::Rows, |output| {
            for (version, migration, record) in &all {
                let state = state(*migration, *record);
                pending += u64::from(matches!(&*state, "pending" | "reverted"));
                unfinished += u64::from(matches!(&*state, "applying" | "reverting"));
                write_row(*version, *migration, *record, &state, output)?;
            }
            Ok(())
        })?;
        let found = all.len() as u64;
        let mut end = format!(
            "{}, {} to run",
            many(found, "migration", "migrations"),
            count(pending)
        );
        if unfinished > 0 {
            end.push_str(&format!(", {} unfinished", count(unfinished)));
        }
        progress.finish(&end, Outcome::of_count(found))
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
    let id = migration.map(|migration| &migration.id);
    let id = id.or(record.map(|record| &record.id));
    let steps = record.map(|record| format!("{} of {}", record.steps_done, record.steps));
    let mut fields = vec![
        ("version", Field::id(version)),
        ("id", Field::text(id.map_or("", String::as_str))),
        ("state", Field::text(state)),
    ];
    if let (Some(record), Some(steps)) = (record, &steps) {
        let at = ValueRef::DateTime(record.ended.unwrap_or(record.begun));
        fields.push(("steps", Field::text(steps)));
        fields.push(("at", Field::Plain(at)));
        fields.push(("who", Field::text(&record.who)));
        if let Some(failure) = &record.failure {
            fields.push(("failure", Field::text(failure)));
        }
    }
    output.record(&fields)
}
