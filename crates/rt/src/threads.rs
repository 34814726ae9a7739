//! Threads: a thread with its own runtime, a pool of threads, and blocking work.
//!
//! In a [simulated world](crate::world) no thread starts: the same work runs as tasks of the current runtime, and
//! blocking work runs when its task is polled. For callers only the timing differs.

use std::future::Future;
use std::io;
use std::thread;

use parking_lot::Mutex;
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::task::JoinHandle;

use crate::world;

/// The nice value of a pool's threads: on a busy machine they get a tenth of the processor time of other threads.
#[cfg(target_os = "linux")]
const NICE: i32 = 10;

/// A thread with its own single-threaded runtime.
#[derive(Debug)]
pub struct OwnThread {
    runtime: Handle,
    running: Mutex<Option<Running>>,
}

#[derive(Debug)]
enum Running {
    Thread(thread::JoinHandle<()>),
    Task(JoinHandle<()>),
}

impl OwnThread {
    /// Starts a thread called `name` that runs `work`, and the tasks of its [`OwnThread::runtime`] until `work` ends.
    /// The runtime has timers and no I/O.
    ///
    /// # Errors
    /// When the system cannot start a thread.
    ///
    /// # Panics
    /// In a simulated world, when called outside a tokio runtime.
    #[allow(
        clippy::disallowed_methods,
        reason = "the only place that starts threads with runtimes"
    )]
    pub fn start<F>(name: &'static str, work: F) -> io::Result<Self>
    where
        F: Future<Output = ()> + Send + 'static,
    {
        if world::is_simulated() {
            let runtime = Handle::current();
            let task = runtime.spawn(work);
            return Ok(Self {
                runtime,
                running: Mutex::new(Some(Running::Task(task))),
            });
        }
        let runtime = Builder::new_current_thread()
            .enable_time()
            .thread_name(name)
            .build()?;
        let handle = runtime.handle().clone();
        let thread = thread::Builder::new()
            .name(name.to_owned())
            .spawn(move || runtime.block_on(work))?;
        Ok(Self {
            runtime: handle,
            running: Mutex::new(Some(Running::Thread(thread))),
        })
    }

    /// The runtime of the thread.
    #[must_use]
    pub fn runtime(&self) -> &Handle {
        &self.runtime
    }

    /// Waits until the work has ended. A panic of the work ends the wait too. A second call returns immediately.
    pub async fn join(&self) {
        let running = self.running.lock().take();
        // An error means that the work panicked: it has ended.
        match running {
            Some(Running::Thread(thread)) => drop(spawn_blocking(move || thread.join()).await),
            Some(Running::Task(task)) => drop(task.await),
            None => {}
        }
    }
}

/// The settings of a pool of threads.
#[derive(Clone, Copy, Debug)]
pub struct PoolSettings {
    /// The name of its threads.
    pub name: &'static str,
    /// The number of threads that run tasks.
    pub threads: usize,
    /// The maximum number of threads for blocking work.
    pub blocking_threads_max: usize,
}

/// Threads for background work, of a lower priority: on a busy machine requests come first.
#[derive(Debug)]
pub struct Pool {
    handle: Handle,
    /// `None` in a simulated world, where the pool is the current runtime.
    runtime: Mutex<Option<Runtime>>,
}

impl Pool {
    /// Starts the threads. Their runtime has timers and no I/O.
    ///
    /// # Errors
    /// When the system cannot start the threads.
    ///
    /// # Panics
    /// In a simulated world, when called outside a tokio runtime.
    #[allow(
        clippy::disallowed_methods,
        reason = "the only place that starts threads with runtimes"
    )]
    pub fn start(settings: PoolSettings) -> io::Result<Self> {
        if world::is_simulated() {
            return Ok(Self {
                handle: Handle::current(),
                runtime: Mutex::new(None),
            });
        }
        let runtime = Builder::new_multi_thread()
            .worker_threads(settings.threads)
            .max_blocking_threads(settings.blocking_threads_max)
            .thread_name(settings.name)
            .on_thread_start(lower_priority)
            .enable_time()
            .build()?;
        Ok(Self {
            handle: runtime.handle().clone(),
            runtime: Mutex::new(Some(runtime)),
        })
    }

    /// The runtime of the threads.
    #[must_use]
    pub fn handle(&self) -> &Handle {
        &self.handle
    }

    /// Ends the threads without waiting for them. In a simulated world the tasks of the pool run on until the current
    /// runtime ends.
    pub fn stop(&self) {
        if let Some(runtime) = self.runtime.lock().take() {
            runtime.shutdown_background();
        }
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.stop();
    }
}

/// The number of the machine's cores. Constant in a simulated world, so that runs do not differ between machines.
#[allow(
    clippy::disallowed_methods,
    reason = "the only place that reads the number of cores"
)]
#[must_use]
pub fn cores() -> usize {
    const USUAL: usize = 2;
    if world::is_simulated() {
        return USUAL;
    }
    thread::available_parallelism().map_or(USUAL, usize::from)
}

/// Runs blocking work on a separate thread, so that it does not delay requests; in a simulated world, in a separate
/// task.
///
/// # Panics
/// When called outside a tokio runtime.
#[allow(
    clippy::disallowed_methods,
    reason = "the only place that starts blocking threads, or tasks for them in a simulated world"
)]
pub fn spawn_blocking<F, T>(work: F) -> JoinHandle<T>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    if world::is_simulated() {
        return tokio::spawn(async move { work() });
    }
    tokio::task::spawn_blocking(work)
}

/// Lowers the priority of this thread, only on Linux, which has a priority for each thread. Without permission the
/// priority does not change.
fn lower_priority() {
    #[cfg(target_os = "linux")]
    let _ = rustix::process::nice(NICE);
}

#[cfg(test)]
mod tests {
    use std::thread::ThreadId;

    use tokio::sync::oneshot;

    use super::*;

    fn this_thread() -> ThreadId {
        thread::current().id()
    }

    /// The thread ids of work, of its tasks, of a pool's tasks and of blocking work.
    async fn threads_of_work() -> Vec<ThreadId> {
        let (sender, receiver) = oneshot::channel();
        let (end, ended) = oneshot::channel::<()>();
        let own = OwnThread::start("test-own", async move {
            sender.send(this_thread()).unwrap();
            ended.await.unwrap();
        })
        .unwrap();
        let pool = Pool::start(PoolSettings {
            name: "test-pool",
            threads: 1,
            blocking_threads_max: 1,
        })
        .unwrap();
        let threads = vec![
            receiver.await.unwrap(),
            own.runtime().spawn(async { this_thread() }).await.unwrap(),
            pool.handle().spawn(async { this_thread() }).await.unwrap(),
            spawn_blocking(this_thread).await.unwrap(),
        ];
        end.send(()).unwrap();
        own.join().await;
        own.join().await;
        pool.stop();
        threads
    }

    #[tokio::test]
    async fn work_runs_on_separate_threads() {
        let threads = threads_of_work().await;
        assert_eq!(threads[0], threads[1]);
        assert!(!threads.contains(&this_thread()));
        assert_ne!(threads[1], threads[2]);
    }

    #[tokio::test]
    async fn in_a_simulated_world_all_work_runs_on_one_thread() {
        let _world = world::simulate();
        assert_eq!(threads_of_work().await, [this_thread(); 4]);
    }

    #[tokio::test]
    async fn join_returns_after_a_panic() {
        let own = OwnThread::start("test-panic", async { panic!("planted") }).unwrap();
        own.join().await;
    }
}
