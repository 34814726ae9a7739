//! The driver: feeds events to the [controller](crate::controller) and carries out its actions.
//!
//! A mutex guards the state during a step. Each action runs in a separate task and returns the next event, so a request
//! completes even if its caller is dropped.

mod perform;
mod start;

use crate::controller::{Action, Event, JobId, Outcome, Request, State, step};
use crate::coordinator::Coordinator;
use crate::display_key::DisplayKey;
use crate::error::{ChangeRefused, StartError};
use crate::host::Host;
use crate::map::{MapRecord, MapStore, RangeSpec};
use crate::pins::PinRecords;
use futures::FutureExt;
use parking_lot::Mutex;
use partita_engine::EngineSet;
use partita_rt::{Clock, Tasks};
use std::collections::HashMap;
use std::fmt;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::sync::{oneshot, watch};

/// The dependencies of the driver.
pub(crate) struct DriverParts {
    pub(crate) host: Arc<dyn Host>,
    pub(crate) coordinator: Arc<dyn Coordinator>,
    pub(crate) store: Arc<dyn MapStore>,
    /// The databases of the store, open on any host.
    pub(crate) engines: Arc<dyn EngineSet>,
    pub(crate) pins: Arc<dyn PinRecords>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) tasks: Tasks,
}

/// Runs the controller.
pub(crate) struct Driver {
    parts: DriverParts,
    state: Mutex<State>,
    last_job: AtomicU64,
    /// The callers that wait for the result of a job.
    waiting: Mutex<HashMap<JobId, oneshot::Sender<Reply>>>,
    /// Whether another process has stored a version of the map that this one wanted to store. In a cluster, this term is
    /// over then: the state is not that of the newest version.
    conflict: watch::Sender<bool>,
    /// Notified when the ranges of a change may be assigned again.
    decided: watch::Sender<()>,
    /// The caller that waits for the start.
    starting: Mutex<Option<oneshot::Sender<Result<(), StartError>>>>,
}

/// The result of a request.
enum Reply {
    Over(Result<Outcome, ChangeRefused>),
    Locked(ChangeGuard),
}

/// The change lock: while it is held, no range is split or merged, no database is deleted, and no other task creates or
/// deletes a snapshot. Dropping it releases the lock.
pub struct ChangeGuard {
    driver: Arc<Driver>,
    job: JobId,
}

impl fmt::Debug for ChangeGuard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ChangeGuard").field(&self.job).finish()
    }
}

impl ChangeGuard {
    /// Whether it is the lock of this controller.
    pub(crate) fn is_of(&self, driver: &Arc<Driver>) -> bool {
        Arc::ptr_eq(&self.driver, driver)
    }
}

impl Drop for ChangeGuard {
    fn drop(&mut self) {
        self.driver.feed(Event::Released(self.job));
    }
}

impl Driver {
    pub(crate) fn new(parts: DriverParts, state: State) -> Arc<Self> {
        Arc::new(Self {
            parts,
            state: Mutex::new(state),
            last_job: AtomicU64::new(JobId::START.0),
            waiting: Mutex::default(),
            conflict: watch::Sender::new(false),
            decided: watch::Sender::default(),
            starting: Mutex::default(),
        })
    }

    pub(crate) fn parts(&self) -> &DriverParts {
        &self.parts
    }

    /// Completes when another process has stored a version of the map that this one wanted to store. Cancel safe.
    pub(crate) async fn conflicted(&self) {
        let mut conflict = self.conflict.subscribe();
        // Fails only when the driver is gone.
        let _ = conflict.wait_for(|conflict| *conflict).await;
    }

    /// The newest stored version of the map.
    pub(crate) fn record(&self) -> MapRecord {
        self.state.lock().record().clone()
    }

    /// See [`State::assignable`].
    pub(crate) fn assignable(&self) -> Vec<RangeSpec> {
        self.state.lock().assignable().collect()
    }

    /// Waits until ranges of a change may be assigned again, after this call. Cancel safe.
    pub(crate) fn decided(&self) -> impl Future<Output = ()> + Send + use<> {
        let mut decided = self.decided.subscribe();
        async move {
            // Fails only when the driver is gone.
            let _ = decided.changed().await;
        }
    }

    /// Accesses the state outside of events.
    pub(crate) fn with_state<T>(&self, with: impl FnOnce(&mut State) -> T) -> T {
        with(&mut self.state.lock())
    }

    /// Sends a request and waits for its outcome. The request continues if the caller is dropped.
    pub(crate) async fn ask(self: &Arc<Self>, request: Request) -> Result<Outcome, ChangeRefused> {
        match self.reply(request).await? {
            Reply::Over(answer) => answer,
            Reply::Locked(_) => Ok(Outcome::Done),
        }
    }

    /// Waits for the change lock. Cancel safe.
    pub(crate) async fn lock_changes(self: &Arc<Self>) -> Result<ChangeGuard, ChangeRefused> {
        match self.reply(Request::LockChanges).await? {
            Reply::Locked(guard) => Ok(guard),
            Reply::Over(answer) => Err(answer.err().unwrap_or_else(unanswered)),
        }
    }

    async fn reply(self: &Arc<Self>, request: Request) -> Result<Reply, ChangeRefused> {
        let job = JobId(self.last_job.fetch_add(1, Ordering::Relaxed) + 1);
        let (answer, answered) = oneshot::channel();
        self.waiting.lock().insert(job, answer);
        self.feed(Event::Asked(job, request));
        answered.await.map_err(|_gone| unanswered())
    }

    /// Feeds an event to the controller, and starts the resulting actions.
    pub(crate) fn feed(self: &Arc<Self>, event: Event) {
        let (actions, is_decided) = {
            let state = &mut self.state.lock();
            let was_undecided = state.is_undecided();
            let actions = step(state, event);
            (actions, was_undecided && !state.is_undecided())
        };
        // New ranges may be assigned later, once they are announced.
        if is_decided {
            self.decided.send_replace(());
        }
        for action in actions {
            self.begin(action);
        }
    }

    fn begin(self: &Arc<Self>, action: Action) {
        match action {
            Action::Started(result) => self.answer_start(result),
            Action::Answer(job, answer) => {
                log_outcome(&answer);
                self.answer(job, Reply::Over(answer));
            }
            Action::GrantLock(job) => {
                let driver = Arc::clone(self);
                // If the caller was dropped, the guard is dropped too and releases the lock.
                self.answer(job, Reply::Locked(ChangeGuard { driver, job }));
            }
            Action::Run(job, task) => {
                let driver = Arc::clone(self);
                self.spawn(task.name(), Some(job), async move {
                    let result = driver.run(*task).await?;
                    Some(Event::TaskEnded(job, result))
                });
            }
            Action::Announce => {
                let driver = Arc::clone(self);
                self.spawn("announce new ranges", None, async move {
                    driver.announce().await;
                    None
                });
            }
            Action::Detach(range) => {
                let driver = Arc::clone(self);
                self.spawn("detach a range", None, async move {
                    driver.detach(range).await;
                    None
                });
            }
            Action::Balance(action) => {
                let driver = Arc::clone(self);
                self.spawn("balance ranges", None, async move {
                    Some(driver.balance(action).await)
                });
            }
        }
    }

    /// Runs an action as a task, and feeds its event to the controller. If the action panics, its job fails, if it has
    /// one; a panic of the start job also fails the start. The panic hook has logged the panic.
    fn spawn(
        self: &Arc<Self>,
        name: &'static str,
        job: Option<JobId>,
        action: impl Future<Output = Option<Event>> + Send + 'static,
    ) {
        let driver = Arc::clone(self);
        self.parts.tasks.spawn(name, async move {
            let ended = AssertUnwindSafe(Box::pin(action)).catch_unwind().await;
            let event = ended.unwrap_or_else(|_panicked| {
                if job == Some(JobId::START) {
                    drop(driver.starting.lock().take());
                }
                job.map(Event::Broken)
            });
            if let Some(event) = event {
                driver.feed(event);
            }
        });
    }

    fn answer(&self, job: JobId, reply: Reply) {
        if let Some(waiting) = self.waiting.lock().remove(&job) {
            // Fails if the caller was dropped.
            let _ = waiting.send(reply);
        }
    }

    fn answer_start(&self, result: Result<(), StartError>) {
        if let Some(starting) = self.starting.lock().take() {
            // Fails if the caller was dropped.
            let _ = starting.send(result);
        }
    }
}

fn unanswered() -> ChangeRefused {
    ChangeRefused::Failed("the request ended without a result".into())
}

fn log_outcome(answer: &Result<Outcome, ChangeRefused>) {
    match answer {
        Ok(Outcome::Split(split)) => {
            let (left, right, transit) = (split.left, split.right, split.transit);
            let at = DisplayKey(&split.at);
            tracing::info!(%left, %right, %at, ?transit, "split a range");
        }
        Ok(Outcome::Merged(merged)) => {
            let (into, transit) = (merged.into, merged.transit);
            tracing::info!(%into, ?transit, "merged two ranges");
        }
        Ok(Outcome::Done) | Err(_) => {}
    }
}
