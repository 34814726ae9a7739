//! Deletes rows. A row that does not exist is not an error, so an interrupted delete can start again.

use super::super::StepError;
use super::step::Step;
use futures::future::try_join_all;
use partita_bulk::purge::{self, RowToDelete};
use partita_bulk::scan::{Bounds, Lower, Upper};
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
        let table = self.migrator.service.table_client(table);
        self.delete_groups(&table, keys).await
    }

    /// Deletes all rows of the table or of a partition.
    pub(super) async fn delete_all(
        &mut self,
        table: &str,
        partition_key: Option<&String>,
    ) -> Result<(), StepError> {
        let bounds = partition_key.map_or(Bounds::default(), |key| Bounds {
            lower: Lower::From(key.clone()),
            upper: Upper::Through(key.clone()),
        });
        let table = self.migrator.service.table_client(table);
        let keys = vec!["PartitionKey".to_owned(), "RowKey".to_owned()];
        let mut scan = self.scan(&table, None, keys, &bounds, None)?;
        while let Some(batch) = scan.next().await {
            let rows = batch?.rows.into_iter();
            let keys = rows.map(|row| (row.partition_key().to_owned(), row.row_key().to_owned()));
            self.delete_groups(&table, keys.collect()).await?;
        }
        Ok(())
    }

    /// Deletes the rows with these keys. Keys of the same partition must be next to each other.
    async fn delete_groups(
        &mut self,
        table: &TableClient,
        keys: Vec<(String, String)>,
    ) -> Result<(), StepError> {
        let mut groups =
            purge::groups(
                keys.into_iter()
                    .map(|(partition_key, row_key)| RowToDelete {
                        partition_key,
                        row_key,
                        if_match: IfMatch::Any,
                    }),
            );
        let jobs = self.migrator.options.jobs.max(1);
        while !groups.is_empty() {
            self.before_write().await?;
            let left = groups.split_off(jobs.min(groups.len()));
            let deletes: Vec<_> = std::mem::replace(&mut groups, left)
                .into_iter()
                .map(|group| purge::delete(table, group))
                .collect();
            let deleted = try_join_all(deletes).await?;
            let rows = deleted.iter().map(|deleted| deleted.rows as usize);
            self.saw_rows(rows.sum());
        }
        Ok(())
    }
}
