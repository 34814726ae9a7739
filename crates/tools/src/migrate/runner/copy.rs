//! Tables that are copied or get another name.

use super::super::StepError;
use super::super::record::Progress;
use super::step::Step;
use crate::scan::{Bounds, Order, Query, QueryOptions, ResumeToken, RunOptions, Scan, Strategy};
use crate::transfer::{Diff, Difference, Mode, TableSource};
use partita_client::{Outcome, TableClient};
use std::mem;
use std::sync::Arc;

/// The parts of a copy, in their order.
const CREATE: u32 = 0;
const COPY: u32 = 1;
const VERIFY: u32 = 2;
const DROP: u32 = 3;

/// In place of all of them: the server gives the table its name, or has given it.
const RENAME: u32 = 4;

/// In place of the copy: the new table, this step's own, was found to differ and is mended.
const MEND: u32 = 5;

impl Step<'_> {
    /// Gives a table another name: by the server where it can, else the rows are copied and compared, and the old table is
    /// dropped.
    pub(super) async fn rename_table(&mut self, from: &str, to: &str) -> Result<(), StepError> {
        let table = self.service.table_client(from);
        let phase = self.record.progress.phase;
        if phase == RENAME || phase == CREATE && self.server_renames(&table).await? {
            return self.rename_by_server(&table, to).await;
        }
        if phase == DROP {
            self.in_doubt = true;
        } else {
            self.copy_table(from, to).await?;
            // From here on a table that is gone is this step's own doing.
            self.reached(at(DROP)).await?;
        }
        self.delete_table(from).await
    }

    async fn server_renames(&self, table: &TableClient) -> Result<bool, StepError> {
        if self.options.public_only {
            return Ok(false);
        }
        match table.settings().await {
            Ok(settings) => Ok(settings.is_some()),
            // A signature may not, and what is missing is found missing by the copy.
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
            Err(error)
                if error.is_not_found()
                    && (self.in_doubt || error.outcome() == Outcome::MayHaveHappened) =>
            {
                // It is an error after all where the new one is not there either.
                self.service.table_client(to).settings().await?;
                Ok(())
            }
            renamed => Ok(renamed.map(drop)?),
        }
    }

    /// Copies a table into a new one, and compares.
    pub(super) async fn copy_table(&mut self, from: &str, to: &str) -> Result<(), StepError> {
        let [source, target] = [from, to].map(|name| self.service.table_client(name));
        if self.record.progress.phase == CREATE {
            self.create_table(to).await?;
            // Kept with a failure, if there is one: from here on the new table is this step's own.
            self.record.progress = at(COPY);
        }
        if self.record.progress.phase == COPY {
            self.copy_rows(&source, &target).await?;
            self.reached(at(VERIFY)).await?;
        }
        if self.record.progress.phase == MEND {
            self.mend(&source, &target).await?;
            self.reached(at(VERIFY)).await?;
        }
        let verified = self.verify(&source, &target).await;
        if matches!(verified, Err(StepError::Differs { .. })) {
            // Kept with the failure: the next run takes the differences over.
            self.record.progress = at(MEND);
        }
        verified
    }

    /// Makes a copy what its table is now: rows that were written or deleted while it was copied, or since.
    async fn mend(&mut self, source: &TableClient, target: &TableClient) -> Result<(), StepError> {
        let mut diff = self.diff(source, target)?;
        let (mut missing, mut surplus) = (Vec::new(), Vec::new());
        loop {
            let next = diff.next().await.transpose()?;
            let ended = next.is_none();
            match next {
                Some(Difference::LeftOnly(row)) => missing.push(row),
                Some(Difference::RightOnly(row)) => {
                    surplus.push((row.partition_key().to_owned(), row.row_key().to_owned()));
                }
                Some(Difference::Differs {
                    partition_key,
                    row_key,
                    ..
                }) => {
                    let row = source
                        .get_entity_if_exists(&partition_key, &row_key)
                        .await?;
                    missing.extend(row);
                }
                None => {}
            }
            if ended || missing.len() + surplus.len() >= self.options.page_rows {
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
    ) -> Result<Diff<TableSource, TableSource>, StepError> {
        let left = self.scan(source, None, Vec::new(), &Bounds::default(), None)?;
        let right = self.scan(target, None, Vec::new(), &Bounds::default(), None)?;
        Ok(Diff::new(left, right))
    }

    async fn copy_rows(
        &mut self,
        source: &TableClient,
        target: &TableClient,
    ) -> Result<(), StepError> {
        let token = self.record.progress.token.clone();
        let mut scan = self.scan(source, None, Vec::new(), &Bounds::default(), token)?;
        let mut pages = 0;
        while let Some(batch) = scan.next().await {
            let rows = batch?.rows;
            self.write_page(target, rows, Mode::Replace).await?;
            pages += 1;
            if pages % self.options.pages_between_records.max(1) == 0 {
                let token = Some(scan.token());
                self.reached(Progress { token, ..at(COPY) }).await?;
            }
        }
        Ok(())
    }

    /// Compares two tables, row by row.
    async fn verify(
        &mut self,
        source: &TableClient,
        target: &TableClient,
    ) -> Result<(), StepError> {
        let mut diff = self.diff(source, target)?;
        let mut first = None;
        while let Some(difference) = diff.next().await {
            let keys = match difference? {
                Difference::LeftOnly(row) | Difference::RightOnly(row) => {
                    (row.partition_key().to_owned(), row.row_key().to_owned())
                }
                Difference::Differs {
                    partition_key,
                    row_key,
                    ..
                } => (partition_key, row_key),
            };
            first.get_or_insert(keys);
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

    /// A scan of a table in its order, page after page, or of what is left of it.
    pub(super) fn scan(
        &self,
        table: &TableClient,
        filter: Option<String>,
        select: Vec<String>,
        bounds: &Bounds,
        token: Option<ResumeToken>,
    ) -> Result<Scan<TableSource>, StepError> {
        let query = Query::new(QueryOptions {
            filter,
            select,
            page_rows: self.options.page_rows,
            ..QueryOptions::default()
        })?;
        let steps = match token {
            Some(token) => token.into_steps(&query)?,
            None => Strategy::Serial.plan(bounds, &[], 1),
        };
        let options = RunOptions {
            jobs: 1,
            order: Order::Table,
            buffer_rows_max: None,
        };
        let source = Arc::new(TableSource(table.clone()));
        Ok(Scan::new(source, query, steps, options))
    }
}

fn at(phase: u32) -> Progress {
    Progress {
        phase,
        ..Progress::default()
    }
}
