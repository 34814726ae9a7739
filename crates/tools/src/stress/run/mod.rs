//! Workers that take operations by their numbers and do them when they are due.
//!
//! - An operation is due at its time ([`super::Schedule`]). Where no worker is free then, it waits, and the wait is part of its latency.
//! - The run ends after its time or its number of operations, or when it is told to. Operations under way have [`GRACE`] to end; what
//!   has not ended then is counted as failed, with the time it took so far. What was due and never begun is counted too.

use super::figures::{Ended, Ending, Times};
use super::mix::Kind;
use super::recorder::{ABOUT, Recorder};
use super::requests::{Request, Requests};
use super::schedule::Schedule;
use super::target::{Performed, Target};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, sleep_until};

/// For operations under way at the end of a run: longer than a server's own bound for a page.
pub const GRACE: Duration = Duration::from_secs(6);

/// Timers wake a worker up to a millisecond late, and one more on a busy machine. A worker that slept was not kept from its work by the
/// server, so this much is not charged to it.
const TIMER_GRAIN: Duration = Duration::from_millis(2);

/// How a run goes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RunOptions {
    /// When operations begin.
    pub schedule: Schedule,
    /// How many at once, at least 1.
    pub workers: usize,
    /// How long operations are begun; without end if none.
    pub duration: Option<Duration>,
    /// How many operations; without end if none.
    pub operations: Option<u64>,
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RunEnd {
    /// When, from its begin.
    pub at: Duration,
    /// Whether it was told to stop before its end.
    pub is_interrupted: bool,
    /// Operations that were due before the end and never begun, because all workers were busy.
    pub not_begun: u64,
}

/// What a run is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Told {
    Go,
    /// Begin nothing more.
    Stop,
    /// End now.
    Now,
}

struct Shared<T> {
    target: T,
    requests: Arc<Requests>,
    recorder: Arc<Recorder>,
    options: RunOptions,
    begin: Instant,
    next: AtomicU64,
    begun: AtomicU64,
    told: watch::Receiver<Told>,
}

/// Runs operations until the end. Each time `stop` is ready, the run is told to stop: the second time at once.
///
/// Cancel safe in that nothing goes on after it was dropped; writes under way may have happened.
pub async fn run<T: Target>(
    target: T,
    requests: Arc<Requests>,
    recorder: Arc<Recorder>,
    options: RunOptions,
    stop: impl AsyncFn(),
) -> RunEnd {
    let (tell, told) = watch::channel(Told::Go);
    let begin = recorder.begin();
    let shared = Arc::new(Shared {
        target,
        requests,
        recorder,
        options,
        begin,
        next: AtomicU64::new(0),
        begun: AtomicU64::new(0),
        told,
    });
    let mut workers = JoinSet::new();
    for number in 0..options.workers.max(1) {
        let shared = Arc::clone(&shared);
        workers.spawn(async move { shared.work(number).await });
    }
    let mut all = std::pin::pin!(joined(&mut workers));
    let deadline = async {
        match options.duration {
            Some(duration) => sleep_until(begin + duration).await,
            None => std::future::pending().await,
        }
    };
    let mut is_interrupted = false;
    let has_ended = tokio::select! {
        biased;
        () = &mut all => true,
        () = stop() => { is_interrupted = true; false }
        () = deadline => false,
    };
    if !has_ended {
        let _ = tell.send(Told::Stop);
        let at = begin.elapsed();
        let at = options.duration.map_or(at, |duration| at.min(duration));
        shared.recorder.stopped(at);
        let has_ended = tokio::select! {
            biased;
            () = &mut all => true,
            () = stop() => { is_interrupted = true; false }
            () = sleep(GRACE) => false,
        };
        if !has_ended {
            let _ = tell.send(Told::Now);
            all.await;
        }
    }
    // What was waited for at the end is no part of the time in which operations were begun.
    let at = begin.elapsed();
    let at = options.duration.map_or(at, |duration| at.min(duration));
    RunEnd {
        at,
        is_interrupted,
        not_begun: shared.not_begun(at),
    }
}

/// All workers have ended. A worker that panicked takes the run along.
async fn joined(workers: &mut JoinSet<()>) {
    while let Some(ended) = workers.join_next().await {
        if let Err(error) = ended
            && error.is_panic()
        {
            std::panic::resume_unwind(error.into_panic());
        }
    }
}

impl<T: Target> Shared<T> {
    async fn work(&self, number: usize) {
        let begins = self
            .options
            .schedule
            .worker_begins(number, self.options.workers);
        if begins > Duration::ZERO && !self.slept_until(begins).await {
            return;
        }
        while self.is_going(self.begin.elapsed()) {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            if self
                .options
                .operations
                .is_some_and(|operations| number >= operations)
            {
                return;
            }
            let due = match self.options.schedule.due(number) {
                None => self.begin.elapsed(),
                Some(due) => match self.wait(due).await {
                    Some(due) => due,
                    None => return,
                },
            };
            self.operate(number, due).await;
        }
    }

    fn is_going(&self, at: Duration) -> bool {
        let in_time = self.options.duration.is_none_or(|duration| at < duration);
        in_time && *self.told.borrow() == Told::Go
    }

    /// Waits until an operation is due. Gives the time from which its latency counts; none when the run ends before.
    async fn wait(&self, due: Duration) -> Option<Duration> {
        if self
            .options
            .duration
            .is_some_and(|duration| due >= duration)
        {
            return None;
        }
        if self.begin.elapsed() >= due {
            return Some(due);
        }
        if !self.slept_until(due).await {
            return None;
        }
        let woke = self.begin.elapsed();
        Some(if woke.saturating_sub(due) <= TIMER_GRAIN {
            woke
        } else {
            due
        })
    }

    /// Sleeps until that time; false when the run stops before.
    async fn slept_until(&self, at: Duration) -> bool {
        let mut told = self.told.clone();
        tokio::select! {
            biased;
            _ = told.wait_for(|told| *told != Told::Go) => false,
            () = sleep_until(self.begin + at) => true,
        }
    }

    async fn operate(&self, number: u64, due: Duration) {
        let request = self.requests.nth(number);
        let (kind, partition_key) = (request.kind, request.partition_key.clone());
        self.begun.fetch_add(1, Ordering::Relaxed);
        self.recorder
            .began(kind, &partition_key, request.row_keys.len() as u64);
        let began = self.begin.elapsed();
        let about = (kind != Kind::Scan).then_some(partition_key);
        let performed = ABOUT.scope(about, self.perform(request)).await;
        self.recorder.ended(&Ended {
            kind,
            times: Times {
                due: due.min(began),
                began,
                ended: self.begin.elapsed(),
            },
            ending: &performed.ending,
            served: &performed.served,
        });
    }

    async fn perform(&self, request: Request) -> Performed {
        let mut told = self.told.clone();
        tokio::select! {
            biased;
            performed = self.target.perform(request) => performed,
            _ = told.wait_for(|told| *told == Told::Now) => Performed {
                ending: Ending::Failed("not finished at the end".to_owned()),
                served: Vec::new(),
            },
        }
    }

    /// Operations that were due by then and never begun.
    fn not_begun(&self, at: Duration) -> u64 {
        let begun = self.begun.load(Ordering::Relaxed);
        let most = self.options.operations.unwrap_or(u64::MAX >> 12);
        let is_due = |number: u64| {
            self.options
                .schedule
                .due(number)
                .is_some_and(|due| due < at)
        };
        // The least number that is not due yet: all before it are.
        let (mut low, mut high) = (0, most);
        while low < high {
            let middle = low + (high - low) / 2;
            if is_due(middle) {
                low = middle + 1
            } else {
                high = middle
            }
        }
        low.saturating_sub(begun)
    }
}

#[cfg(test)]
mod tests;
