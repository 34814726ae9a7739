//! Counts rows.

use super::Action;
use crate::fleet::step_row::StepResult;
use crate::fleet::{FleetError, RowHash, Tally};
use crate::scan::Keyed;
use crate::source::TableRow;
use futures::FutureExt as _;
use futures::future::{BoxFuture, ready};

/// Counts the rows of a step.
pub(super) struct Count;

impl Action for Count {
    fn take(&mut self, rows: Vec<TableRow>) -> BoxFuture<'_, Result<Tally, FleetError>> {
        ready(Ok(by_keys(&rows))).boxed()
    }

    fn finish(self: Box<Self>) -> BoxFuture<'static, Result<StepResult, FleetError>> {
        ready(Ok(StepResult::default())).boxed()
    }
}

/// The counts of rows of which only the keys are read.
pub(in crate::fleet) fn by_keys<R: Keyed>(rows: &[R]) -> Tally {
    let mut tally = Tally::default();
    for row in rows {
        tally.rows += 1;
        tally.hash += RowHash::of_keys(row.partition_key(), row.row_key());
    }
    tally
}
