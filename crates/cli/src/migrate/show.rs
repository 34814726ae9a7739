//! What ran, and what would run.

use crate::args::connection::Connection;
use crate::error::{End, Failure};
use crate::output::{Output, Shape, Shown};
use crate::progress::{Talk, count, many};
use clap::ArgMatches;
use partita_client::ValueRef;
use partita_tools::migrate::{Cost, Direction, Migration, Planned, Record, State};

/// A number for the output. Versions fit, as they are checked; counts do.
fn number(number: u64) -> ValueRef<'static> {
    ValueRef::Int64(i64::try_from(number).unwrap_or(i64::MAX))
}

/// `partita migrate status`.
pub(crate) async fn status(matches: &ArgMatches) -> Result<End, Failure> {
    let connection = Connection::of(matches)?;
    let talk = Talk::new(&connection);
    let migrations = super::migrations(matches)?;
    let records = super::migrator(&connection, matches)?.records().await?;
    let record_of = |version| records.iter().find(|record| record.version == version);
    let here = migrations
        .iter()
        .map(|it| (it.version(), Some(it), record_of(it.version())));
    let gone = records
        .iter()
        .filter(|record| migrations.get(record.version).is_none())
        .map(|record| (record.version, None, Some(record)));
    let mut all: Vec<_> = here.chain(gone).collect();
    all.sort_by_key(|(version, ..)| *version);

    let mut output = Output::of(matches, Shape::Rows, None);
    let mut pending = 0;
    for (version, migration, record) in &all {
        let state = state(*migration, *record);
        pending += u64::from(matches!(&*state, "pending" | "reverted"));
        row(*version, *migration, *record, &state, &mut output)?;
    }
    output.end()?;
    let found = all.len() as u64;
    talk.end(&format!(
        "{}, {} to run",
        many(found, "migration", "migrations"),
        count(pending)
    ));
    Ok(End::of_count(found))
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

fn row(
    version: u64,
    migration: Option<&Migration>,
    record: Option<&Record>,
    state: &str,
    output: &mut Output,
) -> Result<(), Failure> {
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
    output.row(&Shown::Record(&fields))
}

/// `partita migrate plan`.
pub(crate) async fn plan(matches: &ArgMatches, direction: Direction) -> Result<End, Failure> {
    let connection = Connection::of(matches)?;
    let talk = Talk::new(&connection);
    let migrations = super::migrations(matches)?;
    let migrator = super::migrator(&connection, matches)?;
    let to = matches.get_one::<u64>("to").copied();
    let planned = migrator.plan(&migrations, direction, to).await?;
    show(matches, &planned)?;
    talk.end(&in_words(&planned));
    Ok(End::of_count(planned.len() as u64))
}

/// Prints each step that would be done.
pub(crate) fn show(matches: &ArgMatches, planned: &[Planned<'_>]) -> Result<(), Failure> {
    let mut output = Output::of(matches, Shape::Rows, None);
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
            output.row(&Shown::Record(&fields))?;
        }
    }
    output.end()
}

/// What would be done, for the last line.
pub(crate) fn in_words(planned: &[Planned<'_>]) -> String {
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
