//! Looks at the target table instead of writing to it: which rows a dry run would write.

use super::Written;
use super::batches::Batch;
use crate::transfer::TransferError;
use partita_bulk::{Mode, WriteError, rows_between};
use partita_client::{Entity, TableClient};
use std::collections::HashSet;

/// Counts the rows of a batch that a write would write, skip and change.
///
/// # Errors
/// [`WriteError::Exists`] if the write would fail, [`TransferError::Target`].
pub(super) async fn look(
    table: &TableClient,
    mode: Mode,
    batch: Batch,
) -> Result<Written, TransferError> {
    let Batch { rows, receipt, .. } = batch;
    let found = existing(table, &rows).await;
    let found = found.map_err(|error| TransferError::Target(Box::new(error)))?;
    let exists = |row: &&Entity| found.contains(row.row_key());
    let count = |rows: usize| rows as u64;
    let (mut skipped, mut changed) = (0, 0);
    match mode {
        Mode::Insert => {
            if let Some(row) = rows.iter().find(exists) {
                return Err(WriteError::exists(row).into());
            }
        }
        Mode::Merge | Mode::Replace => changed = count(found.len()),
        Mode::SkipExisting => skipped = count(found.len()),
    }
    Ok(Written {
        receipt,
        written: count(rows.len()) - skipped,
        skipped,
        changed,
    })
}

/// The RowKeys of the rows, which are of one partition, that the table has.
async fn existing(table: &TableClient, rows: &[Entity]) -> partita_client::Result<HashSet<String>> {
    if let Some(found) = rows_between(table, rows, &["RowKey"]).await? {
        let keys = rows.iter().map(Entity::row_key);
        let keys = keys.filter(|key| found.contains_key(*key));
        return Ok(keys.map(str::to_owned).collect());
    }
    let mut found = HashSet::new();
    for row in rows {
        let there = table.get_entity_if_exists(row.partition_key(), row.row_key());
        if there.await?.is_some() {
            found.insert(row.row_key().to_owned());
        }
    }
    Ok(found)
}
