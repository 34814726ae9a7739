//! [`Migration`]: a versioned change of tables, and the methods that build it.

use super::checksum::{Checksum, Digest};
use super::{Operation, RowSelection, Transform, WriteRows};
use partita_client::{Entity, UpdateMode};
use thiserror::Error;

/// Maximum number of steps of a migration in each direction.
const STEPS_MAX: usize = 1000;
/// Longest id, in characters.
const ID_CHARS_MAX: usize = 128;

/// A versioned change of tables: steps that run once, in their order.
///
/// ```
/// use partita_client::Entity;
/// use partita_migrate::Migration;
///
/// let mut keiko = Entity::new("O'Brien", "Keiko");
/// keiko.insert("Age", 39);
/// let migration = Migration::new(1, "crew")
///     .description("the people of the station")
///     .create_table("crew")
///     .insert("crew", [keiko])
///     .down(|down| down.delete_table("crew"));
/// assert_eq!(migration.up.operations().len(), 2);
/// assert!(migration.check().is_ok());
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Migration {
    /// The version. Migrations run in the order of their versions.
    pub version: u64,
    /// The name of the migration, which no other migration has.
    pub id: String,
    /// The purpose of the migration, for people. The checksum does not cover it.
    pub description: String,
    /// The steps that apply the migration.
    pub up: Steps,
    /// The steps that revert the migration; `None` if it cannot be reverted.
    pub down: Option<Steps>,
}

/// The steps of one direction of a migration, in their order.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Steps(Vec<Operation>);

/// An invalid migration.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("migration {version} {id:?}: {what}")]
pub struct InvalidMigration {
    /// The version of the migration.
    pub version: u64,
    /// The id of the migration.
    pub id: String,
    /// Why the migration is invalid.
    pub what: String,
}

/// The methods of [`Migration`] and [`Steps`] that add a step.
macro_rules! step_methods {
    ($($field:tt)+) => {
        /// Adds a step.
        #[must_use]
        pub fn step(mut self, operation: Operation) -> Self {
            self.$($field)+.push(operation);
            self
        }

        /// Creates a table, which must not exist.
        #[must_use]
        pub fn create_table(self, table: impl Into<String>) -> Self {
            self.step(Operation::CreateTable { table: table.into() })
        }

        /// Deletes an existing table with all its rows.
        #[must_use]
        pub fn delete_table(self, table: impl Into<String>) -> Self {
            self.step(Operation::DeleteTable { table: table.into() })
        }

        /// Renames a table.
        #[must_use]
        pub fn rename_table(self, from: impl Into<String>, to: impl Into<String>) -> Self {
            self.step(Operation::RenameTable { from: from.into(), to: to.into() })
        }

        /// Copies all rows of a table into a new one.
        #[must_use]
        pub fn copy_table(self, from: impl Into<String>, to: impl Into<String>) -> Self {
            self.step(Operation::CopyTable { from: from.into(), to: to.into() })
        }

        /// Inserts rows, which must not exist, into an existing table.
        #[must_use]
        pub fn insert(self, table: impl Into<String>, rows: impl IntoIterator<Item = Entity>) -> Self {
            self.step(Operation::Write(WriteRows::insert(table, rows)))
        }

        /// Inserts rows, which must not exist; creates the table if it does not exist.
        #[must_use]
        pub fn create_and_insert(self, table: impl Into<String>, rows: impl IntoIterator<Item = Entity>) -> Self {
            let insert = WriteRows::insert(table, rows);
            self.step(Operation::Write(WriteRows { create_table: true, ..insert }))
        }

        /// Inserts rows, or updates those that exist.
        #[must_use]
        pub fn upsert(self, table: impl Into<String>, rows: impl IntoIterator<Item = Entity>, mode: UpdateMode) -> Self {
            let insert = WriteRows::insert(table, rows);
            self.step(Operation::Write(WriteRows { update: Some(mode), ..insert }))
        }

        /// Deletes rows by their keys.
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

        /// Deletes all rows of a table, but not the table.
        #[must_use]
        pub fn clear(self, table: impl Into<String>) -> Self {
            self.step(Operation::Delete { table: table.into(), rows: RowSelection::All })
        }

        /// Changes rows, in place or while copying them into another table.
        #[must_use]
        pub fn transform(self, transform: Transform) -> Self {
            self.step(Operation::Transform(transform))
        }
    };
}

impl Migration {
    /// A migration without steps. Versions begin at 1. The id is the name of the migration.
    pub fn new(version: u64, id: impl Into<String>) -> Self {
        Self {
            version,
            id: id.into(),
            description: String::new(),
            up: Steps::default(),
            down: None,
        }
    }

    /// Sets the description. The checksum does not cover the description.
    #[must_use]
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.description = description.into();
        self
    }

    step_methods!(up.0);

    /// Sets the steps that revert the migration, in the order in which they run.
    #[must_use]
    pub fn down(mut self, down: impl FnOnce(Steps) -> Steps) -> Self {
        self.down = Some(down(Steps::default()));
        self
    }

    /// The checksum of version, id, and the steps of both directions.
    pub fn checksum(&self) -> Checksum {
        let mut digest = Digest::new(self.version, &self.id);
        digest.steps("up", self.up.operations());
        if let Some(down) = &self.down {
            digest.steps("down", down.operations());
        }
        digest.finish()
    }

    /// Checks the migration without reading tables.
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
        let down = self.down.as_ref().map(|down| ("down", down));
        for (direction, steps) in [("up", &self.up)].into_iter().chain(down) {
            if steps.0.is_empty() || steps.0.len() > STEPS_MAX {
                return Err(wrong(format!(
                    "{direction} must have 1 to {STEPS_MAX} steps"
                )));
            }
            for (index, operation) in steps.0.iter().enumerate() {
                operation
                    .check()
                    .map_err(|what| wrong(format!("step {} of {direction}: {what}", index + 1)))?;
            }
        }
        Ok(())
    }
}

/// Checks version and id.
pub(super) fn check_head(version: u64, id: &str) -> Result<(), String> {
    if version == 0 || i64::try_from(version).is_err() {
        return Err("the version must be from 1 to 9223372036854775807".to_owned());
    }
    if id.is_empty() || id.chars().count() > ID_CHARS_MAX || id.contains(char::is_control) {
        return Err(format!(
            "the id must have 1 to {ID_CHARS_MAX} characters, and no control characters"
        ));
    }
    Ok(())
}

impl Steps {
    step_methods!(0);

    /// The steps.
    pub fn operations(&self) -> &[Operation] {
        &self.0
    }
}
