//! Groups rows to delete into transactions of one partition and at most 100 rows.

use crate::scan::{Keyed as _, SourceError};
use crate::source::TableRow;
use partita_client::{ETag, IfMatch};
use partita_model::limits::BATCH_OPERATIONS_MAX;

/// A row to delete.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowToDelete {
    /// Its PartitionKey.
    pub partition_key: String,
    /// Its RowKey.
    pub row_key: String,
    /// The version to delete; any version if the server did not send an ETag.
    pub if_match: IfMatch,
}

/// Rows of one partition to delete with one request, 1 to 100.
pub type DeleteGroup = Vec<RowToDelete>;

/// Groups rows. They should arrive in the table's order: each change of the partition completes a group.
#[derive(Debug, Default)]
pub(super) struct Grouping {
    rows: DeleteGroup,
}

impl RowToDelete {
    /// The keys of a row, and the version that was read.
    ///
    /// # Errors
    /// The row is not valid JSON.
    pub fn of(row: &TableRow) -> Result<Self, SourceError> {
        let etag = row.read(|row| Ok(row.etag()?.map(|etag| ETag::from(&*etag))))?;
        Ok(Self {
            partition_key: row.partition_key().to_owned(),
            row_key: row.row_key().to_owned(),
            if_match: etag.map_or(IfMatch::Any, IfMatch::ETag),
        })
    }
}

impl Grouping {
    /// Adds a row. Returns a group that this row completes.
    pub(super) fn add(&mut self, row: RowToDelete) -> Option<DeleteGroup> {
        let first = self.rows.first();
        let fits = first.is_none_or(|first| first.partition_key == row.partition_key);
        let is_complete = !fits || self.rows.len() == BATCH_OPERATIONS_MAX;
        let complete = is_complete.then(|| std::mem::take(&mut self.rows));
        self.rows.push(row);
        complete
    }

    /// The last group, which no further row completes.
    pub(super) fn finish(self) -> Option<DeleteGroup> {
        Some(self.rows).filter(|rows| !rows.is_empty())
    }
}

/// Groups rows to delete. Rows of the same partition must be next to each other.
pub fn groups(rows: impl Iterator<Item = RowToDelete>) -> Vec<DeleteGroup> {
    let mut grouping = Grouping::default();
    let mut groups: Vec<_> = rows.filter_map(|row| grouping.add(row)).collect();
    groups.extend(grouping.finish());
    groups
}

#[cfg(test)]
mod tests {
    use super::super::PurgeCost;
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn groups_are_of_one_partition_and_not_too_large(sizes in proptest::collection::vec(1..250_usize, 0..6)) {
            let rows = sizes.iter().enumerate().flat_map(|(partition, &size)| {
                (0..size).map(move |row| RowToDelete {
                    partition_key: partition.to_string(),
                    row_key: row.to_string(),
                    if_match: IfMatch::Any,
                })
            });
            let rows: Vec<_> = rows.collect();
            let mut cost = PurgeCost::default();
            rows.iter().for_each(|row| cost.add(&row.partition_key));
            let groups = groups(rows.iter().cloned());
            for group in &groups {
                prop_assert!((1..=BATCH_OPERATIONS_MAX).contains(&group.len()));
                prop_assert!(group.iter().all(|row| row.partition_key == group[0].partition_key));
            }
            prop_assert_eq!(cost.requests, groups.len() as u64);
            prop_assert_eq!(cost.rows, rows.len() as u64);
            prop_assert_eq!(cost.partitions, sizes.len() as u64);
            let fewest: usize = sizes.iter().map(|size| size.div_ceil(BATCH_OPERATIONS_MAX)).sum();
            prop_assert_eq!(groups.len(), fewest);
            let grouped: Vec<_> = groups.into_iter().flatten().collect();
            prop_assert_eq!(grouped, rows);
        }
    }
}
