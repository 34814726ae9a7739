//! Rows that go. What is gone already is no failure, so a delete that stopped halfway is begun again.

use super::super::StepError;
use super::step::Step;
use crate::purge::{self, DeleteGroup, Grouping, RowToDelete};
use crate::scan::{Bounds, Lower, Upper};
use futures::future::try_join_all;
use partita_client::{IfMatch, TableClient};

impl Step<'_> {
    /// Deletes the rows with these keys.
    pub(super) async fn delete_keys(
        &mut self,
        table: &str,
        keys: &[(String, String)],
    ) -> Result<(), StepError> {
        let mut keys = keys.to_vec();
        keys.sort();
        let table = self.service.table_client(table);
        let mut grouping = Grouping::default();
        let mut doomed = Vec::new();
        for (partition_key, row_key) in keys {
            doomed.extend(grouping.add(row(partition_key, row_key)));
        }
        doomed.extend(grouping.finish());
        self.delete_groups(&table, doomed).await
    }

    /// Deletes all rows, or those of a partition.
    pub(super) async fn delete_all(
        &mut self,
        table: &str,
        partition_key: Option<&String>,
    ) -> Result<(), StepError> {
        let bounds = partition_key.map_or(Bounds::default(), |key| Bounds {
            lower: Lower::From(key.clone()),
            upper: Upper::Through(key.clone()),
        });
        let table = self.service.table_client(table);
        let keys = vec!["PartitionKey".to_owned(), "RowKey".to_owned()];
        let mut scan = self.scan(&table, None, keys, &bounds, None)?;
        while let Some(batch) = scan.next().await {
            let mut grouping = Grouping::default();
            let mut doomed = Vec::new();
            for found in batch?.rows {
                let keys = (found.partition_key().to_owned(), found.row_key().to_owned());
                doomed.extend(grouping.add(row(keys.0, keys.1)));
            }
            doomed.extend(grouping.finish());
            self.delete_groups(&table, doomed).await?;
        }
        Ok(())
    }

    async fn delete_groups(
        &mut self,
        table: &TableClient,
        mut groups: Vec<DeleteGroup>,
    ) -> Result<(), StepError> {
        let jobs = self.options.jobs.max(1);
        while !groups.is_empty() {
            self.before_write().await?;
            let left = groups.split_off(jobs.min(groups.len()));
            let deletes: Vec<_> = std::mem::replace(&mut groups, left)
                .into_iter()
                .map(|doomed| purge::delete(table, doomed))
                .collect();
            let deleted = try_join_all(deletes).await?;
            let rows = deleted.iter().map(|deleted| deleted.rows as usize);
            self.saw_rows(rows.sum());
        }
        Ok(())
    }
}

fn row(partition_key: String, row_key: String) -> RowToDelete {
    RowToDelete {
        partition_key,
        row_key,
        if_match: IfMatch::Any,
    }
}
