//! A worker: receives the steps of one job, executes them and commits their results.

use super::coordinator::finish;
use super::jobs::Access;
use super::queue::StepQueue;
use super::store::WorkerRow;
use super::{FleetError, FleetTable, Job, JobState, StepState};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tokio::task::JoinSet;

/// A worker writes its row, and reads the rows of the others, after this time. At first more often, because a fleet starts
/// at about the same time: until a worker has seen the others, it does not cut its steps for them.
const HEARTBEAT: Duration = Duration::from_secs(10);
/// The time between the first two signs of life; the next ones take twice as long each, up to [`HEARTBEAT`].
const HEARTBEAT_FIRST: Duration = Duration::from_millis(100);
/// A worker without a sign of life for this time is dead.
pub(super) const ALIVE: Duration = Duration::from_secs(60);
/// How long a worker waits for a message when there is nothing to do. It looks for the end of the job after each wait, so
/// this bounds how long it works on an ended job.
const WAIT: Duration = Duration::from_secs(1);
/// How long a worker does not read the job's row again while it has steps to execute.
const JOB_KNOWN: Duration = Duration::from_secs(1);
/// Messages that a worker sends when it finds open steps without messages: the others follow when these are done.
const MESSAGES_REBUILT: u32 = 64;

/// How a worker runs.
#[derive(Debug, Clone)]
pub struct WorkerOptions {
    /// Number of steps to execute at the same time, at least 1.
    pub loops: usize,
    /// Host and process, for the status.
    pub name: String,
}

/// Why a worker ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// The job is done, failed or stopped.
    Job(JobState),
    /// [`Worker::stop`] was called.
    Stopped,
}

/// A worker on one job. Cheap to clone; clones are the same worker.
pub struct Worker<Q>(Arc<Inner<Q>>);

impl<Q> Clone for Worker<Q> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

/// What the parallel steps of a worker share.
pub(super) struct Inner<Q> {
    pub(super) table: FleetTable,
    pub(super) queue: Q,
    job: String,
    pub(super) access: Access,
    options: WorkerOptions,
    row: WorkerRow,
    is_stopped: AtomicBool,
    /// Parallel steps of all workers that are alive, as last seen.
    pub(super) fleet_loops: AtomicU64,
    beat: std::sync::Mutex<Beat>,
}

/// When the worker gives its next sign of life.
struct Beat {
    due: Instant,
    /// The time from that one to the one after it.
    every: Duration,
}

impl Beat {
    /// Whether a sign of life is due. If so, sets when the next one is.
    fn is_due(&mut self) -> bool {
        let now = Instant::now();
        let is_due = now >= self.due;
        if is_due {
            self.due = now + self.every;
            self.every = HEARTBEAT.min(self.every * 2);
        }
        is_due
    }
}

impl<Q: StepQueue> Worker<Q> {
    /// A worker on a job. `queue` is the queue of this job.
    pub fn new(
        table: FleetTable,
        queue: Q,
        job: &str,
        access: Access,
        options: WorkerOptions,
    ) -> Self {
        let loops = options.loops.max(1) as u64;
        Self(Arc::new(Inner {
            table,
            queue,
            job: job.to_owned(),
            access,
            row: WorkerRow {
                id: format!("{:016x}", fastrand::u64(..)),
                name: options.name.clone(),
                loops,
                seen: None,
            },
            options,
            is_stopped: AtomicBool::new(false),
            fleet_loops: AtomicU64::new(loops),
            beat: std::sync::Mutex::new(Beat {
                due: Instant::now(),
                every: HEARTBEAT_FIRST,
            }),
        }))
    }

    /// Works until the job is done, failed or stopped, or until [`Self::stop`]. If the future is dropped, the worker stops as
    /// if it had been killed: its steps begin again when their messages are visible.
    ///
    /// # Errors
    /// [`FleetError::OtherAccount`]; [`FleetError`] if the job table or the queue fails. The job is unharmed; another
    /// worker continues.
    pub async fn run(&self) -> Result<Ended, FleetError> {
        self.0.access.check(&self.0.table.job(&self.0.job).await?)?;
        let mut loops = JoinSet::new();
        for _ in 0..self.0.options.loops.max(1) {
            let worker = Arc::clone(&self.0);
            loops.spawn(async move { worker.run_loop().await });
        }
        let mut ended = Ok(Ended::Stopped);
        while let Some(one) = loops.join_next().await {
            match one {
                Ok(Ok(one)) => ended = ended.map(|_| one),
                Ok(Err(error)) => {
                    ended = ended.and(Err(error));
                    self.stop();
                }
                // Tasks are aborted only when the worker is dropped, so this error is a panic of the task.
                Err(error) => std::panic::resume_unwind(error.into_panic()),
            }
        }
        ended
    }

    /// Asks the worker to stop: running steps end after their page, and their open parts become steps.
    pub fn stop(&self) {
        self.0.is_stopped.store(true, Ordering::Relaxed);
    }
}

impl<Q: StepQueue> Inner<Q> {
    async fn run_loop(&self) -> Result<Ended, FleetError> {
        // Only after a look at the rows: what was missing may be the message, or the end of the job.
        let mut wait = Duration::ZERO;
        let mut kept = None;
        let (mut job, mut read) = (self.table.job(&self.job).await?, Instant::now());
        loop {
            if self.is_stopped() {
                self.give_up(kept).await?;
                return Ok(Ended::Stopped);
            }
            if !wait.is_zero() || read.elapsed() >= JOB_KNOWN {
                (job, read) = (self.table.job(&self.job).await?, Instant::now());
            }
            match job.state {
                JobState::Running => {}
                JobState::Stopped => {
                    self.give_up(kept).await?;
                    return Ok(Ended::Job(job.state));
                }
                // What is left are messages of steps that are done.
                JobState::Done | JobState::Failed => {
                    self.queue.delete().await.map_err(FleetError::Queue)?;
                    return Ok(Ended::Job(job.state));
                }
            }
            self.heartbeat().await?;
            if let Some(step) = kept.take() {
                kept = self.run_step(&job, step).await?;
                continue;
            }
            let received = self.queue.receive(hidden_for(&job), wait).await;
            match received.map_err(FleetError::Queue)? {
                Some(delivery) => {
                    wait = Duration::ZERO;
                    if let Some(step) = self.take(&job, delivery).await? {
                        kept = self.run_step(&job, step).await?;
                    }
                }
                None => {
                    wait = WAIT;
                    self.idle(&job).await?;
                }
            }
        }
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.is_stopped.load(Ordering::Relaxed)
    }

    /// Writes the worker's row if it is old, and counts the parallel steps of the fleet.
    pub(super) async fn heartbeat(&self) -> Result<(), FleetError> {
        let is_due = {
            let mut beat = self.beat.lock().expect("no thread panics with this lock");
            beat.is_due()
        };
        if !is_due {
            return Ok(());
        }
        self.table.heartbeat(&self.job, &self.row).await?;
        let workers = self.table.workers(&self.job).await?;
        // The server's clock: the time of the row that was just written.
        let own = workers.iter().find(|worker| worker.id == self.row.id);
        let now = own.and_then(|own| own.seen);
        let alive = workers.iter().filter(|worker| worker.is_alive(now));
        let loops = alive.map(|worker| worker.loops).sum::<u64>();
        self.fleet_loops.store(loops.max(1), Ordering::Relaxed);
        Ok(())
    }

    /// No message is visible: ends the job if no step is open, and sends messages if they were lost.
    async fn idle(&self, job: &Job) -> Result<(), FleetError> {
        let messages = self.queue.messages().await.map_err(FleetError::Queue)?;
        let open = self
            .table
            .ids_in_state(&job.id, StepState::Open, MESSAGES_REBUILT)
            .await?;
        if open.is_empty() {
            return finish(&self.table, &self.access, job).await;
        }
        if messages == 0 {
            self.send(open).await?;
        }
        Ok(())
    }
}

impl WorkerRow {
    /// Whether the worker has recently given a sign of life.
    pub fn is_alive(&self, now: Option<partita_client::DateTime>) -> bool {
        let (Some(seen), Some(now)) = (self.seen, now) else {
            return true;
        };
        // A tick is 100 ns.
        Duration::from_micros(now.ticks().saturating_sub(seen.ticks()) / 10) < ALIVE
    }
}

/// How long the message of a running step is hidden.
pub(super) fn hidden_for(job: &Job) -> Duration {
    Duration::from_secs(job.spec.visibility_seconds.max(1))
}
