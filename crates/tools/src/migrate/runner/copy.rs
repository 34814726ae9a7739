//! Tables that are copied or get another name.

use super::super::StepError;
use super::super::record::Progress;
use super::step::Step;
use crate::scan::{Bounds, Order, Query, QueryOptions, ResumeToken, RunOptions, Scan, Strategy};
use crate::transfer::{Diff, Difference, Mode, TableSource};
use partita_client::{TableClient, TableServiceClient};
use std::sync::Arc;

/// The parts of a copy, in their order.
const CREATE: u32 = 0;
const COPY: u32 = 1;
const VERIFY: u32 = 2;
const DROP: u32 = 3;

/// How a server gives a table another name.
enum Rename {
    /// It cannot: the rows are copied and compared, and the old table is dropped.
    Copy,
}

/// What the server can do. The one place that knows: the protocol has no such operation, and a server that can do more would be
/// asked here whether it does.
fn rename_of(_: &TableServiceClient) -> Rename {
    Rename::Copy
}

impl Step<'_> {
    /// Gives a table another name.
    pub(super) async fn rename_table(&mut self, from: &str, to: &str) -> Result<(), StepError> {
        match rename_of(self.service) {
            Rename::Copy => {
                if self.record.progress.phase < DROP {
                    self.copy_table(from, to).await?;
                    // From here on a table that is gone is this step's own doing.
                    self.reached(at(DROP)).await?;
                } else {
                    self.in_doubt = true;
                }
                self.delete_table(from).await
            }
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
        let verified = self.verify(&source, &target).await;
        if matches!(verified, Err(StepError::Differs { .. })) {
            // Kept with the failure: the next run copies anew.
            self.record.progress = at(CREATE);
            self.in_doubt = true;
        }
        verified
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
        let left = self.scan(source, None, Vec::new(), &Bounds::default(), None)?;
        let right = self.scan(target, None, Vec::new(), &Bounds::default(), None)?;
        let mut diff = Diff::new(left, right);
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
