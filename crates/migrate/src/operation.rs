//! [`Operation`]: a step of a migration.
use super::{PropertyChange, Template};
use partita_bulk::batches;
use partita_client::{Entity, UpdateMode};
use partita_model::{TableName, check_key, check_property_name};
use std::collections::HashSet;
use std::fmt;

/// A step of a migration.
#[derive(Debug, Clone, PartialEq)]
pub enum Operation {
    /// Creates a table, which must not exist.
    CreateTable {
        /// The name of the table.
        table: String,
    },
    /// Deletes an existing table with all its rows.
    DeleteTable {
        /// The name of the table.
        table: String,
    },
    /// Renames a table: copies its rows, compares them, and deletes the old table.
    RenameTable {
        /// The old name.
        from: String,
        /// The new name. No table with this name may exist.
        to: String,
    },
    /// Copies all rows of a table into a new one, and compares the two tables.
    CopyTable {
        /// The name of the table.
        from: String,
        /// The name of the new table, which must not exist.
        to: String,
    },
    /// Writes rows.
    Write(WriteRows),
    /// Deletes rows. A row that does not exist is not an error.
    Delete {
        /// The name of the table.
        table: String,
        /// The rows to delete.
        rows: RowSelection,
    },
    /// Changes rows, in place or while copying them into another table.
    Transform(Transform),
}

/// Rows to write. [`WriteRows::insert`] gives default values for the fields.
#[derive(Debug, Clone, PartialEq)]
pub struct WriteRows {
    /// The name of the table.
    pub table: String,
    /// The rows. Each key may occur only once.
    pub rows: Vec<Entity>,
    /// How to update existing rows; `None` if an existing row is an error.
    pub update: Option<UpdateMode>,
    /// Whether to create the table if it does not exist.
    pub create_table: bool,
}

/// The rows to delete.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RowSelection {
    /// The rows with these keys, each a PartitionKey and a RowKey.
    Keys(Vec<(String, String)>),
    /// All rows of the partition with this key.
    Partition(String),
    /// All rows of the table.
    All,
}

/// Changes of rows. [`Transform::of`] gives default values for the fields.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Transform {
    /// The table to read.
    pub table: String,
    /// The table to write, created if it does not exist; `None` to change rows in place. New keys need another table:
    /// if a row moved within its table, the scan could read it again.
    pub to: Option<String>,
    /// The OData filter that selects the rows; `None` for all rows.
    pub filter: Option<String>,
    /// The changes of the properties, in the order in which they are applied.
    pub changes: Vec<PropertyChange>,
    /// The new PartitionKey; `None` keeps the row's PartitionKey.
    pub partition_key: Option<Template>,
    /// The new RowKey; `None` keeps the row's RowKey.
    pub row_key: Option<Template>,
}

impl WriteRows {
    /// Inserts rows, which must not exist, into an existing table.
    pub fn insert(table: impl Into<String>, rows: impl IntoIterator<Item = Entity>) -> Self {
        Self {
            table: table.into(),
            rows: rows.into_iter().collect(),
            update: None,
            create_table: false,
        }
    }

    fn verb(&self) -> &'static str {
        self.update.map_or("insert", |_| "upsert")
    }
}

impl Transform {
    /// A transform of all rows of a table in place, without changes.
    pub fn of(table: impl Into<String>) -> Self {
        Self {
            table: table.into(),
            ..Self::default()
        }
    }
}

impl Operation {
    /// The name of the operation in migration files.
    pub fn name(&self) -> &'static str {
        match self {
            Self::CreateTable { .. } => "create_table",
            Self::DeleteTable { .. } => "delete_table",
            Self::RenameTable { .. } => "rename_table",
            Self::CopyTable { .. } => "copy_table",
            Self::Write(write) => write.verb(),
            Self::Delete {
                rows: RowSelection::All,
                ..
            } => "clear",
            Self::Delete { .. } => "delete",
            Self::Transform(_) => "transform",
        }
    }

    /// Whether the operation deletes or overwrites data that cannot be recovered.
    pub fn destroys(&self) -> bool {
        match self {
            Self::CreateTable { .. } | Self::CopyTable { .. } => false,
            Self::DeleteTable { .. } | Self::RenameTable { .. } | Self::Delete { .. } => true,
            Self::Write(write) => write.update.is_some(),
            Self::Transform(transform) => transform.to.is_none(),
        }
    }

    /// The number of requests if none fails; `None` if it depends on the rows of a table.
    pub fn requests(&self) -> Option<u64> {
        let transactions = |rows: Vec<Entity>| batches(rows).len() as u64;
        match self {
            Self::CreateTable { .. } | Self::DeleteTable { .. } => Some(1),
            Self::Write(write) => {
                Some(transactions(write.rows.clone()) + u64::from(write.create_table))
            }
            Self::Delete {
                rows: RowSelection::Keys(keys),
                ..
            } => Some(transactions(rows_of(keys))),
            Self::Delete { .. }
            | Self::RenameTable { .. }
            | Self::CopyTable { .. }
            | Self::Transform(_) => None,
        }
    }

    /// Checks the operation without reading tables.
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
            Self::Write(write) => check_rows(&write.rows),
            Self::Delete {
                rows: RowSelection::Keys(keys),
                ..
            } => check_rows(&rows_of(keys)),
            Self::Transform(transform) => transform.check(),
            _ => Ok(()),
        }
    }

    fn tables(&self) -> Vec<&str> {
        match self {
            Self::CreateTable { table }
            | Self::DeleteTable { table }
            | Self::Write(WriteRows { table, .. })
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
            return Err("new keys need another table; set the key `to`".to_owned());
        }
        if to.is_none() && self.changes.is_empty() {
            return Err("no change is given; set rename, retype, drop or add".to_owned());
        }
        self.changes
            .iter()
            .flat_map(PropertyChange::names)
            .try_for_each(check_name)
    }
}

/// Checks the name of a property.
pub(super) fn check_name(name: &str) -> Result<(), String> {
    if matches!(name, "PartitionKey" | "RowKey" | "Timestamp") {
        return Err(format!("{name} is not a property that can be set"));
    }
    check_property_name(name).map_err(|_| format!("{name:?} is not a valid property name"))
}

fn rows_of(keys: &[(String, String)]) -> Vec<Entity> {
    let rows = keys
        .iter()
        .map(|(partition, row)| Entity::new(partition, row));
    rows.collect()
}

fn check_rows(rows: &[Entity]) -> Result<(), String> {
    if rows.is_empty() {
        return Err("rows is empty".to_owned());
    }
    let mut keys = HashSet::new();
    for row in rows {
        let (partition, key) = (row.partition_key(), row.row_key());
        for key in [partition, key] {
            check_key(key).map_err(|error| format!("invalid key {key:?}: {error}"))?;
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

/// A description such as `insert 3 rows into people`.
impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let many = |rows: usize| if rows == 1 { "row" } else { "rows" };
        match self {
            Self::CreateTable { table } => write!(f, "create table {table}"),
            Self::DeleteTable { table } => write!(f, "delete table {table}"),
            Self::RenameTable { from, to } => write!(f, "rename table {from} to {to}"),
            Self::CopyTable { from, to } => write!(f, "copy table {from} to {to}"),
            Self::Write(write) => {
                let (verb, rows, table) = (write.verb(), write.rows.len(), &write.table);
                write!(f, "{verb} {rows} {} into {table}", many(rows))
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
