//! A scan under way: the frontier's steps as requests, so many at a time.

use super::execute::{ScanError, StepResult, execute};
use super::frontier::{Batch, Frontier, FrontierOptions, Order};
use super::query::Query;
use super::source::PageSource;
use super::step::{Step, StepId};
use super::token::ResumeToken;
use std::collections::VecDeque;
use std::sync::Arc;
use tokio::task::JoinSet;

/// Steps of each job that may be read ahead of the table's order, unless told otherwise.
const STEPS_AHEAD_PER_JOB: usize = 2;

/// How a scan runs. None of it changes which rows are returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunOptions {
    /// Requests at the same time, at least 1.
    pub jobs: usize,
    /// The order in which rows are returned.
    pub order: Order,
    /// Rows that may be read ahead of the table's order; none for twice what all jobs read in one step. Besides, the rows of one
    /// step for each job may be in memory.
    pub buffer_rows_max: Option<usize>,
}

impl Default for RunOptions {
    fn default() -> Self {
        Self {
            jobs: 1,
            order: Order::default(),
            buffer_rows_max: None,
        }
    }
}

/// What a scan has done so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Progress {
    /// Pages asked for.
    pub queries: usize,
    /// Pages read: those that did not fail.
    pub pages: usize,
    /// Rows returned.
    pub rows: usize,
    /// Steps executed, those that failed included.
    pub steps: usize,
}

type Ended<R> = (StepId, StepResult<R>);

/// A scan under way. Steps run as tasks of the runtime that it owns: they go on while the caller is busy with rows, at most one
/// step for each job, and end when the scan is dropped.
#[derive(Debug)]
pub struct Scan<S: PageSource> {
    source: Arc<S>,
    query: Arc<Query>,
    frontier: Frontier<S::Row>,
    tasks: JoinSet<Ended<S::Row>>,
    /// Failures not reported yet, at most one for each job.
    failures: VecDeque<ScanError>,
    progress: Progress,
}

impl<S: PageSource> Scan<S> {
    /// A scan of these steps: those of [`super::Strategy::plan`], or of a [`ResumeToken`].
    #[must_use]
    pub fn new(source: Arc<S>, query: Query, steps: Vec<Step>, options: RunOptions) -> Self {
        let step_rows_max = query.step_rows_max();
        let jobs = options.jobs.max(1);
        let ahead = jobs.saturating_mul(STEPS_AHEAD_PER_JOB);
        let frontier = FrontierOptions {
            order: options.order,
            jobs,
            step_rows_max,
            buffer_rows_max: options
                .buffer_rows_max
                .unwrap_or(ahead.saturating_mul(step_rows_max)),
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

    /// The next rows; `None` when all are returned. Must be called within a tokio runtime.
    ///
    /// The future may be dropped at any time without losing rows.
    ///
    /// # Errors
    /// [`ScanError`]. Nothing is lost then: the step that failed is open again, the others go on, and the next call tries it once
    /// more. Pauses and the end of patience are the source's or the caller's. A caller that gives up has [`Self::token`].
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
                    "a scan with open steps has one under way"
                );
                return None;
            };
            match ended {
                Ok((id, result)) => self.end_step(id, result),
                // Only a scan that is dropped aborts its tasks, so this one panicked.
                Err(error) => std::panic::resume_unwind(error.into_panic()),
            }
        }
    }

    /// Where the scan stands: what [`Self::next`] has not returned. A scan that goes on from there returns exactly those rows.
    #[must_use]
    pub fn token(&self) -> ResumeToken {
        ResumeToken::new(&self.query, self.frontier.open_steps())
    }

    /// What it has done so far.
    #[must_use]
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
        self.progress.queries += result.queries;
        // A page that fails ends its step.
        self.progress.pages += result.queries - usize::from(result.failure.is_some());
        self.progress.steps += 1;
        self.failures.extend(result.failure.take());
        self.frontier.finish(id, result);
    }
}
