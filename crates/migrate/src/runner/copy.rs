//! Copies and renames tables.

use super::super::record::Progress;
use super::super::{StepError, Transform};
use super::step::Step;
use super::transform::changed;
use partita_bulk::scan::{
    Bounds, Order, Query, QueryOptions, ResumeToken, RunOptions, Scan, Strategy,
};
use partita_bulk::source::EntitySource;
use partita_bulk::{Diff, Difference, Mode};
use partita_client::TableClient;
use std::mem;
use std::sync::Arc;

/// The phases of a copy, in order: create the new table, copy the rows, compare the tables; for a rename, also delete
/// the old table.
const CREATE: u32 = 0;
const COPY: u32 = 1;
const VERIFY: u32 = 2;
const DROP: u32 = 3;

/// The only phase of a rename that the server executes itself.
const RENAME: u32 = 4;

/// The phase after a comparison that found differences: copies the differences, then compares again.
const MEND: u32 = 5;

impl Step<'_> {
    /// Renames a table with one request if the server supports that. Otherwise copies the table, compares the copy, and
    /// deletes the old table.
    pub(super) async fn rename_table(&mut self, from: &str, to: &str) -> Result<(), StepError> {
        let table = self.migrator.service.table_client(from);
        let phase = self.record.progress.phase;
        if phase == RENAME || phase == CREATE && self.server_renames(&table).await? {
            return self.rename_by_server(&table, to).await;
        }
        if phase == DROP {
            self.in_doubt = true;
        } else {
            self.copy_table(from, to).await?;
            // If the old table is missing after this record, this step has deleted it.
            self.reached(at(DROP)).await?;
        }
        self.delete_table(from).await
    }

    async fn server_renames(&self, table: &TableClient) -> Result<bool, StepError> {
        if self.migrator.options.public_only {
            return Ok(false);
        }
        match table.settings().await {
            Ok(settings) => Ok(settings.is_some()),
            // The table is missing, or a SAS does not permit reading its settings. The copy then reports a missing
            // table.
            Err(error) if matches!(error.status(), Some(403 | 404)) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    async fn rename_by_server(&mut self, table: &TableClient, to: &str) -> Result<(), StepError> {
        if self.record.progress.phase == CREATE {
            self.reached(at(RENAME)).await?;
        } else {
            self.in_doubt = true;
        }
        self.before_write().await?;
        match table.rename(to).await {
            Err(error) if error.is_not_found() && self.may_be_done(&error) => {
                // The old table is missing. If the new one exists, the rename has happened; otherwise the request for
                // its settings fails.
                self.migrator.service.table_client(to).settings().await?;
                Ok(())
            }
            renamed => Ok(renamed.map(drop)?),
        }
    }

    /// Copies a table into a new one, and compares the two tables.
    pub(super) async fn copy_table(&mut self, from: &str, to: &str) -> Result<(), StepError> {
        let [source, target] = [from, to].map(|name| self.migrator.service.table_client(name));
        if self.record.progress.phase == CREATE {
            self.create_table(to).await?;
            // If a later phase fails, the stored record shows that this step has created the new table.
            self.record.progress = at(COPY);
        }
        if self.record.progress.phase == COPY {
            self.copy_pages(&source, &target, None, COPY).await?;
            self.reached(at(VERIFY)).await?;
        }
        if self.record.progress.phase == MEND {
            self.mend(&source, &target).await?;
            self.reached(at(VERIFY)).await?;
        }
        let verified = self.verify(&source, &target).await;
        if matches!(verified, Err(StepError::Differs { .. })) {
            // This phase is stored together with the failure, so that the next run copies the differences.
            self.record.progress = at(MEND);
        }
        verified
    }

    /// Makes the copy equal to the source: copies rows that were written during or after the copy, and deletes rows
    /// that were deleted.
    async fn mend(&mut self, source: &TableClient, target: &TableClient) -> Result<(), StepError> {
        let mut diff = self.diff(source, target)?;
        let (mut missing, mut surplus) = (Vec::new(), Vec::new());
        loop {
            let next = diff.next().await.transpose()?;
            let ended = next.is_none();
            match next {
                Some(Difference::LeftOnly(row)) => missing.push(row),
                Some(ref only @ Difference::RightOnly(_)) => surplus.push(only.keys()),
                Some(changed) => {
                    let (partition_key, row_key) = changed.keys();
                    let row = source.get_entity_if_exists(&partition_key, &row_key);
                    missing.extend(row.await?);
                }
                None => {}
            }
            if ended || missing.len() + surplus.len() >= self.migrator.options.page_rows {
                let (missing, surplus) = (mem::take(&mut missing), mem::take(&mut surplus));
                self.write_page(target, missing, Mode::Replace).await?;
                self.delete_keys(target.name(), &surplus).await?;
            }
            if ended {
                return Ok(());
            }
        }
    }

    fn diff(
        &self,
        source: &TableClient,
        target: &TableClient,
    ) -> Result<Diff<EntitySource, EntitySource>, StepError> {
        let [left, right] = [source, target].map(|table| self.scan_all(table, None, None));
        Ok(Diff::new(left?, right?))
    }

    /// Copies the rows of a table into another one, page by page. Applies the transform, if there is one, to each row.
    pub(super) async fn copy_pages(
        &mut self,
        source: &TableClient,
        target: &TableClient,
        transform: Option<&Transform>,
        phase: u32,
    ) -> Result<(), StepError> {
        let token = self.record.progress.token.clone();
        let filter = transform.and_then(|transform| transform.filter.clone());
        let mode = transform.map_or(Mode::Replace, |_| Mode::Insert);
        let mut scan = self.scan_all(source, filter, token)?;
        let mut pages = 0;
        while let Some(batch) = scan.next().await {
            let mut rows = batch?.rows;
            if let Some(transform) = transform {
                let changed = rows.into_iter().map(|row| changed(transform, row));
                rows = changed.collect::<Result<_, _>>()?;
            }
            self.write_page(target, rows, mode).await?;
            pages += 1;
            if pages % self.migrator.options.pages_between_records.max(1) == 0 {
                let token = Some(scan.token());
                self.reached(Progress { token, ..at(phase) }).await?;
            }
        }
        Ok(())
    }

    /// Compares two tables row by row. A difference is an error.
    async fn verify(
        &mut self,
        source: &TableClient,
        target: &TableClient,
    ) -> Result<(), StepError> {
        let mut diff = self.diff(source, target)?;
        let mut first = None;
        while let Some(difference) = diff.next().await {
            first.get_or_insert(difference?.keys());
        }
        let Some((partition_key, row_key)) = first else {
            return Ok(());
        };
        let counts = diff.counts();
        Err(StepError::Differs {
            from: source.name().to_owned(),
            to: target.name().to_owned(),
            rows: counts.differ + counts.left_only + counts.right_only,
            partition_key,
            row_key,
        })
    }

    /// A scan of all rows that pass a filter.
    pub(super) fn scan_all(
        &self,
        table: &TableClient,
        filter: Option<String>,
        token: Option<ResumeToken>,
    ) -> Result<Scan<EntitySource>, StepError> {
        self.scan(table, filter, Vec::new(), &Bounds::default(), token)
    }

    /// A serial scan of a table in its order, from the start or from a saved position.
    pub(super) fn scan(
        &self,
        table: &TableClient,
        filter: Option<String>,
        select: Vec<String>,
        bounds: &Bounds,
        token: Option<ResumeToken>,
    ) -> Result<Scan<EntitySource>, StepError> {
        let query = Query::new(QueryOptions {
            filter,
            select,
            page_rows: self.migrator.options.page_rows,
            ..QueryOptions::default()
        })?;
        let steps = match token {
            Some(token) => token.into_steps(&query)?,
            None => Strategy::Serial.plan(bounds, &[], 1),
        };
        let options = RunOptions {
            jobs: 1,
            order: Order::Table,
        };
        let source = Arc::new(EntitySource(table.clone()));
        Ok(Scan::new(source, query, steps, options))
    }
}

fn at(phase: u32) -> Progress {
    Progress {
        phase,
        ..Progress::default()
    }
}
