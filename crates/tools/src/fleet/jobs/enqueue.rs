//! Sends a message for each row or partition. Messages cannot be sent idempotently: a step that is repeated after its
//! worker died sends its messages again. So consumers get each message at least once, as from any queue.

use super::Action;
use super::copy::{by_rows, entities};
use crate::fleet::step_row::StepResult;
use crate::fleet::{FleetError, Tally};
use crate::source::TableRow;
use futures::future::{BoxFuture, ready};
use futures::{FutureExt as _, StreamExt as _, TryStreamExt as _, stream};
use partita_bulk::Template;
use partita_client::QueueClient;

/// Number of parallel messages of one step.
const SENDS: usize = 8;

/// Sends the messages of a step.
pub(super) struct Enqueue {
    pub(super) queue: QueueClient,
    pub(super) body: Template,
}

impl Enqueue {
    async fn send(&self, rows: Vec<TableRow>) -> Result<Tally, FleetError> {
        let rows = entities(&rows)?;
        let mut tally = by_rows(&rows);
        let bodies = rows.iter().map(|row| self.body.of(row));
        let bodies = bodies.collect::<Result<Vec<_>, _>>()?;
        let send = |body: String| async move { self.queue.send_message(&body).await };
        let sends = bodies.into_iter().map(send);
        let mut sends = stream::iter(sends).buffer_unordered(SENDS);
        while sends.try_next().await.map_err(FleetError::write)?.is_some() {
            tally.effects += 1;
        }
        Ok(tally)
    }
}

impl Action for Enqueue {
    fn take(&mut self, rows: Vec<TableRow>) -> BoxFuture<'_, Result<Tally, FleetError>> {
        self.send(rows).boxed()
    }

    fn finish(self: Box<Self>) -> BoxFuture<'static, Result<StepResult, FleetError>> {
        ready(Ok(StepResult::default())).boxed()
    }
}
