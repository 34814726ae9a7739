//! The life of a step in a worker: received or kept, executed, committed or failed.
//!
//! A worker executes the last follow-up step of each step itself, at once. It keeps the message of that step: sends it
//! hidden, as if it had received it. So a step that is cut costs one round trip, its transaction; the messages are sent
//! while the next step is already read. The last follow-up step is the largest one, and the one that others can be cut
//! from. Other workers would receive it only after the small ones that were sent before it.

use super::appetite::{PARTS_MAX, cut, deal, wanted};
use super::jobs::import::Import;
use super::jobs::{action, discard};
use super::queue::{Delivery, StepQueue};
use super::step_row::StepResult;
use super::store::Written;
use super::worker::{Inner, hidden_for};
use super::{FleetError, ImportFile, Job, JobKind, StepRow, StepState, Tally, Work};
use crate::scan::{Step, execute};
use crate::source::TableSource;
use futures::future::{BoxFuture, ready};
use futures::{FutureExt as _, StreamExt as _, TryFutureExt as _, TryStreamExt as _, stream};
use partita_bulk::error_chain;
use std::pin::pin;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// A running step looks at the queue after this many pages.
const PAGES_BETWEEN_LOOKS: u64 = 4;
/// Number of parallel requests that send messages.
const SENDS: usize = 8;
/// A step ends after this many bytes of rows as JSON: some kinds of jobs keep the rows of a step in memory.
const STEP_BYTES_MAX: usize = 64 * 1024 * 1024;

/// A step that this worker executes, and its message. The message of a kept step is still to be sent.
pub(super) struct OwnStep<'a> {
    step: StepRow,
    message: BoxFuture<'a, Result<Delivery, FleetError>>,
}

/// A step that was executed, but is not committed.
struct Executed {
    result: StepResult,
    follow_ups: Vec<Work>,
}

impl<Q: StepQueue> Inner<Q> {
    /// Reads the step of a received message. `None`, and the message is deleted, if the step is not to be executed.
    pub(super) async fn take(
        &self,
        job: &Job,
        delivery: Delivery,
    ) -> Result<Option<OwnStep<'_>>, FleetError> {
        let step = self.table.step(&job.id, &delivery.step).await?;
        let Some(step) = step.filter(|step| step.state == StepState::Open) else {
            self.remove(delivery).await?;
            return Ok(None);
        };
        let attempts = delivery.deliveries + u32::from(step.is_kept);
        if attempts > job.spec.tries {
            let unknown = || format!("{} of its workers died", attempts - 1);
            let error = step.error.clone().unwrap_or_else(unknown);
            self.table.replace(&dead(step, error)).await?;
            self.remove(delivery).await?;
            return Ok(None);
        }
        let message = ready(Ok(delivery)).boxed();
        Ok(Some(OwnStep { step, message }))
    }

    /// Executes a step. Returns the follow-up step that the worker keeps.
    pub(super) async fn run_step(
        &self,
        job: &Job,
        OwnStep { step, message }: OwnStep<'_>,
    ) -> Result<Option<OwnStep<'_>>, FleetError> {
        let running = self.execute(job, &step);
        let (executed, delivery) = self.renewing(message, hidden_for(job), running).await?;
        match executed {
            Ok(executed) => self.commit(job, step, executed, delivery).await,
            Err(error) => self
                .failed(job, step, &error, delivery)
                .await
                .map(|()| None),
        }
    }

    /// Leaves a kept step, which was not begun, to other workers: it does not count as tried.
    pub(super) async fn give_up(&self, kept: Option<OwnStep<'_>>) -> Result<(), FleetError> {
        let Some(OwnStep { mut step, message }) = kept else {
            return Ok(());
        };
        let delivery = message.await?;
        step.is_kept = false;
        self.table.replace(&step).await?;
        self.show(delivery).await
    }

    /// Sends the messages of steps.
    pub(super) async fn send(&self, steps: Vec<String>) -> Result<(), FleetError> {
        let sends = steps.into_iter().map(|step| {
            let queue = self.queue.clone();
            async move { queue.send(&step).await }
        });
        let sent = stream::iter(sends).buffer_unordered(SENDS);
        let sent = sent.try_collect::<()>().await;
        sent.map_err(FleetError::Queue)
    }

    async fn remove(&self, delivery: Delivery) -> Result<(), FleetError> {
        let removed = self.queue.remove(delivery).await;
        removed.map_err(FleetError::Queue)
    }

    /// Makes a message visible to other workers.
    async fn show(&self, mut delivery: Delivery) -> Result<(), FleetError> {
        let shown = self.queue.hide(&mut delivery, Duration::ZERO).await;
        shown.map_err(FleetError::Queue)
    }

    /// Waits for `running` and for the message, and hides the message again whenever a third of its time has passed. An
    /// error of that is ignored: at worst, another worker executes the step too, and one of them commits.
    async fn renewing<T>(
        &self,
        mut message: BoxFuture<'_, Result<Delivery, FleetError>>,
        hidden_for: Duration,
        running: impl Future<Output = T>,
    ) -> Result<(T, Delivery), FleetError> {
        let mut running = pin!(running);
        let mut sent = None;
        let done = loop {
            tokio::select! {
                done = &mut running => break done,
                delivery = &mut message, if sent.is_none() => sent = Some(delivery?),
                () = tokio::time::sleep(hidden_for / 3) => {
                    if let Some(delivery) = &mut sent {
                        let _ = self.queue.hide(delivery, hidden_for).await;
                    }
                    let _ = self.heartbeat().await;
                }
            }
        };
        let delivery = match sent {
            Some(delivery) => delivery,
            None => message.await?,
        };
        Ok((done, delivery))
    }

    async fn execute(&self, job: &Job, step: &StepRow) -> Result<Executed, FleetError> {
        match &step.work {
            Work::Parts(parts) => self.read_parts(job, step, parts).await,
            Work::Files(files) => self.import_file(job, files).await,
        }
    }

    /// Imports the first file. The others become follow-up steps, and so does the rest of a file when the worker stops.
    async fn import_file(&self, job: &Job, files: &[ImportFile]) -> Result<Executed, FleetError> {
        let (mut left, mut result) = (files.to_vec(), StepResult::default());
        if let (JobKind::Import { directory, mode }, false) = (&job.spec.kind, left.is_empty()) {
            let directory = self.access.directory(directory);
            let import = Import::new(directory, self.access.source_table(job), *mode);
            let (tally, rest) = import.run(&left.remove(0), || self.is_stopped()).await?;
            result.tally = tally;
            left.splice(0..0, rest);
        }
        // One more, for this worker itself.
        let pieces = self.wanted().await? + 1;
        let follow_ups = deal(&left, pieces).into_iter().map(Work::Files);
        Ok(Executed {
            result,
            follow_ups: follow_ups.collect(),
        })
    }

    /// Reads pages of the parts and applies the action to them.
    async fn read_parts(
        &self,
        job: &Job,
        step: &StepRow,
        parts: &[Step],
    ) -> Result<Executed, FleetError> {
        let source = TableSource(self.access.source_table(job));
        let query = job.spec.query()?;
        let mut action = action(&self.access, job, step)?;
        let mut result = StepResult::default();
        let mut stack: Vec<Step> = parts.iter().rev().cloned().collect();
        let most = stack.len().max(PARTS_MAX);
        let (mut pages, mut bytes, mut pieces) = (0, 0, 1);
        while let Some(next) = stack.pop() {
            let page = execute(&source, &query, &next).await;
            match page.failure {
                // What was read is committed, so that the part that fails is tried again on its own.
                Some(_) if pages > 0 => {
                    stack.push(next);
                    pieces = stack.len();
                    break;
                }
                Some(failure) => return Err(failure.into()),
                None => {}
            }
            bytes += page.rows.iter().map(|row| row.json().len()).sum::<usize>();
            stack.extend(page.steps.into_iter().rev());
            pages += 1;
            // While the rows are written.
            let look = async {
                match stack.len() > 1 && pages % PAGES_BETWEEN_LOOKS == 1 {
                    true => self.wanted().await,
                    false => Ok(0),
                }
            };
            let (taken, wanted) = match page.rows.is_empty() {
                true => (Tally::default(), look.await?),
                false => tokio::try_join!(action.take(page.rows), look)?,
            };
            result.tally += taken;
            let is_full = result.tally.rows >= job.spec.step_rows || bytes >= STEP_BYTES_MAX;
            if is_full || stack.len() > most || self.is_stopped() {
                pieces = self.wanted().await? + 1;
                break;
            }
            if wanted > 0 {
                // One more, for this worker itself.
                pieces = wanted + 1;
                break;
            }
        }
        let ended = action.finish().await?;
        result.tally += ended.tally;
        result.output = ended.output;
        stack.reverse();
        Ok(Executed {
            result,
            follow_ups: cut(stack, pieces).into_iter().map(Work::Parts).collect(),
        })
    }

    /// How many further steps the fleet could execute now.
    async fn wanted(&self) -> Result<usize, FleetError> {
        self.heartbeat().await?;
        let loops = self.fleet_loops.load(Ordering::Relaxed);
        if loops <= 1 {
            return Ok(0);
        }
        let messages = self.queue.messages().await.map_err(FleetError::Queue)?;
        Ok(wanted(loops, messages))
    }

    /// Commits an executed step; then sends the messages of its follow-up steps, and deletes its own. Returns the follow-up
    /// step that the worker keeps, if there is one.
    async fn commit(
        &self,
        job: &Job,
        step: StepRow,
        executed: Executed,
        delivery: Delivery,
    ) -> Result<Option<OwnStep<'_>>, FleetError> {
        let follow_ups = executed.follow_ups.into_iter();
        let follow_ups = follow_ups.map(|work| StepRow::open(&step.job, work));
        let mut follow_ups = follow_ups.collect::<Result<Vec<_>, _>>()?;
        if let Some(last) = follow_ups.last_mut() {
            last.is_kept = true;
        }
        let written = self
            .table
            .commit(&step, &executed.result, &follow_ups)
            .await?;
        let Written::Yes(mut etags) = written else {
            // Another worker has executed the step, or has failed to: its next receiver reads the row again.
            discard(&self.access, job, &executed.result).await?;
            return self.show(delivery).await.map(|()| None);
        };
        // Without its ETag, the row would have to be read.
        let etag = etags.pop().flatten();
        let kept = follow_ups.pop_if(|last| {
            last.etag = etag;
            last.etag.is_some()
        });
        let ids = follow_ups.into_iter().map(|follow_up| follow_up.id);
        let ids = ids.collect();
        let Some(step) = kept else {
            self.send(ids).await?;
            return self.remove(delivery).await.map(|()| None);
        };
        let (kept, hidden_for) = (step.id.clone(), hidden_for(job));
        // First the new messages: while the queue is empty, an idle worker sends a message for each open step, and two
        // workers would execute the same step.
        let message = async move {
            let keep = self.queue.keep(&kept, hidden_for);
            let keep = keep.map_err(FleetError::Queue);
            let ((), kept) = tokio::try_join!(self.send(ids), keep)?;
            self.remove(delivery).await?;
            Ok(kept)
        };
        let message = message.boxed();
        Ok(Some(OwnStep { step, message }))
    }

    /// Records a failed attempt. The message becomes visible after a growing time, unless the step is dead.
    async fn failed(
        &self,
        job: &Job,
        mut step: StepRow,
        error: &FleetError,
        mut delivery: Delivery,
    ) -> Result<(), FleetError> {
        step.tries += 1;
        let tries = step.tries.max(delivery.deliveries);
        if tries >= job.spec.tries {
            self.table.replace(&dead(step, error_chain(&error))).await?;
            return self.remove(delivery).await;
        }
        step.error = Some(error_chain(&error));
        self.table.replace(&step).await?;
        let pause = Duration::from_secs(1 << tries.min(5));
        let hidden = self.queue.hide(&mut delivery, pause).await;
        hidden.map_err(FleetError::Queue)
    }
}

fn dead(step: StepRow, error: String) -> StepRow {
    StepRow {
        state: StepState::Dead,
        error: Some(error),
        ..step
    }
}
