//! [`Writer`]: writes a batch. Each mode begins with one transaction:
//!
//! | mode | transaction | if a row already exists |
//! | --- | --- | --- |
//! | merge, replace | upserts | – |
//! | insert | inserts | fails, unless an earlier write may have happened: then existing rows must be equal, and the others are inserted |
//! | skip existing | inserts | skips existing rows, and inserts the others |
//!
//! To insert only missing rows, the writer reads the existing ones and inserts the others in one transaction. If that
//! also fails because a row exists, each row is inserted separately.
//!
//! The client retries failures, and recognises the success of its own earlier attempt. If the client fails with an
//! unknown outcome, this module repeats the write. Upserts are repeated unchanged; for inserts, the repetition takes
//! into account that the earlier write may have happened.

use crate::differences;
use partita_client::{
    Entity, ErrorCode, Filter, Outcome, QueryOptions, TableClient, TransactionAction, UpdateMode,
};
use partita_model::compare_utf16;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use thiserror::Error;

/// Maximum number of attempts of a write with an unknown outcome, including the first.
const ATTEMPTS: usize = 3;

/// What to do with a row that already exists in the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// Report an error.
    #[default]
    Insert,
    /// Update the given properties and keep the others.
    Merge,
    /// Replace all properties.
    Replace,
    /// Skip the row.
    SkipExisting,
}

/// Why rows cannot be written.
#[derive(Debug, Error)]
pub enum WriteError {
    /// The table cannot be written. Writing again may succeed, unless the service refuses the row.
    #[error("cannot write the row with PartitionKey {partition_key:?} and RowKey {row_key:?}")]
    Failed {
        /// PartitionKey of the failed row; of the first row of its batch if the service named none.
        partition_key: String,
        /// RowKey of that row.
        row_key: String,
        /// The client's error, with the outcome of the write.
        source: Box<partita_client::Error>,
    },
    /// A row to insert already exists. Use another [`Mode`].
    #[error("the row with PartitionKey {partition_key:?} and RowKey {row_key:?} already exists")]
    Exists {
        /// PartitionKey of the row.
        partition_key: String,
        /// RowKey of the row.
        row_key: String,
    },
}

impl WriteError {
    /// The error of a row to insert that already exists.
    pub fn exists(row: &Entity) -> Self {
        Self::Exists {
            partition_key: row.partition_key().to_owned(),
            row_key: row.row_key().to_owned(),
        }
    }

    /// Whether the server may have executed the failed write.
    pub fn may_have_happened(&self) -> bool {
        matches!(self, Self::Failed { source, .. } if source.outcome() == Outcome::MayHaveHappened)
    }
}

/// Writes batches to a table.
#[derive(Debug)]
pub struct Writer {
    /// The table to write.
    pub table: TableClient,
    /// What to do with rows that already exist.
    pub mode: Mode,
    /// Whether an earlier run may have written the rows.
    pub is_resumed: bool,
}

/// Why an attempt did not write rows.
enum Refused {
    /// The row at this index already exists.
    Exists(usize),
    Failed(Box<partita_client::Error>),
}

impl From<partita_client::Error> for Refused {
    fn from(error: partita_client::Error) -> Self {
        Self::Failed(Box::new(error))
    }
}

impl Writer {
    /// Writes rows of one partition. Each key may occur only once, and the rows must fit into one transaction. Returns
    /// how many rows were written. If the future is dropped, the write may have happened.
    ///
    /// # Errors
    /// [`WriteError`].
    pub async fn write_rows(&self, rows: &[Entity]) -> Result<usize, WriteError> {
        let table = &self.table;
        let mut may_have_happened = self.is_resumed;
        let mut attempt = 1;
        loop {
            let written = match self.mode {
                Mode::Merge => upsert(table, rows, UpdateMode::Merge).await,
                Mode::Replace => upsert(table, rows, UpdateMode::Replace).await,
                Mode::Insert if !may_have_happened => insert_at_once(table, rows).await,
                Mode::Insert | Mode::SkipExisting => insert_missing(table, rows, self.mode).await,
            };
            let refused = match written {
                Ok(done) => return Ok(done),
                Err(refused) => refused,
            };
            match refused {
                Refused::Failed(error)
                    if error.outcome() == Outcome::MayHaveHappened && attempt < ATTEMPTS =>
                {
                    may_have_happened = true;
                    attempt += 1;
                }
                refused => return Err(refused.of(rows)),
            }
        }
    }
}

impl Refused {
    /// Converts the failure to an error that contains the keys of the failed row.
    fn of(self, rows: &[Entity]) -> WriteError {
        let at = match &self {
            Self::Exists(at) => *at,
            Self::Failed(error) => error.operation_index().unwrap_or_default(),
        };
        let none = Entity::default();
        let row = rows.get(at).or(rows.first()).unwrap_or(&none);
        match self {
            Self::Exists(_) => WriteError::exists(row),
            Self::Failed(source) => WriteError::Failed {
                partition_key: row.partition_key().to_owned(),
                row_key: row.row_key().to_owned(),
                source,
            },
        }
    }
}

async fn upsert(table: &TableClient, rows: &[Entity], mode: UpdateMode) -> Result<usize, Refused> {
    if let [row] = rows {
        table.upsert_entity(row, mode).await?;
    } else {
        let action = |row: &Entity| TransactionAction::Upsert(row.clone(), mode);
        let actions: Vec<_> = rows.iter().map(action).collect();
        table.submit_transaction(&actions).await?;
    }
    Ok(rows.len())
}

/// Inserts all rows in one transaction, or none. Returns how many were written.
async fn insert_at_once(table: &TableClient, rows: &[Entity]) -> Result<usize, Refused> {
    let inserted = match rows {
        [] => Ok(()),
        [row] => table.create_entity(row).await.map(drop),
        rows => {
            let actions: Vec<_> = rows
                .iter()
                .cloned()
                .map(TransactionAction::Create)
                .collect();
            table.submit_transaction(&actions).await.map(drop)
        }
    };
    match inserted {
        Ok(()) => Ok(rows.len()),
        Err(error) if error.code() == Some(ErrorCode::EntityAlreadyExists) => {
            Err(Refused::Exists(error.operation_index().unwrap_or_default()))
        }
        Err(error) => Err(error.into()),
    }
}

/// Inserts the rows that do not exist, and returns how many were written. In [`Mode::SkipExisting`], existing rows are
/// skipped. In [`Mode::Insert`], an existing row must be equal: then an earlier attempt wrote it, and it counts as
/// written.
async fn insert_missing(
    table: &TableClient,
    rows: &[Entity],
    mode: Mode,
) -> Result<usize, Refused> {
    let skips = mode == Mode::SkipExisting;
    match insert_at_once(table, rows).await {
        Err(Refused::Exists(_)) if skips && rows.len() == 1 => return Ok(0),
        Err(Refused::Exists(_)) => {}
        inserted => return inserted,
    }
    let is_equal = |row: &Entity, found: &Entity| differences(row, found).is_empty();
    let select: &[&str] = if skips { &["RowKey"] } else { &[] };
    if let Some(there) = rows_between(table, rows, select).await? {
        let mut missing = Vec::new();
        for (at, row) in rows.iter().enumerate() {
            match there.get(row.row_key()) {
                None => missing.push(row.clone()),
                Some(found) if skips || is_equal(row, found) => {}
                Some(_) => return Err(Refused::Exists(at)),
            }
        }
        match insert_at_once(table, &missing).await {
            // Another client has inserted a row in the meantime, or an attempt succeeded but its answer was lost.
            Err(Refused::Exists(_)) => {}
            inserted if skips => return inserted,
            inserted => return inserted.map(|_| rows.len()),
        }
    }
    let mut written = 0;
    for (at, row) in rows.iter().enumerate() {
        match insert_at_once(table, std::slice::from_ref(row)).await {
            Err(Refused::Exists(_)) if skips => continue,
            Err(Refused::Exists(_)) => {
                let keys = (row.partition_key(), row.row_key());
                let found = table.get_entity_if_exists(keys.0, keys.1).await?;
                if !found.is_some_and(|found| is_equal(row, &found)) {
                    return Err(Refused::Exists(at));
                }
            }
            inserted => drop(inserted?),
        }
        written += 1;
    }
    Ok(written)
}

/// Reads the stored rows from the lowest to the highest RowKey of these rows, which are of one partition. Returns them
/// by RowKey; `None` if they exceed a page.
///
/// # Errors
/// The errors of the client.
pub async fn rows_between(
    table: &TableClient,
    rows: &[Entity],
    select: &[&str],
) -> partita_client::Result<Option<HashMap<String, Entity>>> {
    let mut keys: Vec<&str> = rows.iter().map(Entity::row_key).collect();
    keys.sort_by(|a, b| compare_utf16(a, b));
    let (Some(row), Some(first), Some(last)) = (rows.first(), keys.first(), keys.last()) else {
        return Ok(None);
    };
    let partition = Filter::pk().eq(row.partition_key());
    let between = partition
        .and(Filter::rk().ge(*first))
        .and(Filter::rk().le(*last));
    let select = select.iter().copied();
    let options = QueryOptions::new().filter(between).select(select);
    let page = table.query_page(&options, None).await?;
    if page.continuation().is_some() {
        return Ok(None);
    }
    let entities = page.entities()?.into_iter();
    Ok(Some(
        entities
            .map(|entity| (entity.row_key().to_owned(), entity))
            .collect(),
    ))
}
