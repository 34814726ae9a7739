//! A versioned change of tables.

use super::checksum::{Checksum, Digest};
use super::{Operation, RowSelection, Transform};
use partita_client::{Entity, UpdateMode};
use thiserror::Error;

/// Most steps of a migration, each way.
const STEPS_MAX: usize = 1000;
/// Longest id, in characters.
const ID_CHARS_MAX: usize = 128;

/// A versioned change of tables: steps that are done once, in their order.
///
/// ```
/// use partita_client::Entity;
/// use partita_tools::migrate::Migration;
///
/// let mut keiko = Entity::new("O'Brien", "Keiko");
/// keiko.insert("Age", 39);
/// let migration = Migration::new(1, "crew")
///     .description("the people of the station")
///     .create_table("crew")
///     .insert("crew", [keiko])
///     .down(|down| down.delete_table("crew"));
/// assert_eq!(migration.up().operations().len(), 2);
/// assert!(migration.check().is_ok());
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Migration {
    version: u64,
    id: String,
    description: String,
    up: Steps,
    down: Option<Steps>,
}

/// Steps in their order: those of one way of a migration.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Steps(Vec<Operation>);

/// A migration that cannot run, whatever there is in the tables.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("migration {version} {id:?}: {what}")]
pub struct InvalidMigration {
    /// Its version.
    pub version: u64,
    /// Its id.
    pub id: String,
    /// What is wrong.
    pub what: String,
}

/// Adds the methods that add a step, to a migration and to steps alone.
macro_rules! step_methods {
    ($($field:tt)+) => {
        /// Any step.
        #[must_use]
        pub fn step(mut self, operation: Operation) -> Self {
            self.$($field)+.push(operation);
            self
        }

        /// Makes a table that is not there yet.
        #[must_use]
        pub fn create_table(self, table: impl Into<String>) -> Self {
            self.step(Operation::CreateTable { table: table.into() })
        }

        /// Drops a table that is there, with all its rows.
        #[must_use]
        pub fn delete_table(self, table: impl Into<String>) -> Self {
            self.step(Operation::DeleteTable { table: table.into() })
        }

        /// Gives a table another name.
        #[must_use]
        pub fn rename_table(self, from: impl Into<String>, to: impl Into<String>) -> Self {
            self.step(Operation::RenameTable { from: from.into(), to: to.into() })
        }

        /// Copies all rows of a table into a new one.
        #[must_use]
        pub fn copy_table(self, from: impl Into<String>, to: impl Into<String>) -> Self {
            self.step(Operation::CopyTable { from: from.into(), to: to.into() })
        }

        /// Inserts rows that are not there yet, into a table that is there.
        #[must_use]
        pub fn insert(self, table: impl Into<String>, rows: impl IntoIterator<Item = Entity>) -> Self {
            let rows = rows.into_iter().collect();
            self.step(Operation::Insert { table: table.into(), rows, create_table: false })
        }

        /// Inserts rows that are not there yet; the table is made if it is not there.
        #[must_use]
        pub fn create_and_insert(self, table: impl Into<String>, rows: impl IntoIterator<Item = Entity>) -> Self {
            let rows = rows.into_iter().collect();
            self.step(Operation::Insert { table: table.into(), rows, create_table: true })
        }

        /// Inserts rows, or changes them where they are there.
        #[must_use]
        pub fn upsert(self, table: impl Into<String>, rows: impl IntoIterator<Item = Entity>, mode: UpdateMode) -> Self {
            let rows = rows.into_iter().collect();
            self.step(Operation::Upsert { table: table.into(), rows, mode, create_table: false })
        }

        /// Deletes these rows: only their keys count.
        #[must_use]
        pub fn delete_entities(self, table: impl Into<String>, rows: impl IntoIterator<Item = Entity>) -> Self {
            let keys = rows.into_iter().map(|row| (row.partition_key().to_owned(), row.row_key().to_owned()));
            let rows = RowSelection::Keys(keys.collect());
            self.step(Operation::Delete { table: table.into(), rows })
        }

        /// Deletes the row with these keys.
        #[must_use]
        pub fn delete_row(self, table: impl Into<String>, partition_key: impl Into<String>, row_key: impl Into<String>) -> Self {
            let rows = RowSelection::Keys(vec![(partition_key.into(), row_key.into())]);
            self.step(Operation::Delete { table: table.into(), rows })
        }

        /// Deletes all rows of a partition.
        #[must_use]
        pub fn delete_partition(self, table: impl Into<String>, partition_key: impl Into<String>) -> Self {
            let rows = RowSelection::Partition(partition_key.into());
            self.step(Operation::Delete { table: table.into(), rows })
        }

        /// Deletes all rows of a table, which stays.
        #[must_use]
        pub fn clear(self, table: impl Into<String>) -> Self {
            self.step(Operation::Delete { table: table.into(), rows: RowSelection::All })
        }

        /// Changes rows, in their table or on their way into another one.
        #[must_use]
        pub fn transform(self, transform: Transform) -> Self {
            self.step(Operation::Transform(transform))
        }
    };
}

impl Migration {
    /// A migration without steps. Versions are from 1 on; the id names it for people.
    #[must_use]
    pub fn new(version: u64, id: impl Into<String>) -> Self {
        Self {
            version,
            id: id.into(),
            description: String::new(),
            up: Steps::default(),
            down: None,
        }
    }

    /// Says what it is for. This is no part of what its checksum is over.
    #[must_use]
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.description = description.into();
        self
    }

    step_methods!(up.0);

    /// Declares how it is taken back: other steps, in the order in which they are to be done.
    #[must_use]
    pub fn down(mut self, down: impl FnOnce(Steps) -> Steps) -> Self {
        self.down = Some(down(Steps::default()));
        self
    }

    /// Its version: where it stands in the order.
    #[must_use]
    pub fn version(&self) -> u64 {
        self.version
    }

    /// Its id.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// What it is for.
    #[must_use]
    pub fn about(&self) -> &str {
        &self.description
    }

    /// What it does.
    #[must_use]
    pub fn up(&self) -> &Steps {
        &self.up
    }

    /// How it is taken back, if it declares that.
    #[must_use]
    pub fn reverse(&self) -> Option<&Steps> {
        self.down.as_ref()
    }

    /// What it does, as a fingerprint: of version, id and steps, both ways. Layout, comments and description do not count.
    #[must_use]
    pub fn checksum(&self) -> Checksum {
        let mut digest = Digest::new(self.version, &self.id);
        digest.steps("up", self.up.operations());
        if let Some(down) = &self.down {
            digest.steps("down", down.operations());
        }
        digest.finish()
    }

    /// Whether it can run, as far as that can be said without the tables.
    ///
    /// # Errors
    /// [`InvalidMigration`].
    pub fn check(&self) -> Result<(), InvalidMigration> {
        let wrong = |what: String| InvalidMigration {
            version: self.version,
            id: self.id.clone(),
            what,
        };
        check_head(self.version, &self.id).map_err(wrong)?;
        let ways = [("up", Some(&self.up)), ("down", self.down.as_ref())];
        for (way, steps) in ways {
            let Some(steps) = steps else { continue };
            if steps.0.is_empty() || steps.0.len() > STEPS_MAX {
                return Err(wrong(format!(
                    "{way} has no step, or more than {STEPS_MAX}"
                )));
            }
            for (index, operation) in steps.0.iter().enumerate() {
                operation
                    .check()
                    .map_err(|what| wrong(format!("step {} of {way}: {what}", index + 1)))?;
            }
        }
        Ok(())
    }
}

/// Whether version and id are such.
pub(super) fn check_head(version: u64, id: &str) -> Result<(), String> {
    if version == 0 || i64::try_from(version).is_err() {
        return Err("a version is from 1 to 9223372036854775807".to_owned());
    }
    if id.is_empty() || id.chars().count() > ID_CHARS_MAX || id.contains(char::is_control) {
        return Err(format!(
            "an id has 1 to {ID_CHARS_MAX} characters, none of them for control"
        ));
    }
    Ok(())
}

impl Steps {
    step_methods!(0);

    /// The steps.
    #[must_use]
    pub fn operations(&self) -> &[Operation] {
        &self.0
    }
}
