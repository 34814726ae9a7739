//! Runs the workers of [`partita_load::Run`] as tokio tasks. They send operations to a [`Target`] until the end.
//!
//! The run ends after its duration or its number of operations, or when it is stopped. Running operations then have
//! [`GRACE`] to finish. After that they are cancelled and count as failed, with their duration until then.

use super::metrics::{Outcome, Performed};
use super::mix::Kind;
use super::recorder::{OPERATION_PARTITION, Recorder};
use super::requests::{Request, Requests};
use super::target::Target;
use partita_load::{Clock, Run, RunOptions, Sender, Times};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, sleep_until};

/// How long running operations may take to finish after the end. Longer than the 5 seconds that a server may take for a
/// page.
pub const GRACE: Duration = Duration::from_secs(6);

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RunEnd {
    /// The time from the start of the run until its last operation ended, at most the duration of the run.
    pub at: Duration,
    /// Whether `stop` completed, before the end or in the grace period.
    pub is_interrupted: bool,
    /// Number of operations that were due before the end but never began, because all workers were busy.
    pub not_begun: u64,
}

/// Signals to the workers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Signal {
    Go,
    /// Do not begin further operations.
    Stop,
    /// Cancel running operations.
    Abort,
}

/// Runs operations until the end. When `stop` completes, the run ends as soon as running operations have finished, at
/// the latest after the grace period. When `stop` completes again, the run ends at once.
///
/// Cancel safe: if the future is dropped, all workers end. Running writes may have happened.
pub async fn run<T: Target>(
    target: T,
    requests: Arc<Requests>,
    recorder: Arc<Recorder>,
    options: RunOptions,
    stop: impl AsyncFn(),
) -> RunEnd {
    let (tell, signal) = watch::channel(Signal::Go);
    let begin = recorder.begin();
    let run = Arc::new(Run::new(options));
    let target = Arc::new(target);
    let mut workers = JoinSet::new();
    for number in 0..options.workers.max(1) {
        let run = Arc::clone(&run);
        let clock = TokioClock {
            begin,
            signal: signal.clone(),
        };
        let mut sender = TargetSender {
            target: Arc::clone(&target),
            requests: Arc::clone(&requests),
            recorder: Arc::clone(&recorder),
            signal: signal.clone(),
        };
        workers.spawn(async move { run.work(number, &clock, &mut sender).await });
    }
    let mut all = std::pin::pin!(joined(&mut workers));
    let deadline = async {
        match options.duration {
            Some(duration) => sleep_until(begin + duration).await,
            None => std::future::pending().await,
        }
    };
    let end = options.duration.unwrap_or(Duration::MAX);
    let elapsed = || begin.elapsed().min(end);
    let mut is_interrupted = false;
    let has_ended = tokio::select! {
        biased;
        () = &mut all => true,
        () = stop() => { is_interrupted = true; false }
        () = deadline => false,
    };
    if !has_ended {
        let _ = tell.send(Signal::Stop);
        recorder.metrics().stopped(elapsed());
        let has_ended = tokio::select! {
            biased;
            () = &mut all => true,
            () = stop() => { is_interrupted = true; false }
            () = sleep(GRACE) => false,
        };
        if !has_ended {
            let _ = tell.send(Signal::Abort);
            all.await;
        }
    }
    // Operations that end after the duration of the run do not lengthen the run.
    let at = elapsed();
    RunEnd {
        at,
        is_interrupted,
        not_begun: run.not_begun(at),
    }
}

/// Waits until all workers have ended. If a worker panicked, continues the panic.
async fn joined(workers: &mut JoinSet<()>) {
    while let Some(ended) = workers.join_next().await {
        if let Err(error) = ended
            && error.is_panic()
        {
            std::panic::resume_unwind(error.into_panic());
        }
    }
}

/// The time of a run by tokio's clock, which tests can simulate.
struct TokioClock {
    begin: Instant,
    signal: watch::Receiver<Signal>,
}

impl Clock for TokioClock {
    fn elapsed(&self) -> Duration {
        self.begin.elapsed()
    }

    fn is_stopped(&self) -> bool {
        *self.signal.borrow() != Signal::Go
    }

    async fn sleep_until(&self, at: Duration) -> bool {
        let mut signal = self.signal.clone();
        tokio::select! {
            biased;
            _ = signal.wait_for(|signal| *signal != Signal::Go) => false,
            () = sleep_until(self.begin + at) => true,
        }
    }
}

/// Sends one worker's operations to the target, and records them.
struct TargetSender<T> {
    target: Arc<T>,
    requests: Arc<Requests>,
    recorder: Arc<Recorder>,
    signal: watch::Receiver<Signal>,
}

impl<T: Target> Sender for TargetSender<T> {
    type Request = Request;
    type Outcome = (Kind, Performed);

    fn prepare(&mut self, number: u64) -> Request {
        let request = self.requests.nth(number);
        let entities = request.row_keys.len() as u64;
        self.recorder
            .began(request.kind, &request.partition_key, entities);
        request
    }

    async fn send(&mut self, request: Request) -> (Kind, Performed) {
        let kind = request.kind;
        let about = (kind != Kind::Scan).then(|| request.partition_key.clone());
        let signal = &mut self.signal;
        let performed = async {
            tokio::select! {
                biased;
                performed = self.target.perform(request) => performed,
                _ = signal.wait_for(|signal| *signal == Signal::Abort) => Performed {
                    outcome: Outcome::Failed("not finished at the end".to_owned()),
                    served: Vec::new(),
                },
            }
        };
        (kind, OPERATION_PARTITION.scope(about, performed).await)
    }

    fn record(&mut self, times: Times, (kind, performed): (Kind, Performed)) {
        self.recorder.metrics().ended(kind, &times, &performed);
    }
}

#[cfg(test)]
mod tests;
