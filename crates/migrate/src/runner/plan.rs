//! Plans a run: which migrations it applies or reverts, depending on the state of each.
//!
//! ```text
//!             pending      applying       applied      reverting       reverted
//! up          apply        continue       –            error           apply
//! down        –            error          revert       continue        –
//! ```
//!
//! The definition of a migration that was applied, or stopped halfway, must not have changed since.

use super::super::record::Record;
use super::super::{
    ChangedMigration, Direction, MigrateError, Migration, Migrations, State, Steps,
};

/// A migration to run.
#[derive(Debug, Clone, PartialEq)]
pub struct Planned<'a> {
    /// The migration.
    pub migration: &'a Migration,
    /// The direction of the run.
    pub direction: Direction,
    /// Number of steps that an earlier run has finished.
    pub steps_done: usize,
    /// Whether an earlier run stopped halfway.
    pub is_resumed: bool,
}

impl<'a> Planned<'a> {
    /// All steps of the direction, including finished ones.
    pub fn steps(&self) -> &'a Steps {
        match self.direction {
            Direction::Up => &self.migration.up,
            Direction::Down => self.migration.down.as_ref().unwrap_or(&self.migration.up),
        }
    }

    /// Whether a remaining step deletes or overwrites data that cannot be recovered.
    pub fn destroys(&self) -> bool {
        self.left().any(super::super::Operation::destroys)
    }

    fn new(migration: &'a Migration, direction: Direction, record: Option<&Record>) -> Self {
        let halfway = record.filter(|record| record.is_half_way());
        Self {
            migration,
            direction,
            steps_done: halfway.map_or(0, |record| record.steps_done),
            is_resumed: halfway.is_some(),
        }
    }
}

/// The migrations to run in this direction.
pub(super) fn planned<'a>(
    migrations: &'a Migrations,
    records: &[Record],
    direction: Direction,
    to: Option<u64>,
) -> Result<Vec<Planned<'a>>, MigrateError> {
    match direction {
        Direction::Up => up(migrations, records, to),
        Direction::Down => down(migrations, records, to),
    }
}

/// The migrations to apply: those that are not applied, in the order of versions, up to `to`.
fn up<'a>(
    migrations: &'a Migrations,
    records: &[Record],
    to: Option<u64>,
) -> Result<Vec<Planned<'a>>, MigrateError> {
    check_same(migrations, records)?;
    let mut planned = Vec::new();
    for record in records.iter().filter(|record| record.is_half_way()) {
        let (version, id) = (record.version, record.id.clone());
        if record.state == State::Reverting {
            return Err(half_way(record));
        }
        if migrations.get(version).is_none() {
            return Err(MigrateError::Missing { version, id });
        }
    }
    let newest = records
        .iter()
        .filter(|record| record.direction() == Direction::Up)
        .map(|record| record.version)
        .max();
    for migration in migrations.iter() {
        let record = of(records, migration.version);
        let is_applied = record.is_some_and(|record| record.state == State::Applied);
        if is_applied || to.is_some_and(|to| migration.version > to) {
            continue;
        }
        if let Some(after) = newest.filter(|newest| migration.version < *newest) {
            return Err(MigrateError::OutOfOrder {
                version: migration.version,
                id: migration.id.clone(),
                after,
            });
        }
        planned.push(Planned::new(migration, Direction::Up, record));
    }
    Ok(planned)
}

/// The migrations to revert: those above `to` that are applied, the newest first; without `to`, only the newest one.
fn down<'a>(
    migrations: &'a Migrations,
    records: &[Record],
    to: Option<u64>,
) -> Result<Vec<Planned<'a>>, MigrateError> {
    check_same(migrations, records)?;
    if let Some(record) = records.iter().find(|it| it.state == State::Applying) {
        return Err(half_way(record));
    }
    let mut planned = Vec::new();
    for record in records.iter().rev() {
        let is_wanted = match to {
            Some(to) => record.version > to,
            None => planned.is_empty(),
        };
        if record.state == State::Reverted || !is_wanted {
            continue;
        }
        let (version, id) = (record.version, record.id.clone());
        let Some(migration) = migrations.get(version) else {
            return Err(MigrateError::Missing { version, id });
        };
        if migration.down.is_none() {
            return Err(MigrateError::Irreversible { version, id });
        }
        planned.push(Planned::new(migration, Direction::Down, Some(record)));
    }
    Ok(planned)
}

pub(super) fn of(records: &[Record], version: u64) -> Option<&Record> {
    records.iter().find(|record| record.version == version)
}

fn half_way(record: &Record) -> MigrateError {
    MigrateError::HalfWay {
        version: record.version,
        id: record.id.clone(),
        direction: record.direction(),
    }
}

/// Returns an error if the definition of a migration has changed since it was applied or stopped halfway.
fn check_same(migrations: &Migrations, records: &[Record]) -> Result<(), MigrateError> {
    for record in records.iter().filter(|it| it.state != State::Reverted) {
        let Some(migration) = migrations.get(record.version) else {
            continue;
        };
        let now = migration.checksum();
        if now != record.checksum {
            let path = migrations.path(record.version);
            return Err(MigrateError::Changed(Box::new(ChangedMigration {
                version: record.version,
                id: migration.id.clone(),
                place: path.map_or(String::new(), |path| format!(" ({})", path.display())),
                now,
                ran_id: record.id.clone(),
                ran: record.checksum.clone(),
                at: record.begun,
            })));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use partita_client::DateTime;

    fn migration(version: u64) -> Migration {
        let migration = Migration::new(version, format!("m{version}")).create_table("tab");
        if version == 4 {
            return migration;
        }
        migration.down(|down| down.delete_table("tab"))
    }

    fn migrations(versions: &[u64]) -> Migrations {
        Migrations::new(versions.iter().map(|version| migration(*version))).unwrap()
    }

    fn record(version: u64, state: State) -> Record {
        let migration = migration(version);
        Record {
            version,
            id: migration.id.clone(),
            description: String::new(),
            checksum: migration.checksum(),
            state,
            steps_done: 0,
            steps: 1,
            begun: DateTime::UNIX_EPOCH,
            ended: None,
            who: String::new(),
            failure: None,
            in_doubt: false,
            progress: super::super::super::record::Progress::default(),
            etag: None,
        }
    }

    fn records(states: &[(u64, State)]) -> Vec<Record> {
        states
            .iter()
            .map(|(version, state)| record(*version, *state))
            .collect()
    }

    fn versions(planned: Result<Vec<Planned<'_>>, MigrateError>) -> Result<Vec<u64>, String> {
        let planned = planned.map_err(|error| error.to_string())?;
        Ok(planned
            .iter()
            .map(|planned| planned.migration.version)
            .collect())
    }

    use State::{Applied, Applying, Reverted, Reverting};

    #[test]
    fn up_runs_missing_migrations_in_order() {
        let all = migrations(&[3, 1, 2]);
        for (ran, to, expected) in [
            (vec![], None, vec![1, 2, 3]),
            (vec![], Some(2), vec![1, 2]),
            (vec![(1, Applied)], None, vec![2, 3]),
            (vec![(1, Applied), (2, Applying)], None, vec![2, 3]),
            (vec![(1, Applied), (2, Reverted)], None, vec![2, 3]),
            (vec![(1, Applied), (2, Applied), (3, Applied)], None, vec![]),
            // The definition of migration 9 is missing.
            (
                vec![(1, Applied), (2, Applied), (3, Applied), (9, Applied)],
                None,
                vec![],
            ),
        ] {
            let records = records(&ran);
            let planned = up(&all, &records, to);
            assert_eq!(versions(planned).unwrap(), expected, "{ran:?}");
        }
    }

    #[test]
    fn down_reverts_the_newest_first() {
        let all = migrations(&[1, 2, 3]);
        for (ran, to, expected) in [
            (vec![], None, vec![]),
            (vec![(1, Applied), (2, Applied)], None, vec![2]),
            (vec![(1, Applied), (2, Reverting)], None, vec![2]),
            (vec![(1, Applied), (2, Reverted)], None, vec![1]),
            (
                vec![(1, Applied), (2, Applied), (3, Applied)],
                Some(1),
                vec![3, 2],
            ),
            (vec![(1, Applied), (2, Reverting)], Some(0), vec![2, 1]),
        ] {
            let records = records(&ran);
            let planned = down(&all, &records, to);
            assert_eq!(versions(planned).unwrap(), expected, "{ran:?}");
        }
    }

    #[test]
    fn impossible_plans_are_refused() {
        let mut changed = record(1, Applied);
        changed.checksum = migration(2).checksum();
        let short = changed.checksum.short().to_owned();
        let all = migrations(&[1, 2, 4]);
        for (planned, expected) in [
            (
                up(&all, &[changed.clone()], None),
                format!(
                    "migration 1 \"m1\" has changed since it ran: its checksum is now {}; \"m1\" ran at 1970-01-01T00:00:00Z with checksum {short}",
                    migration(1).checksum().short()
                ),
            ),
            (
                down(&all, &[changed], None),
                "has changed since it ran".to_owned(),
            ),
            (
                up(&all, &records(&[(1, Applied), (4, Applied)]), None),
                "migration 2 \"m2\" is not applied, but the later version 4 is".to_owned(),
            ),
            (
                up(&all, &records(&[(2, Applying)]), None),
                "migration 1 \"m1\" is not applied, but the later version 2 is".to_owned(),
            ),
            (
                up(&all, &records(&[(1, Reverting)]), None),
                "stopped while reverting: finish it with down first".to_owned(),
            ),
            (
                down(&all, &records(&[(1, Applying)]), None),
                "stopped while applying: finish it with up first".to_owned(),
            ),
            (
                up(&all, &records(&[(3, Applying)]), None),
                "migration 3 \"m3\" was applied, but its definition is missing".to_owned(),
            ),
            (
                down(&all, &records(&[(1, Applied), (3, Applied)]), None),
                "migration 3 \"m3\" was applied, but its definition is missing".to_owned(),
            ),
            // The error is reported before any migration is reverted.
            (
                down(
                    &all,
                    &records(&[(1, Applied), (2, Applied), (4, Applied)]),
                    Some(0),
                ),
                "migration 4 \"m4\" cannot be reverted: it has no down steps".to_owned(),
            ),
        ] {
            let refused = versions(planned).unwrap_err();
            assert!(refused.contains(&expected), "{refused}");
        }
    }
}
