//! Background tasks with an owner that stops them.
//!
//! A task outlives the call that started it. So [`Tasks`] names every task, signals shutdown to all tasks, waits for
//! them, and returns the names of unfinished tasks. Clones share one set.
//!
//! Timeline of a shutdown: [`Tasks::shut_down`] → every [`Shutdown::requested`] returns → tasks finish their work →
//! [`Tasks::drain`] returns the names of the tasks that missed the deadline; the end of the runtime aborts them.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// A set of named tasks.
#[derive(Clone, Debug, Default)]
pub struct Tasks {
    inner: Arc<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    tracker: TaskTracker,
    shutdown: CancellationToken,
    running: Mutex<BTreeMap<&'static str, usize>>,
}

impl Tasks {
    /// An empty set of tasks.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Starts `future` on the current tokio runtime and keeps it under `name`. Dropping the handle does not end the
    /// task.
    ///
    /// # Panics
    /// When called outside a tokio runtime.
    pub fn spawn<F>(&self, name: &'static str, future: F) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        let running = Running::enter(&self.inner, name);
        // Boxed, so that Tokio's code of a task is compiled once per type of output instead of once per task.
        let future: Pin<Box<dyn Future<Output = F::Output> + Send>> = Box::pin(future);
        self.inner.tracker.spawn(async move {
            let output = future.await;
            drop(running);
            output
        })
    }

    /// Starts blocking work on a blocking thread and keeps it under `name`.
    ///
    /// # Panics
    /// When called outside a tokio runtime.
    pub fn spawn_blocking<F, T>(&self, name: &'static str, work: F) -> JoinHandle<T>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        let running = Running::enter(&self.inner, name);
        let tracked = self.inner.tracker.token();
        crate::threads::spawn_blocking(move || {
            let output = work();
            drop((running, tracked));
            output
        })
    }

    /// The shutdown signal.
    #[must_use]
    pub fn shutdown(&self) -> Shutdown {
        Shutdown {
            token: self.inner.shutdown.clone(),
        }
    }

    /// Signals shutdown to every task. Does not wait.
    pub fn shut_down(&self) {
        self.inner.shutdown.cancel();
        self.inner.tracker.close();
    }

    /// Signals shutdown and waits until all tasks have ended, at most for `deadline`. Returns the names of the tasks
    /// that still run, one for each task. Cancel safe.
    pub async fn drain(&self, deadline: Duration) -> Vec<&'static str> {
        self.shut_down();
        // A timeout is not an error: the result lists the unfinished tasks.
        let _ = tokio::time::timeout(deadline, self.inner.tracker.wait()).await;
        let running = self.inner.running.lock();
        running
            .iter()
            .flat_map(|(name, count)| std::iter::repeat_n(*name, *count))
            .collect()
    }
}

/// The shutdown signal of a set of tasks.
#[derive(Clone, Debug)]
pub struct Shutdown {
    token: CancellationToken,
}

impl Shutdown {
    /// Waits until shutdown is requested. Cancel safe.
    pub async fn requested(&self) {
        self.token.cancelled().await;
    }

    /// Whether shutdown was requested.
    #[must_use]
    pub fn is_requested(&self) -> bool {
        self.token.is_cancelled()
    }
}

/// Counts a task until it ends, including by a panic or an abort.
struct Running {
    inner: Arc<Inner>,
    name: &'static str,
}

impl Running {
    fn enter(inner: &Arc<Inner>, name: &'static str) -> Self {
        *inner.running.lock().entry(name).or_default() += 1;
        Self {
            inner: Arc::clone(inner),
            name,
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let mut running = self.inner.running.lock();
        if let Some(count) = running.get_mut(self.name) {
            *count -= 1;
            if *count == 0 {
                running.remove(self.name);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn drain_signals_shutdown_and_waits_for_tasks() {
        let tasks = Tasks::new();
        let shutdown = tasks.shutdown();
        let watcher = tasks.spawn("watcher", async move {
            shutdown.requested().await;
            7
        });
        assert!(!tasks.shutdown().is_requested());
        assert_eq!(
            tasks.drain(Duration::from_secs(5)).await,
            Vec::<&str>::new()
        );
        assert!(tasks.shutdown().is_requested());
        assert_eq!(watcher.await.unwrap(), 7);
    }

    #[tokio::test]
    async fn drain_returns_the_names_of_unfinished_tasks() {
        let tasks = Tasks::new();
        let stuck = tasks.spawn("stuck", std::future::pending::<()>());
        tasks.spawn("quick", async {});
        assert_eq!(tasks.drain(Duration::from_millis(20)).await, ["stuck"]);
        stuck.abort();
        assert!(stuck.await.unwrap_err().is_cancelled());
        assert_eq!(
            tasks.drain(Duration::from_secs(5)).await,
            Vec::<&str>::new()
        );
    }

    #[tokio::test]
    async fn a_panicked_task_is_not_counted_as_running() {
        let tasks = Tasks::new();
        let broken = tasks.spawn("broken", async { panic!("planted") });
        let _: Result<(), _> = broken.await;
        assert_eq!(
            tasks.drain(Duration::from_secs(5)).await,
            Vec::<&str>::new()
        );
    }
}
