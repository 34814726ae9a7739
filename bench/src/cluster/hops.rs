//! The workloads, sent to the server with the rows and through another, in turns.

use std::time::{Duration, Instant};

use anyhow::{Context, ensure};

use super::figures::{HopFigures, Turns};
use super::servers::Servers;
use super::{FRONT_SERVER, ROWS_SERVER};
use crate::options::Options;
use crate::{Account, LoadRun, Workload, WorkloadKind, park_for};

/// Reads before the first measurement.
const WARM_READS: Duration = Duration::from_secs(2);

/// Longest wait until the servers are idle before a turn.
const IDLE_DEADLINE: Duration = Duration::from_secs(10);

/// The time over which servers are found to be idle, and the processor time that they may use then, as a share of a core.
const IDLE_WINDOW: Duration = Duration::from_millis(200);
const IDLE_SHARE: f64 = 0.1;

/// A server that has the rows forwards at most this share of the requests.
const DIRECT_SHARE_MAX: f64 = 0.01;

/// The measurement of all workloads.
pub(super) struct Hops<'a> {
    pub(super) options: &'a Options,
    pub(super) servers: &'a Servers,
    pub(super) account: &'a Account,
    /// The range of all rows.
    pub(super) range: u64,
}

impl Hops<'_> {
    pub(super) fn measure(&self, say: &mut impl FnMut(&str)) -> anyhow::Result<Vec<HopFigures>> {
        let mut run = 0;
        for server in [ROWS_SERVER, FRONT_SERVER] {
            let addr = self.servers.get(server).table;
            let reads = Workload::new(WorkloadKind::PointGet, self.account, addr, run);
            LoadRun::new(&reads, 64, WARM_READS).run(|| Ok(()))?;
        }
        let mut workloads = self.options.workloads.clone();
        workloads.sort_by_key(|workload| workload.writes());
        say(HopFigures::HEAD);
        let mut all = Vec::new();
        for workload in workloads {
            for &connections in self.options.connections() {
                let figures = self.compare(workload, connections, &mut run)?;
                say(&figures.line());
                all.push(figures);
            }
        }
        Ok(all)
    }

    /// Measures a workload on both routes in turns.
    fn compare(
        &self,
        kind: WorkloadKind,
        connections: usize,
        run: &mut u64,
    ) -> anyhow::Result<HopFigures> {
        let (mut direct, mut through) = (Turns::default(), Turns::default());
        for turn in 0..self.options.repeats() {
            let mut order = [(ROWS_SERVER, &mut direct), (FRONT_SERVER, &mut through)];
            if !turn.is_multiple_of(2) {
                order.reverse();
            }
            for (server, turns) in order {
                *run += 1;
                self.turn(kind, connections, server, *run, turns)
                    .with_context(|| format!("{} at server {}", kind.name(), server + 1))?;
            }
        }
        Ok(HopFigures {
            workload: kind.name(),
            connections,
            ratio: through.ratio(&direct),
            direct: direct.figures(),
            through: through.figures(),
            kind,
        })
    }

    /// Measures a workload at a server.
    fn turn(
        &self,
        kind: WorkloadKind,
        connections: usize,
        server: usize,
        run: u64,
        turns: &mut Turns,
    ) -> anyhow::Result<()> {
        self.await_idle()?;
        let addr = self.servers.get(server).table;
        let source = Workload::new(kind, self.account, addr, run);
        let load = LoadRun {
            threads: self.options.threads.min(connections),
            warm_up: self.options.warm_up(),
            ..LoadRun::new(&source, connections, self.options.measured())
        };
        let forwarded = self.servers.forwarded(server)?;
        let mut samples_s = Vec::with_capacity(2);
        let result = load.run(|| {
            samples_s.push(self.servers.cpu_s()?);
            Ok(())
        })?;
        let cpu_s = samples_s.last().zip(samples_s.first());
        turns.add(&result, cpu_s.map_or(0.0, |(end, start)| end - start));
        let forwarded = self.servers.forwarded(server)? - forwarded;
        self.check_route(server, result.requests as f64, forwarded)
    }

    /// Checks that requests took the route under which they are counted.
    fn check_route(&self, server: usize, requests: f64, forwarded: f64) -> anyhow::Result<()> {
        let owner = self.servers.owner(self.range)?;
        ensure!(
            owner == ROWS_SERVER,
            "the rows were moved to server {}",
            owner + 1
        );
        let is_right = match server == owner {
            true => forwarded < requests * DIRECT_SHARE_MAX,
            false => forwarded >= requests,
        };
        ensure!(
            is_right,
            "server {} forwarded {forwarded} of {requests} requests",
            server + 1
        );
        Ok(())
    }

    /// Waits until the servers are idle, or the deadline.
    fn await_idle(&self) -> anyhow::Result<()> {
        let deadline = Instant::now() + IDLE_DEADLINE;
        let mut before = self.servers.cpu_s()?;
        while Instant::now() < deadline {
            park_for(IDLE_WINDOW);
            let now = self.servers.cpu_s()?;
            if (now - before) / IDLE_WINDOW.as_secs_f64() <= IDLE_SHARE {
                break;
            }
            before = now;
        }
        Ok(())
    }
}
