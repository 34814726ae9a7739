//! Load over raw connections: a few threads, each with its connections in one epoll set, each connection always with
//! exactly one request under way.
//!
//! When requests begin and what counts as latency is the shared load driver's ([`partita_load`]). One request costs one
//! write and one read system call; a wait serves every connection that is ready. Requests come prepared from a
//! [`Workload`]; of answers only the head is read, the body is skipped.

mod connection;
mod thread;

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use anyhow::bail;
use partita_load::{Counts, LatencyHistogram, Stage, StageCell};

use crate::{Cpu, Workload, park_for};

/// How much load, for how long.
#[derive(Clone, Copy, Debug)]
pub struct LoadShape {
    /// Connections, over all threads.
    pub connections: usize,
    /// Threads of the driver.
    pub threads: usize,
    /// Load before measuring starts.
    pub warm_up: Duration,
    /// Time measured.
    pub measured: Duration,
}

/// A load to be put on a server.
#[derive(Debug)]
pub struct LoadRun<'a> {
    /// Where the server listens.
    pub addr: SocketAddr,
    /// The requests.
    pub workload: &'a Workload,
    /// How much.
    pub shape: LoadShape,
}

/// What was seen while measuring.
#[derive(Clone, Debug)]
pub struct LoadResult {
    /// Right answers.
    pub requests: u64,
    /// Answers that say that nothing was done, by `x-partita-reason` where there is one.
    pub refused: Counts,
    /// Wrong answers and broken connections.
    pub errors: u64,
    /// What the first error was.
    pub first_error: Option<String>,
    /// Bytes of the right answers' bodies.
    pub body_bytes: u64,
    /// Time measured, seconds.
    pub elapsed_s: f64,
    /// Time from sending a request to the end of its answer.
    pub latency: LatencyHistogram,
    /// Processor time of the driver itself, seconds.
    pub driver_cpu_s: f64,
}

impl LoadRun<'_> {
    /// Runs it. `on_edge` is called when measuring starts and again when it ends, for samples of the server's
    /// processor time.
    ///
    /// # Errors
    /// When connecting fails or `on_edge` does.
    pub fn run(
        &self,
        mut on_edge: impl FnMut() -> anyhow::Result<()>,
    ) -> anyhow::Result<LoadResult> {
        let shape = self.shape;
        let (mut result, driver_cpu_s) = self.drive(|stage| conduct(shape, stage, &mut on_edge))?;
        result.driver_cpu_s = driver_cpu_s;
        Ok(result)
    }

    /// Runs it, and measures for as long as `work` takes, whatever the shape says; what `work` returned comes along.
    ///
    /// # Errors
    /// When connecting or `work` fails.
    pub fn run_while<T>(
        &self,
        work: impl FnOnce() -> anyhow::Result<T>,
    ) -> anyhow::Result<(LoadResult, T)> {
        self.drive(|stage| {
            park_for(self.shape.warm_up);
            let started = Instant::now();
            stage.set(Stage::Measuring);
            let worked = work()?;
            Ok((started.elapsed().as_secs_f64(), worked))
        })
    }

    /// Lets the threads work while `lead` takes them through the stages; it returns the time measured, seconds.
    fn drive<T>(
        &self,
        lead: impl FnOnce(&StageCell) -> anyhow::Result<(f64, T)>,
    ) -> anyhow::Result<(LoadResult, T)> {
        let shape = self.shape;
        if shape.threads == 0 || shape.connections < shape.threads {
            bail!("a load needs at least one connection for each thread");
        }
        let threads = (0..shape.threads)
            .map(|thread| {
                let connections = (shape.connections + thread) / shape.threads;
                let workload = self.workload.for_thread(thread as u64);
                thread::Thread::connect(self.addr, connections, workload)
            })
            .collect::<anyhow::Result<Vec<_>>>()?;
        let stage = &StageCell::new();
        std::thread::scope(|scope| {
            let threads: Vec<_> = threads
                .into_iter()
                .map(|thread| scope.spawn(move || thread.run(stage)))
                .collect();
            let led = lead(stage);
            // Also after a failure, or the threads would never end.
            stage.set(Stage::Stopped);
            let mut result = LoadResult::empty();
            for thread in threads {
                let part = thread
                    .join()
                    .map_err(|_| anyhow::anyhow!("a driver thread panicked"))??;
                result.merge(part);
            }
            let (elapsed_s, worked) = led?;
            result.elapsed_s = elapsed_s;
            Ok((result, worked))
        })
    }
}

/// Leads the threads through the stages; returns the time measured and the driver's processor time in it, seconds.
fn conduct(
    shape: LoadShape,
    stage: &StageCell,
    on_edge: &mut impl FnMut() -> anyhow::Result<()>,
) -> anyhow::Result<(f64, f64)> {
    park_for(shape.warm_up);
    on_edge()?;
    let cpu = Cpu::of("self")?;
    let started = Instant::now();
    stage.set(Stage::Measuring);
    park_for(shape.measured);
    stage.set(Stage::Stopped);
    let elapsed_s = started.elapsed().as_secs_f64();
    on_edge()?;
    Ok((elapsed_s, Cpu::of("self")?.total_s() - cpu.total_s()))
}

impl LoadResult {
    pub(crate) fn empty() -> Self {
        Self {
            requests: 0,
            refused: Counts::new(),
            errors: 0,
            first_error: None,
            body_bytes: 0,
            elapsed_s: 0.0,
            latency: LatencyHistogram::default(),
            driver_cpu_s: 0.0,
        }
    }

    fn merge(&mut self, other: Self) {
        self.requests += other.requests;
        for (reason, count) in other.refused {
            *self.refused.entry(reason).or_default() += count;
        }
        self.errors += other.errors;
        self.body_bytes += other.body_bytes;
        self.first_error = self.first_error.take().or(other.first_error);
        self.latency.merge(&other.latency);
    }

    /// Answers that say that nothing was done.
    #[must_use]
    pub fn refusals(&self) -> u64 {
        self.refused.values().sum()
    }

    /// Right answers a second.
    #[must_use]
    pub fn requests_per_s(&self) -> f64 {
        self.requests as f64 / self.elapsed_s
    }
}
