//! Fleets: work on the rows of a table by many worker processes, which share a queue and a table of the account.
//!
//! A job cuts its table into the steps of a scan; a step of an import is a file. Each step has a row in the job table
//! and, while it is open, a message in the job's queue. A worker receives a message, executes the step, and commits the result to the row.
//!
//! ```text
//! table PartitaFleet                                            queue partita-fleet-JOB
//!   jobs   JOB          spec, state, totals of an ended job        message = step id: only a hint
//!   JOB    step-ID      work, state open|done|dead, result
//!   JOB    worker-ID    heartbeat, parallel steps
//! ```
//!
//! # Life of a step
//! ```text
//! 1 receive its message, which is hidden for the visibility timeout; renewed while the step runs
//! 2 read its row: a row that is not open needs no work
//! 3 read pages, depth-first, and apply the job's effect to each: idempotent writes, or a file that no other run has
//! 4 stop at the end, after `step_rows` rows, or when other workers have no steps
//! 5 COMMIT, one transaction in the job's partition: this row open ─▶ done with the result, if its ETag is unchanged,
//!   and a new open row for each follow-up step
//! 6 send the messages of the follow-up steps; that of the last one, which the worker keeps, hidden
//! 7 delete the message
//! ```
//! A kept step goes on with 3 at once, while 6 and 7 of the step before it take place.
//!
//! # Why the result is exact
//! - The commit is atomic. So a step is done exactly when its follow-up steps exist, and at any time the open rows and
//!   the done rows together cover each row of the table once.
//! - The commit is conditional. Of two workers on one step, even with different follow-up steps, one commits. The other
//!   discards its result.
//! - Totals are sums over the done rows, never counters.
//! - Messages are hints. If the queue has no message although rows are open, any worker sends new ones
//!   ([`Worker::run`]). A message of a step that is not open is deleted.
//!
//! | a worker dies | the rows say | who continues |
//! | --- | --- | --- |
//! | before 5 | open | after the visibility timeout, the message is received again |
//! | during 5 | open or done, never half | the same; a done step's message is deleted |
//! | between 5 and 6 | done, follow-up steps open | a worker with an empty queue sends their messages |
//! | between 6 and 7 | done | the next receiver deletes the message |
//! | at the end of a job, before its state is written | no open row | any worker ends the job again, with equal totals |
//!
//! A step that fails is tried again later. After `tries` attempts it is dead: its row has the error, the job ends as
//! failed, and [`resume`] opens it again.
//!
//! # Depth-first and breadth-first
//! Within a step, a worker goes depth-first from a stack, in the table's order. When fewer messages wait than the fleet
//! has parallel steps, a step ends after its next page, and its open parts become separate steps, up to
//! [`WAITING_PER_LOOP`] messages for each parallel step: breadth-first. Otherwise it runs up to `step_rows` rows, and its
//! open parts become one step. So the queue stays short, and a worker that is alone cuts nothing.

mod appetite;
mod coordinator;
mod delivery;
mod error;
mod job;
mod job_spec;
mod job_state;
mod jobs;
#[cfg(feature = "planted-bugs")]
mod planted;
mod queue;
mod row_hash;
mod service_queue;
mod status;
mod step_row;
mod store;
mod tally;
mod text_property;
mod verify;
mod work;
mod worker;

pub use appetite::WAITING_PER_LOOP;
pub use coordinator::{announce, plan, resume, start, start_import, stop};
pub use error::FleetError;
pub use job::Job;
pub use job_spec::{JobKind, JobSpec, Per, TablePlace};
pub use job_state::JobState;
pub use jobs::Access;
pub use jobs::import::ImportPlan;
pub use queue::{Delivery, QueueError, StepQueue};
pub use row_hash::RowHash;
pub use service_queue::ServiceQueue;
pub use status::{JobStatus, status};
pub use step_row::{StepRow, StepState, StepSummary};
pub use store::{FLEET_TABLE, FleetTable, WorkerRow};
pub use tally::Tally;
pub use verify::{Verification, verify};
pub use work::{ImportFile, Work};
pub use worker::{Ended, Worker, WorkerOptions};
