//! Jobs: work that takes longer than a request of the admin port. One request starts a job, others poll it.
//!
//! - A job continues when its caller disconnects. It ends with an error when the server stops.
//! - The last [`JOBS_MAX`] jobs are remembered, until the process ends.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use partita_rt::Tasks;
use partita_wire::admin::{self, JobParams, JobResult, JobState};

/// The maximum number of jobs that are remembered. The oldest job that has ended is forgotten first.
const JOBS_MAX: usize = 100;

/// The maximum number of jobs that run at the same time: each reads a snapshot as fast as it can.
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
    /// The kind of work, such as `backup`.
    kind: &'static str,
    params: JobParams,
    /// Rows so far.
    pub(crate) rows: AtomicU64,
    /// Bytes so far.
    pub(crate) bytes: AtomicU64,
    /// `None` while it runs.
    result: Mutex<Option<Result<JobResult, String>>>,
}

impl Job {
    /// Reports progress.
    pub(crate) fn note(&self, rows: u64, bytes: u64) {
        self.rows.store(rows, Ordering::Relaxed);
        self.bytes.store(bytes, Ordering::Relaxed);
    }

    /// The job as the admin API shows it.
    pub(crate) fn describe(&self) -> admin::Job {
        let (state, result, error) = match &*self.result.lock() {
            None => (JobState::Running, None, None),
            Some(Ok(result)) => (JobState::Done, Some(result.clone()), None),
            Some(Err(error)) => (JobState::Failed, None, Some(error.clone())),
        };
        admin::Job {
            id: self.id,
            kind: self.kind.to_owned(),
            asked: self.params.clone(),
            state,
            rows: self.rows.load(Ordering::Relaxed),
            bytes: self.bytes.load(Ordering::Relaxed),
            result,
            error,
        }
    }

    fn is_running(&self) -> bool {
        self.result.lock().is_none()
    }
}

impl Jobs {
    /// Begins the ids at a random number, so that the jobs of several servers have different ids.
    pub(crate) fn number_apart(&self) {
        let first = partita_rt::random::u64() % (1 << 30) * 1000;
        self.last.store(first, Ordering::Relaxed);
    }

    /// Starts a job as one of `tasks`; `None` when too many are running.
    pub(crate) fn start<F, W>(
        &self,
        tasks: &Tasks,
        kind: &'static str,
        params: JobParams,
        work: F,
    ) -> Option<Arc<Job>>
    where
        F: FnOnce(Arc<Job>) -> W,
        W: Future<Output = Result<JobResult, String>> + Send + 'static,
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
            result: Mutex::new(None),
        });
        jobs.insert(job.id, Arc::clone(&job));
        let finished = jobs.iter().find(|(_, job)| !job.is_running());
        if let Some((oldest, _)) = finished.filter(|_| jobs.len() > JOBS_MAX) {
            let oldest = *oldest;
            jobs.remove(&oldest);
        }
        drop(jobs);
        let (shutdown, started) = (tasks.shutdown(), Arc::clone(&job));
        let work = work(Arc::clone(&job));
        tasks.spawn(kind, async move {
            let ended = tokio::select! {
                ended = work => ended,
                () = shutdown.requested() => Err("the server stopped".to_owned()),
            };
            match &ended {
                Ok(_) => tracing::info!(job = started.id, kind, "job done"),
                Err(error) => tracing::warn!(job = started.id, kind, error, "job failed"),
            }
            *started.result.lock() = Some(ended);
        });
        Some(job)
    }

    /// All remembered jobs, latest first.
    pub(crate) fn list(&self) -> Vec<Arc<Job>> {
        self.jobs.lock().values().rev().cloned().collect()
    }

    /// The job with this id.
    pub(crate) fn find(&self, id: u64) -> Option<Arc<Job>> {
        self.jobs.lock().get(&id).cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn params() -> JobParams {
        JobParams::Copy {
            snapshot: "s".to_owned(),
            to: "/backups".to_owned(),
        }
    }

    fn rows(rows: u64) -> JobResult {
        JobResult::Unpacked {
            rows,
            bytes: 0,
            warning: None,
        }
    }

    #[tokio::test]
    async fn old_jobs_are_forgotten_once_they_have_ended() {
        let (jobs, tasks) = (Jobs::default(), Tasks::new());
        let mut held = Vec::new();
        for _ in 0..RUNNING_MAX {
            let (release, released) = tokio::sync::oneshot::channel();
            let work = |job: Arc<Job>| async move {
                job.note(1, 2);
                released.await.map_err(|_| "dropped".to_owned())
            };
            jobs.start(&tasks, "test", params(), work).unwrap();
            held.push(release);
        }
        let quick = |_: Arc<Job>| async { Ok(rows(0)) };
        assert!(jobs.start(&tasks, "test", params(), quick).is_none());
        held.pop().unwrap().send(rows(7)).unwrap();
        drop(held.pop());
        while jobs.list().iter().filter(|job| job.is_running()).count() > RUNNING_MAX - 2 {
            tokio::task::yield_now().await;
        }
        let done = jobs.find(4).unwrap().describe();
        assert_eq!(
            (done.state, done.result, done.rows),
            (JobState::Done, Some(rows(7)), 1)
        );
        let failed = jobs.find(3).unwrap().describe();
        assert_eq!(
            (failed.state, failed.error.as_deref()),
            (JobState::Failed, Some("dropped"))
        );
        for _ in 0..2 * JOBS_MAX {
            while jobs.start(&tasks, "test", params(), quick).is_none() {
                tokio::task::yield_now().await;
            }
        }
        assert!(jobs.list().len() <= JOBS_MAX + RUNNING_MAX);
        assert!(
            jobs.find(1).unwrap().is_running(),
            "a running job is not forgotten"
        );
        tasks.shut_down();
        while jobs.find(1).unwrap().is_running() {
            tokio::task::yield_now().await;
        }
        let stopped = jobs.find(1).unwrap().describe();
        assert_eq!(stopped.error.as_deref(), Some("the server stopped"));
    }
}
