//! Changes rows in place, each exactly once, even if the run is interrupted.
//!
//! Some changes must not run twice, such as "rename a to b, then c to a". So each page of rows is recorded before it is
//! changed. The record contains the fingerprints of keys and ETags, the last key, and the scan's position before the
//! page.
//!
//! ```text
//! read a page ─▶ record it ─▶ write each row if its ETag is unchanged ─▶ the next page
//! ```
//!
//! A runner that finds such a record reads the page again. A row whose fingerprint is recorded must still be changed. A
//! row with another ETag counts as already changed, even if another client wrote it between the two runs. Rows after
//! the last recorded key are a new page.

use super::super::record::Progress;
use super::super::{RowError, StepError, Transform};
use super::step::Step;
use super::transform::changed;
use futures::future::try_join_all;
use partita_bulk::scan::{ResumeToken, compare_keys};
use partita_bulk::{batches, differences};
use partita_client::{ETag, Entity, Error, IfMatch, TableClient, TransactionAction, UpdateMode};
use sha2::{Digest as _, Sha256};
use std::collections::{HashMap, HashSet};

/// Length of a fingerprint in bytes. The probability of a collision within a page is below one in ten trillion.
const FINGERPRINT_BYTES: usize = 8;
/// Maximum number of attempts to change a row that another client writes at the same time.
const ATTEMPTS: usize = 5;

/// A page that an earlier run has recorded.
struct Journal {
    /// The last PartitionKey and RowKey of the page.
    end: (String, String),
    fingerprints: HashSet<Vec<u8>>,
}

impl Step<'_> {
    /// Changes the rows of a table.
    pub(super) async fn transform_in_place(
        &mut self,
        transform: &Transform,
    ) -> Result<(), StepError> {
        let progress = self.record.progress.clone();
        let fingerprints = progress.journal.chunks(FINGERPRINT_BYTES);
        let mut journal = progress.end.map(|end| Journal {
            end,
            fingerprints: fingerprints.map(<[u8]>::to_vec).collect(),
        });
        let table = self.migrator.service.table_client(&transform.table);
        let filter = transform.filter.clone();
        let mut scan = self.scan_all(&table, filter, progress.token)?;
        loop {
            let before = scan.token();
            let Some(batch) = scan.next().await else {
                return Ok(());
            };
            let mut rows = batch?.rows;
            if let Some(recorded) = &journal {
                let is_recorded = |row: &Entity| !is_after(row, &recorded.end);
                let later = rows.split_off(rows.iter().take_while(|row| is_recorded(row)).count());
                rows.retain(|row| recorded.fingerprints.contains(&fingerprint(row)));
                let changed = Changed::of(transform, rows)?;
                self.write_changed(transform, &table, changed).await?;
                rows = later;
                if rows.is_empty() {
                    continue;
                }
                journal = None;
            }
            let page = recorded(before, &rows);
            // If a row cannot be changed, this fails before the page is recorded. After the record, a row that the user
            // has fixed would count as already changed.
            let changed = Changed::of(transform, rows)?;
            if let Some(page) = page {
                self.reached(page).await?;
            }
            self.write_changed(transform, &table, changed).await?;
        }
    }

    async fn write_changed(
        &mut self,
        transform: &Transform,
        table: &TableClient,
        Changed { rows, read, count }: Changed,
    ) -> Result<(), StepError> {
        let jobs = self.migrator.options.jobs.max(1);
        for group in batches(rows).chunks(jobs) {
            self.before_write().await?;
            let writes: Vec<_> = group
                .iter()
                .map(|batch| update(table, transform, batch, &read))
                .collect();
            try_join_all(writes).await?;
        }
        self.saw_rows(count);
        Ok(())
    }
}

/// The progress to record before a page is changed; `None` for a page without rows.
fn recorded(before: ResumeToken, rows: &[Entity]) -> Option<Progress> {
    let last = rows.last()?;
    Some(Progress {
        token: Some(before),
        end: Some((last.partition_key().to_owned(), last.row_key().to_owned())),
        journal: rows.iter().flat_map(fingerprint).collect(),
        ..Progress::default()
    })
}

/// The changed rows of a page.
struct Changed {
    /// The changed rows. Rows that the transform leaves unchanged are omitted.
    rows: Vec<Entity>,
    /// The ETags of these rows when they were read.
    read: IfMatches,
    /// Number of rows read.
    count: usize,
}

impl Changed {
    fn of(transform: &Transform, rows: Vec<Entity>) -> Result<Self, StepError> {
        let mut all = Self {
            count: rows.len(),
            rows: Vec::new(),
            read: HashMap::new(),
        };
        for row in rows {
            let etag = row.etag().cloned();
            let keys = (row.partition_key().to_owned(), row.row_key().to_owned());
            let plain = row.clone().with_keys(&*keys.0, &*keys.1);
            let changed = changed(transform, row)?;
            if changed != plain {
                all.read
                    .insert(keys, etag.map_or(IfMatch::Any, IfMatch::ETag));
                all.rows.push(changed);
            }
        }
        Ok(all)
    }
}

/// Whether a row is after a key, in the table's order.
fn is_after(row: &Entity, (partition_key, row_key): &(String, String)) -> bool {
    let keys = (row.partition_key(), row.row_key());
    compare_keys(keys, (partition_key, row_key)).is_gt()
}

/// A hash of the keys and the ETag of a row, which identifies this version of the row.
fn fingerprint(row: &Entity) -> Vec<u8> {
    let mut digest = Sha256::new();
    let etag = row.etag().map_or("", ETag::as_str);
    for text in [row.partition_key(), row.row_key(), etag] {
        digest.update((text.len() as u64).to_le_bytes());
        digest.update(text);
    }
    digest
        .finalize()
        .iter()
        .take(FINGERPRINT_BYTES)
        .copied()
        .collect()
}

/// Conditions for writes, by PartitionKey and RowKey.
type IfMatches = HashMap<(String, String), IfMatch>;

/// Writes changed rows in one transaction, if their ETags are unchanged. If another client wrote one of them, writes
/// the rows one by one.
async fn update(
    table: &TableClient,
    transform: &Transform,
    rows: &[Entity],
    etags: &IfMatches,
) -> Result<(), StepError> {
    if rows.len() > 1 {
        let actions = rows.iter().map(|row| {
            TransactionAction::Update(row.clone(), UpdateMode::Replace, version_of(row, etags))
        });
        let actions: Vec<_> = actions.collect();
        match table.submit_transaction(&actions).await {
            Ok(_) => return Ok(()),
            Err(error) if is_overtaken(&error) => {}
            Err(error) => return Err(error.into()),
        }
    }
    for row in rows {
        update_one(table, transform, row, version_of(row, etags)).await?;
    }
    Ok(())
}

/// The condition that the row still has the ETag with which it was read.
fn version_of(row: &Entity, etags: &IfMatches) -> IfMatch {
    let keys = (row.partition_key().to_owned(), row.row_key().to_owned());
    etags.get(&keys).cloned().unwrap_or(IfMatch::Any)
}

/// Whether another client wrote or deleted the row since it was read.
fn is_overtaken(error: &Error) -> bool {
    error.is_precondition_failed() || error.code_text() == "ResourceNotFound"
}

async fn update_one(
    table: &TableClient,
    transform: &Transform,
    row: &Entity,
    mut if_match: IfMatch,
) -> Result<(), StepError> {
    let (partition_key, row_key) = (row.partition_key(), row.row_key());
    let mut row = row.clone();
    for _ in 0..ATTEMPTS {
        let written = table.update_entity(&row, UpdateMode::Replace, &if_match);
        match written.await {
            Ok(_) => return Ok(()),
            Err(error) if is_overtaken(&error) => {}
            Err(error) => return Err(error.into()),
        }
        let now = table.get_entity_if_exists(partition_key, row_key).await?;
        // Another client has deleted the row.
        let Some(now) = now else { return Ok(()) };
        // The row is already changed, by a late request of a killed runner.
        if differences(&row, &now).is_empty() {
            return Ok(());
        }
        if_match = now.etag().map_or(IfMatch::Any, IfMatch::from);
        row = changed(transform, now)?;
    }
    Err(StepError::Row {
        partition_key: partition_key.to_owned(),
        row_key: row_key.to_owned(),
        source: RowError::Contended,
    })
}
