//! Background tasks that somebody owns.
//!
//! A task outlives the call that started it, so somebody must know of it: [`Tasks`] names every task, tells all of them when
//! it is time to end, waits for them, and says which ones did not. Clones share one set.
//!
//! Timeline of an orderly end: [`Tasks::shut_down`] → every [`Shutdown::requested`] returns → tasks finish their work →
//! [`Tasks::drain`] returns the names of those that took longer than the deadline (they are aborted when the runtime goes).

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// The tasks of a part of the process.
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

    /// Starts `future` on the current tokio runtime and keeps it under `name`. Dropping the handle does not end the task.
    ///
    /// # Panics
    /// When called outside a tokio runtime.
    pub fn spawn<F>(&self, name: &'static str, future: F) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        let running = Running::enter(&self.inner, name);
        self.inner.tracker.spawn(async move {
            let output = future.await;
            drop(running);
            output
        })
    }

    /// Starts blocking work on the runtime's blocking threads and keeps it under `name`.
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

    /// A view of the end signal, for a task or a part to watch.
    #[must_use]
    pub fn shutdown(&self) -> Shutdown {
        Shutdown {
            token: self.inner.shutdown.clone(),
        }
    }

    /// Tells every task that it is time to end. Does not wait.
    pub fn shut_down(&self) {
        self.inner.shutdown.cancel();
        self.inner.tracker.close();
    }

    /// Asks all tasks to end and waits for them, at most for `deadline`. Returns the names of the tasks still running, each
    /// as often as it runs: empty when all is done. Cancel safe.
    pub async fn drain(&self, deadline: Duration) -> Vec<&'static str> {
        self.shut_down();
        // A timeout is not an error here: the answer is what is left.
        let _ = tokio::time::timeout(deadline, self.inner.tracker.wait()).await;
        let running = self.inner.running.lock();
        running
            .iter()
            .flat_map(|(name, count)| std::iter::repeat_n(*name, *count))
            .collect()
    }
}

/// The end signal of a set of tasks.
#[derive(Clone, Debug)]
pub struct Shutdown {
    token: CancellationToken,
}

impl Shutdown {
    /// Waits until the end was asked for. Cancel safe.
    pub async fn requested(&self) {
        self.token.cancelled().await;
    }

    /// Whether the end was asked for.
    #[must_use]
    pub fn is_requested(&self) -> bool {
        self.token.is_cancelled()
    }
}

/// Counts a task while it lives, also when it panics or is aborted.
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
    async fn tasks_see_the_end_and_are_waited_for() {
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
    async fn a_task_that_does_not_end_is_named() {
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
    async fn a_panic_ends_a_task_and_not_the_count() {
        let tasks = Tasks::new();
        let broken = tasks.spawn("broken", async { panic!("planted") });
        let _: Result<(), _> = broken.await;
        assert_eq!(
            tasks.drain(Duration::from_secs(5)).await,
            Vec::<&str>::new()
        );
    }
}
