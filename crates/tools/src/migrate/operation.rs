//! The steps of a migration.

use super::{PropertyChange, Template};
use crate::batching::batches;
use partita_client::{Entity, UpdateMode};
use partita_model::{TableName, check_key, check_property_name};
use std::collections::HashSet;
use std::fmt;

/// A step of a migration.
#[derive(Debug, Clone, PartialEq)]
pub enum Operation {
    /// Makes a table that is not there yet.
    CreateTable {
        /// Its name.
        table: String,
    },
    /// Drops a table that is there, with all its rows.
    DeleteTable {
        /// Its name.
        table: String,
    },
    /// Gives a table another name: its rows are copied, compared, and the old table is dropped.
    RenameTable {
        /// The table.
        from: String,
        /// A table that is not there yet.
        to: String,
    },
    /// Copies all rows of a table into a new one, and compares them.
    CopyTable {
        /// The table.
        from: String,
        /// A table that is not there yet.
        to: String,
    },
    /// Inserts rows that are not there yet.
    Insert {
        /// Where.
        table: String,
        /// The rows, each key once.
        rows: Vec<Entity>,
        /// Whether the table is made if it is not there.
        create_table: bool,
    },
    /// Inserts rows, or changes them where they are there.
    Upsert {
        /// Where.
        table: String,
        /// The rows, each key once.
        rows: Vec<Entity>,
        /// What happens to properties that they do not name.
        mode: UpdateMode,
        /// Whether the table is made if it is not there.
        create_table: bool,
    },
    /// Deletes rows. One that is not there is no failure.
    Delete {
        /// Where.
        table: String,
        /// Which ones.
        rows: RowSelection,
    },
    /// Changes rows, in their table or on their way into another one.
    Transform(Transform),
}

/// Which rows are deleted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RowSelection {
    /// Those with these keys: PartitionKey, RowKey.
    Keys(Vec<(String, String)>),
    /// Those of a partition.
    Partition(String),
    /// All of the table.
    All,
}

/// Changes of rows. `..Transform::of("table")` fills what is not named.
#[derive(Debug, Clone, PartialEq)]
pub struct Transform {
    /// The table whose rows are read.
    pub table: String,
    /// Where they are written; into their own table without. It is made if it is not there. New keys need it: rows that move
    /// within a table would be met again.
    pub to: Option<String>,
    /// Only rows that pass, OData.
    pub filter: Option<String>,
    /// What is done to the properties, one change after the other.
    pub changes: Vec<PropertyChange>,
    /// The new PartitionKey; that of the row without.
    pub partition_key: Option<Template>,
    /// The new RowKey.
    pub row_key: Option<Template>,
}

impl Transform {
    /// A transform of a table that changes nothing yet.
    #[must_use]
    pub fn of(table: impl Into<String>) -> Self {
        Self {
            table: table.into(),
            to: None,
            filter: None,
            changes: Vec::new(),
            partition_key: None,
            row_key: None,
        }
    }
}

impl Operation {
    /// Its name in files.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::CreateTable { .. } => "create_table",
            Self::DeleteTable { .. } => "delete_table",
            Self::RenameTable { .. } => "rename_table",
            Self::CopyTable { .. } => "copy_table",
            Self::Insert { .. } => "insert",
            Self::Upsert { .. } => "upsert",
            Self::Delete {
                rows: RowSelection::All,
                ..
            } => "clear",
            Self::Delete { .. } => "delete",
            Self::Transform(_) => "transform",
        }
    }

    /// Whether it takes away what cannot be had back: rows, tables, values.
    #[must_use]
    pub fn destroys(&self) -> bool {
        match self {
            Self::CreateTable { .. } | Self::CopyTable { .. } | Self::Insert { .. } => false,
            Self::DeleteTable { .. }
            | Self::RenameTable { .. }
            | Self::Upsert { .. }
            | Self::Delete { .. } => true,
            Self::Transform(transform) => transform.to.is_none(),
        }
    }

    /// How many requests it takes, if nothing fails; none where that depends on the rows of a table.
    #[must_use]
    pub fn requests(&self) -> Option<u64> {
        let of_rows = |rows: &[Entity], create_table: &bool| {
            Some(batches(rows.to_vec()).len() as u64 + u64::from(*create_table))
        };
        match self {
            Self::CreateTable { .. } | Self::DeleteTable { .. } => Some(1),
            Self::Insert {
                rows, create_table, ..
            }
            | Self::Upsert {
                rows, create_table, ..
            } => of_rows(rows, create_table),
            Self::Delete {
                rows: RowSelection::Keys(keys),
                ..
            } => {
                let rows = keys
                    .iter()
                    .map(|(partition, row)| Entity::new(partition, row));
                of_rows(&rows.collect::<Vec<_>>(), &false)
            }
            Self::Delete { .. }
            | Self::RenameTable { .. }
            | Self::CopyTable { .. }
            | Self::Transform(_) => None,
        }
    }

    /// What is wrong with it, whatever there is in the tables.
    pub(super) fn check(&self) -> Result<(), String> {
        for table in self.tables() {
            TableName::new(table).map_err(|_| format!("{table:?} is not a valid table name"))?;
        }
        match self {
            Self::RenameTable { from, to } | Self::CopyTable { from, to }
                if from.eq_ignore_ascii_case(to) =>
            {
                Err(format!("{from} and {to} are the same table"))
            }
            Self::Insert { rows, .. } | Self::Upsert { rows, .. } => check_rows(rows),
            Self::Delete {
                rows: RowSelection::Keys(keys),
                ..
            } => {
                let rows = keys
                    .iter()
                    .map(|(partition, row)| Entity::new(partition, row));
                check_rows(&rows.collect::<Vec<_>>())
            }
            Self::Transform(transform) => transform.check(),
            _ => Ok(()),
        }
    }

    fn tables(&self) -> Vec<&str> {
        match self {
            Self::CreateTable { table }
            | Self::DeleteTable { table }
            | Self::Insert { table, .. }
            | Self::Upsert { table, .. }
            | Self::Delete { table, .. } => vec![table],
            Self::RenameTable { from, to } | Self::CopyTable { from, to } => vec![from, to],
            Self::Transform(transform) => {
                let to = transform.to.as_deref();
                std::iter::once(&*transform.table).chain(to).collect()
            }
        }
    }
}

impl Transform {
    fn check(&self) -> Result<(), String> {
        let to = self.to.as_deref();
        if to.is_some_and(|to| to.eq_ignore_ascii_case(&self.table)) {
            return Err(format!("{} cannot be transformed into itself", self.table));
        }
        if to.is_none() && (self.partition_key.is_some() || self.row_key.is_some()) {
            return Err("new keys need another table: set to".to_owned());
        }
        if to.is_none() && self.changes.is_empty() {
            return Err("it changes nothing".to_owned());
        }
        self.changes
            .iter()
            .flat_map(PropertyChange::names)
            .try_for_each(check_name)
    }
}

/// Whether a property can have that name.
pub(super) fn check_name(name: &str) -> Result<(), String> {
    if matches!(name, "PartitionKey" | "RowKey" | "Timestamp") {
        return Err(format!("{name} is not a property that can be set"));
    }
    check_property_name(name).map_err(|_| format!("{name:?} is not a valid property name"))
}

fn check_rows(rows: &[Entity]) -> Result<(), String> {
    if rows.is_empty() {
        return Err("there are no rows".to_owned());
    }
    let mut keys = HashSet::new();
    for row in rows {
        let (partition, key) = (row.partition_key(), row.row_key());
        for key in [partition, key] {
            check_key(key).map_err(|error| format!("{key:?} as a key: {error}"))?;
        }
        for (name, _) in row.iter() {
            check_name(name)?;
        }
        if !keys.insert((partition, key)) {
            return Err(format!(
                "the row with PartitionKey {partition:?} and RowKey {key:?} is given twice"
            ));
        }
    }
    Ok(())
}

/// In words for people, such as `insert 3 rows into people`.
impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let many = |rows: usize| if rows == 1 { "row" } else { "rows" };
        match self {
            Self::CreateTable { table } => write!(f, "create table {table}"),
            Self::DeleteTable { table } => write!(f, "delete table {table}"),
            Self::RenameTable { from, to } => write!(f, "rename table {from} to {to}"),
            Self::CopyTable { from, to } => write!(f, "copy table {from} to {to}"),
            Self::Insert { table, rows, .. } => {
                write!(f, "insert {} {} into {table}", rows.len(), many(rows.len()))
            }
            Self::Upsert { table, rows, .. } => {
                write!(f, "upsert {} {} into {table}", rows.len(), many(rows.len()))
            }
            Self::Delete { table, rows } => match rows {
                RowSelection::Keys(keys) => {
                    write!(f, "delete {} {} of {table}", keys.len(), many(keys.len()))
                }
                RowSelection::Partition(key) => write!(f, "delete partition {key:?} of {table}"),
                RowSelection::All => write!(f, "clear {table}"),
            },
            Self::Transform(transform) => {
                write!(f, "transform {}", transform.table)?;
                match &transform.to {
                    Some(to) => write!(f, " into {to}"),
                    None => Ok(()),
                }
            }
        }
    }
}
