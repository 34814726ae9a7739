//! A running scan: executes the open steps, several at a time.

use super::execute::{ScanError, StepResult, execute};
use super::frontier::{Batch, Frontier, FrontierOptions, Order};
use super::query::Query;
use super::source::PageSource;
use super::step::{Step, StepId};
use super::token::ResumeToken;
use std::collections::VecDeque;
use std::sync::Arc;
use tokio::task::JoinSet;

/// Pages per job that [`Order::Table`] may read before earlier rows are returned.
const STEPS_AHEAD_PER_JOB: usize = 2;

/// How a scan runs. No option changes which rows are returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RunOptions {
    /// Maximum number of parallel requests, at least 1.
    pub jobs: usize,
    /// The order in which rows are returned.
    pub order: Order,
}

/// The counts of a scan until now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Progress {
    /// Pages requested.
    pub queries: usize,
    /// Pages read successfully.
    pub pages: usize,
    /// Rows returned.
    pub rows: usize,
}

type Ended<R> = (StepId, StepResult<R>);

/// A running scan. Steps run as tasks that the scan owns, at most one for each job. The tasks continue while the caller
/// processes rows, and are cancelled when the scan is dropped. With [`Order::Table`], the rows of at most two pages per
/// job, and of one more page, wait to be returned.
#[derive(Debug)]
pub struct Scan<S: PageSource> {
    source: Arc<S>,
    query: Arc<Query>,
    frontier: Frontier<S::Row>,
    tasks: JoinSet<Ended<S::Row>>,
    /// Failures not yet reported, at most one for each job.
    failures: VecDeque<ScanError>,
    progress: Progress,
}

impl<S: PageSource> Scan<S> {
    /// A scan with these first steps, from [`super::Strategy::plan`] or from a [`ResumeToken`].
    pub fn new(source: Arc<S>, query: Query, steps: Vec<Step>, options: RunOptions) -> Self {
        let step_rows_max = query.options().page_rows;
        let jobs = options.jobs.max(1);
        let ahead = jobs.saturating_mul(STEPS_AHEAD_PER_JOB);
        let frontier = FrontierOptions {
            order: options.order,
            jobs,
            step_rows_max,
            buffer_rows_max: ahead.saturating_mul(step_rows_max),
        };
        Self {
            source,
            query: Arc::new(query),
            frontier: Frontier::new(steps, frontier),
            tasks: JoinSet::new(),
            failures: VecDeque::new(),
            progress: Progress::default(),
        }
    }

    /// The next rows; `None` when all rows are returned. Must be called within a tokio runtime.
    ///
    /// The future may be dropped at any time without losing rows.
    ///
    /// # Errors
    /// [`ScanError`]. No rows are lost: the other steps continue, and the next call retries the failed step. The source
    /// and the caller decide on pauses and on the number of retries. A caller that gives up can resume from
    /// [`Self::token`].
    pub async fn next(&mut self) -> Option<Result<Batch<S::Row>, ScanError>> {
        loop {
            if let Some(batch) = self.frontier.take() {
                self.progress.rows += batch.rows.len();
                return Some(Ok(batch));
            }
            if let Some(failure) = self.failures.pop_front() {
                return Some(Err(failure));
            }
            self.start_steps();
            let Some(ended) = self.tasks.join_next().await else {
                assert!(
                    self.frontier.is_done(),
                    "a scan with open steps has a running step"
                );
                return None;
            };
            match ended {
                Ok((id, result)) => self.end_step(id, result),
                // Tasks are aborted only when the scan is dropped, so this error is a panic of the task.
                Err(error) => std::panic::resume_unwind(error.into_panic()),
            }
        }
    }

    /// The position of the scan: a scan that resumes from it returns exactly the rows that [`Self::next`] has not yet
    /// returned.
    pub fn token(&self) -> ResumeToken {
        ResumeToken::new(&self.query, self.frontier.open_steps())
    }

    /// The current counts.
    pub fn progress(&self) -> Progress {
        self.progress
    }

    fn start_steps(&mut self) {
        while let Some(step) = self.frontier.start() {
            let (source, query) = (Arc::clone(&self.source), Arc::clone(&self.query));
            self.tasks.spawn(async move {
                let result = execute(&*source, &query, &step).await;
                (step.id(), result)
            });
        }
    }

    fn end_step(&mut self, id: StepId, mut result: StepResult<S::Row>) {
        self.progress.queries += 1;
        self.progress.pages += usize::from(result.failure.is_none());
        self.failures.extend(result.failure.take());
        self.frontier.finish(id, result);
    }
}
