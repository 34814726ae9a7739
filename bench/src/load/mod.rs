//! Loads a server over raw connections. Each of a few threads waits for all of its connections with one epoll set. Each
//! connection always has exactly one request under way.
//!
//! The shared load driver ([`partita_load`]) schedules requests and defines latency. One request costs one write and
//! one read system call; one wait serves all connections that are ready. A [`Workload`] prepares the requests. Only the
//! heads of answers are parsed; bodies are skipped.

mod connection;
mod thread;

use std::time::{Duration, Instant};

use anyhow::bail;
use partita_load::{Counts, LatencyHistogram, Stage, StageCell};

use crate::process::cpu_s;
use crate::{Workload, park_for};

/// A load to put on a server.
#[derive(Clone, Debug)]
pub struct LoadRun<'a> {
    /// The requests, and the server that gets them.
    pub workload: &'a Workload,
    /// Connections, over all threads.
    pub connections: usize,
    /// Threads of the driver.
    pub threads: usize,
    /// Duration of the load before measuring starts.
    pub warm_up: Duration,
    /// Duration of the measurement.
    pub measured: Duration,
}

/// The driver's results while measuring.
#[derive(Clone, Debug, Default)]
pub struct LoadResult {
    /// Correct answers.
    pub requests: u64,
    /// Requests refused with 503, by `x-partita-reason` where there is one.
    pub refused: Counts,
    /// Wrong answers and broken connections.
    pub errors: u64,
    /// The first error.
    pub first_error: Option<String>,
    /// Bytes in the bodies of correct answers.
    pub body_bytes: u64,
    /// Duration of the measurement, in seconds.
    pub elapsed_s: f64,
    /// Time from sending a request to the end of its answer.
    pub latency: LatencyHistogram,
    /// Processor time of the driver itself, seconds.
    pub driver_cpu_s: f64,
}

impl<'a> LoadRun<'a> {
    /// A load from one thread, measured from its first request on.
    pub fn new(workload: &'a Workload, connections: usize, measured: Duration) -> Self {
        Self {
            workload,
            connections,
            threads: 1,
            warm_up: Duration::ZERO,
            measured,
        }
    }

    /// Runs the load. `on_edge` is called when measuring starts and again when it ends, for samples of the server's
    /// processor time.
    ///
    /// # Errors
    /// When connecting fails or `on_edge` does.
    pub fn run(
        &self,
        mut on_edge: impl FnMut() -> anyhow::Result<()>,
    ) -> anyhow::Result<LoadResult> {
        let (mut result, driver_cpu_s) = self.drive(|stage| self.conduct(stage, &mut on_edge))?;
        result.driver_cpu_s = driver_cpu_s;
        Ok(result)
    }

    /// Runs the load, and measures as long as `work` runs, not for the time `measured`. Also returns the result of
    /// `work`.
    ///
    /// # Errors
    /// When connecting or `work` fails.
    pub fn run_while<T>(
        &self,
        work: impl FnOnce() -> anyhow::Result<T>,
    ) -> anyhow::Result<(LoadResult, T)> {
        self.drive(|stage| {
            park_for(self.warm_up);
            let started = Instant::now();
            stage.set(Stage::Measuring);
            let worked = work()?;
            Ok((started.elapsed().as_secs_f64(), worked))
        })
    }

    /// Runs the threads while `lead` sets their stage. `lead` returns the measured time in seconds, and a value for the
    /// caller.
    fn drive<T>(
        &self,
        lead: impl FnOnce(&StageCell) -> anyhow::Result<(f64, T)>,
    ) -> anyhow::Result<(LoadResult, T)> {
        if self.threads == 0 || self.connections < self.threads {
            bail!("a load needs at least one connection for each thread");
        }
        let threads = (0..self.threads)
            .map(|thread| {
                let connections = (self.connections + thread) / self.threads;
                thread::Thread::connect(connections, self.workload.for_thread(thread as u64))
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
            let mut result = LoadResult::default();
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

    /// Sets the stages of the threads. Returns the measured time, and the processor time of the driver in it, in
    /// seconds.
    fn conduct(
        &self,
        stage: &StageCell,
        on_edge: &mut impl FnMut() -> anyhow::Result<()>,
    ) -> anyhow::Result<(f64, f64)> {
        park_for(self.warm_up);
        on_edge()?;
        let before_s = cpu_s("self")?;
        let started = Instant::now();
        stage.set(Stage::Measuring);
        park_for(self.measured);
        stage.set(Stage::Stopped);
        let elapsed_s = started.elapsed().as_secs_f64();
        on_edge()?;
        Ok((elapsed_s, cpu_s("self")? - before_s))
    }
}

impl LoadResult {
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

    /// Requests refused with 503.
    pub fn refusals(&self) -> u64 {
        self.refused.values().sum()
    }

    /// Correct answers a second.
    pub fn requests_per_s(&self) -> f64 {
        self.requests as f64 / self.elapsed_s
    }
}
