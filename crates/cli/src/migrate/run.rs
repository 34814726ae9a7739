//! `partita migrate up` and `down`.

use super::show;
use crate::args::connection::Connection;
use crate::error::{End, Failure};
use crate::progress::{Bar, Talk, confirm, many, say};
use crate::scan_session::signal;
use clap::ArgMatches;
use partita_tools::migrate::{
    Direction, Done, Event, MigrateError, Migrations, Migrator, Planned, Watch,
};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Says what is done, step by step, and shows on a terminal how many rows of a step are.
struct Narrator {
    /// Version and id of the migration under way.
    migration: Mutex<String>,
    rows: AtomicU64,
    bar: Bar,
}

impl Watch for Narrator {
    fn event(&self, event: &Event<'_>) {
        let mut migration = self
            .migration
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        match event {
            Event::Migration(planned) => {
                let way = match planned.direction {
                    Direction::Up => "",
                    Direction::Down => " back",
                };
                let Planned { migration: it, .. } = planned;
                *migration = format!("{} {}{way}", it.version(), it.id());
            }
            Event::Step {
                step,
                steps,
                operation,
            } => {
                self.bar.hide();
                say(&format!("{migration}, step {step} of {steps}: {operation}"));
                self.rows.store(0, Ordering::Relaxed);
                self.bar.show("rows", None);
            }
            Event::Rows(more) => {
                let before = self.rows.fetch_add(*more, Ordering::Relaxed);
                self.bar.progress(before + more);
            }
            _ => {}
        }
    }
}

pub(crate) async fn run(matches: &ArgMatches, direction: Direction) -> Result<End, Failure> {
    let connection = Connection::of(matches)?;
    let talk = Talk::new(&connection);
    let migrations = super::migrations(matches)?;
    let migrator = super::migrator(&connection, matches)?;
    let to = matches.get_one::<u64>("to").copied();
    let planned = migrator.plan(&migrations, direction, to).await?;
    if matches.get_flag("dry-run") {
        show::show(matches, &planned)?;
    }
    if matches.get_flag("dry-run") || planned.is_empty() {
        talk.end(&show::in_words(&planned));
        return Ok(End::Done);
    }
    if planned.iter().any(Planned::destroys) {
        let many = many(planned.len() as u64, "migration", "migrations");
        let verb = direction.verb();
        let what = format!("run {many} {verb}, with steps that delete or overwrite");
        confirm(&what, matches.get_flag("yes"))?;
    }
    let migrator = migrator.watched_by(Arc::new(Narrator {
        migration: Mutex::default(),
        rows: AtomicU64::new(0),
        bar: talk.bar(),
    }));
    let done = until_stopped(&talk, &migrator, &migrations, direction, to).await?;
    let steps: usize = done.iter().map(|done| done.steps).sum();
    let ran = match direction {
        Direction::Up => "run",
        Direction::Down => "taken back",
    };
    talk.end(&format!(
        "{} with {} {ran}",
        many(done.len() as u64, "migration", "migrations"),
        many(steps as u64, "step", "steps"),
    ));
    Ok(End::Done)
}

/// Runs to the end. A signal lets it stop before the next write and give its lease back; a second one ends it at once.
async fn until_stopped(
    talk: &Talk,
    migrator: &Migrator,
    migrations: &Migrations,
    direction: Direction,
    to: Option<u64>,
) -> Result<Vec<Done>, Failure> {
    let running = async {
        match direction {
            Direction::Up => migrator.up(migrations, to).await,
            Direction::Down => migrator.down(migrations, to).await,
        }
    };
    let mut running = std::pin::pin!(running);
    let done = tokio::select! {
        done = &mut running => done,
        () = signal() => {
            migrator.stop();
            talk.hide_progress();
            say("stopping before the next write; once more ends it at once");
            tokio::select! {
                done = &mut running => done,
                () = signal() => Err(MigrateError::Stopped),
            }
        }
    };
    // Also before an error is said.
    talk.hide_progress();
    match done {
        Err(MigrateError::Stopped) => {
            say("run it again to go on");
            Err(Failure::Interrupted)
        }
        done => Ok(done?),
    }
}
