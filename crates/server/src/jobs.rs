//! Background jobs of the admin port: work that takes longer than a request. One request starts a job, others query it.
//!
//! - A job runs to its end, even if the client that started it disconnects; stopping the server cancels it.
//! - The last [`JOBS_MAX`] jobs are kept in memory until the process ends.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use partita_rt::Tasks;
use serde_json::{Value, json};

/// Jobs kept; the oldest finished one is dropped first.
const JOBS_MAX: usize = 100;

/// Jobs that run at the same time: each reads a snapshot as fast as it can.
const RUNNING_MAX: usize = 4;

/// All jobs of the process.
#[derive(Debug, Default)]
pub(crate) struct Jobs {
    jobs: Mutex<BTreeMap<u64, Arc<Job>>>,
    last: AtomicU64,
}

/// One job.
#[derive(Debug)]
pub(crate) struct Job {
    id: u64,
    /// What it does, in one word.
    kind: &'static str,
    /// The parameters of the request that started it.
    params: Value,
    /// Rows so far.
    pub(crate) rows: AtomicU64,
    /// Bytes so far.
    pub(crate) bytes: AtomicU64,
    state: Mutex<State>,
}

#[derive(Debug)]
enum State {
    Running,
    Done(Value),
    Failed(String),
}

impl Job {
    /// Sets its progress.
    pub(crate) fn note(&self, rows: u64, bytes: u64) {
        self.rows.store(rows, Ordering::Relaxed);
        self.bytes.store(bytes, Ordering::Relaxed);
    }

    /// The job as the admin port reports it.
    pub(crate) fn as_json(&self) -> Value {
        let (state, result, error) = match &*self.state.lock() {
            State::Running => ("running", Value::Null, Value::Null),
            State::Done(result) => ("done", result.clone(), Value::Null),
            State::Failed(error) => ("failed", Value::Null, json!(error)),
        };
        json!({
            "id": self.id,
            "kind": self.kind,
            "asked": self.params,
            "state": state,
            "rows": self.rows.load(Ordering::Relaxed),
            "bytes": self.bytes.load(Ordering::Relaxed),
            "result": result,
            "error": error,
        })
    }

    fn is_running(&self) -> bool {
        matches!(*self.state.lock(), State::Running)
    }
}

impl Jobs {
    /// Starts a job as one of `tasks`; `None` when too many are running.
    pub(crate) fn start<F, W>(
        &self,
        tasks: &Tasks,
        kind: &'static str,
        params: Value,
        work: F,
    ) -> Option<Arc<Job>>
    where
        F: FnOnce(Arc<Job>) -> W,
        W: Future<Output = Result<Value, String>> + Send + 'static,
    {
        let mut jobs = self.jobs.lock();
        if jobs.values().filter(|job| job.is_running()).count() >= RUNNING_MAX {
            return None;
        }
        let job = Arc::new(Job {
            id: self.last.fetch_add(1, Ordering::Relaxed) + 1,
            kind,
            params,
            rows: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            state: Mutex::new(State::Running),
        });
        jobs.insert(job.id, Arc::clone(&job));
        let finished = jobs.iter().find(|(_, job)| !job.is_running());
        if let Some((oldest, _)) = finished.filter(|_| jobs.len() > JOBS_MAX) {
            let oldest = *oldest;
            jobs.remove(&oldest);
        }
        drop(jobs);
        let (shutdown, work, started) =
            (tasks.shutdown(), work(Arc::clone(&job)), Arc::clone(&job));
        tasks.spawn(kind, async move {
            let ended = tokio::select! {
                ended = work => ended,
                () = shutdown.requested() => Err("the server stopped".to_owned()),
            };
            *started.state.lock() = match ended {
                Ok(result) => {
                    tracing::info!(job = started.id, kind, "job finished");
                    State::Done(result)
                }
                Err(error) => {
                    tracing::warn!(job = started.id, kind, error, "job failed");
                    State::Failed(error)
                }
            };
        });
        Some(job)
    }

    /// All jobs kept, the latest first.
    pub(crate) fn list(&self) -> Vec<Arc<Job>> {
        self.jobs.lock().values().rev().cloned().collect()
    }

    /// The job with this id, if it is kept.
    pub(crate) fn find(&self, id: u64) -> Option<Arc<Job>> {
        self.jobs.lock().get(&id).cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn jobs_finish_and_old_ones_are_dropped() {
        let (jobs, tasks) = (Jobs::default(), Tasks::new());
        let mut held = Vec::new();
        for _ in 0..RUNNING_MAX {
            let (release, released) = tokio::sync::oneshot::channel();
            let work = |job: Arc<Job>| async move {
                job.note(1, 2);
                released.await.map_err(|_| "dropped".to_owned())
            };
            jobs.start(&tasks, "test", Value::Null, work).unwrap();
            held.push(release);
        }
        let quick = |_: Arc<Job>| async { Ok(json!({})) };
        assert!(jobs.start(&tasks, "test", Value::Null, quick).is_none());
        held.pop().unwrap().send(json!(7)).unwrap();
        drop(held.pop());
        while jobs.list().iter().filter(|job| job.is_running()).count() > RUNNING_MAX - 2 {
            tokio::task::yield_now().await;
        }
        let done = jobs.find(4).unwrap().as_json();
        assert_eq!(
            (&done["state"], &done["result"], &done["rows"]),
            (&json!("done"), &json!(7), &json!(1))
        );
        let failed = jobs.find(3).unwrap().as_json();
        assert_eq!(
            (&failed["state"], &failed["error"]),
            (&json!("failed"), &json!("dropped"))
        );
        for _ in 0..2 * JOBS_MAX {
            while jobs.start(&tasks, "test", Value::Null, quick).is_none() {
                tokio::task::yield_now().await;
            }
        }
        assert!(jobs.list().len() <= JOBS_MAX + RUNNING_MAX);
        assert!(jobs.find(1).unwrap().is_running(), "a running job is kept");
        tasks.shut_down();
        while jobs.find(1).unwrap().is_running() {
            tokio::task::yield_now().await;
        }
        let cancelled = jobs.find(1).unwrap().as_json();
        assert_eq!(cancelled["error"], "the server stopped");
    }
}
