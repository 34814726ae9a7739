//! The workers of a job: processes that are killed and replaced. Half of them are also stopped once, for longer than
//! their messages are hidden, and then continue with steps that others have executed meanwhile.

use std::process::{Child, ExitStatus};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::ensure;
use partita_bench::park_for;
use partita_load::Random;
use rustix::process::{Pid, Signal, kill_process};

use super::toolbox::Toolbox;
use super::{WORKERS, pause};

/// Longest duration of a job.
const DEADLINE: Duration = Duration::from_secs(20 * 60);

/// Time between two looks at a process.
const LOOK: Duration = Duration::from_millis(5);

/// How long a worker is stopped: longer than its messages are hidden.
const STOPPED: Duration = Duration::from_secs(3);

/// How often a worker may end because the server was gone for too long.
const GAVE_UP_MAX: u64 = 20;

/// What happened to a worker and those that replaced it.
#[derive(Debug, Default)]
pub(super) struct WorkerLife {
    pub(super) kills: u64,
    /// How often a worker was stopped for a while.
    pub(super) stops: u64,
    /// Workers that ended with an error before they were killed.
    pub(super) gave_up: u64,
}

/// The workers of a job.
pub(super) struct Workers<'a> {
    toolbox: &'a Toolbox,
    job: &'a str,
    /// Kills of each worker.
    kills: u64,
    /// The time over which they are spread.
    spread: Duration,
    deadline: Instant,
    /// Workers that have seen the end of the job.
    ended: AtomicU64,
}

impl<'a> Workers<'a> {
    pub(super) fn new(toolbox: &'a Toolbox, job: &'a str, kills: u64, spread: Duration) -> Self {
        Self {
            toolbox,
            job,
            kills,
            spread,
            deadline: Instant::now() + DEADLINE,
            ended: AtomicU64::new(0),
        }
    }

    /// Whether no worker is left.
    pub(super) fn have_ended(&self) -> bool {
        self.ended.load(Ordering::Relaxed) == WORKERS
    }

    /// Starts a worker, kills it after a random time, and so on; the last one works until the job ends, and is stopped
    /// for a while if `worker` is even.
    pub(super) fn live(&self, worker: u64, mut random: Random) -> anyhow::Result<WorkerLife> {
        let lived = self.lives(worker, &mut random);
        self.ended.fetch_add(1, Ordering::Relaxed);
        lived
    }

    fn lives(&self, worker: u64, random: &mut Random) -> anyhow::Result<WorkerLife> {
        let mut life = WorkerLife::default();
        // The others must run while one is stopped, and execute its steps.
        let is_stopped_once = worker.is_multiple_of(2);
        loop {
            let mut process = self.toolbox.worker(self.job, worker)?.spawn()?;
            let time = Instant::now() + pause(random, self.spread, self.kills);
            let killed_at = match life.kills < self.kills {
                true => time,
                false => self.deadline,
            };
            let is_stopped = is_stopped_once && life.kills == self.kills && life.stops == 0;
            if is_stopped && ended_before(&mut process, time)?.is_none() {
                stop_for_a_while(&process)?;
                life.stops += 1;
            }
            match ended_before(&mut process, killed_at)? {
                Some(status) if status.success() => return Ok(life),
                Some(status) => {
                    life.gave_up += 1;
                    let error = self.toolbox.last_error(worker)?;
                    ensure!(
                        life.gave_up <= GAVE_UP_MAX && !is_refused(&error),
                        "a worker ended: {status}: {error}"
                    );
                }
                None => {
                    process.kill()?;
                    process.wait()?;
                    ensure!(
                        killed_at < self.deadline,
                        "the job takes longer than {DEADLINE:?}"
                    );
                    life.kills += 1;
                }
            }
        }
    }
}

/// Whether a message names a status of a refused request. No request of a worker is refused for good, however often it
/// and others are killed; a worker may only give up because the server is not there.
fn is_refused(error: &str) -> bool {
    let mut words = error.split_whitespace();
    words.any(|word| word.len() == 3 && word.starts_with('4') && word.parse::<u16>().is_ok())
}

/// Stops a process without its knowledge, and lets it continue.
fn stop_for_a_while(process: &Child) -> anyhow::Result<()> {
    let pid = Pid::from_child(process);
    kill_process(pid, Signal::STOP)?;
    park_for(STOPPED);
    kill_process(pid, Signal::CONT)?;
    Ok(())
}

/// How a process ended; `None` if it still runs at this time.
fn ended_before(process: &mut Child, time: Instant) -> anyhow::Result<Option<ExitStatus>> {
    loop {
        let ended = process.try_wait()?;
        if ended.is_some() || Instant::now() >= time {
            return Ok(ended);
        }
        park_for(LOOK);
    }
}
