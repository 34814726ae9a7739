//! How long writes are not acknowledged when servers are killed, restarted and stopped, and when a range is moved.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::ensure;

use super::figures::PauseFigures;
use super::options::ClusterOptions;
use super::probe::Probe;
use super::programs::Program;
use super::servers::{SERVERS, Servers};
use crate::{Account, WorkloadKind, park_for};

/// The load before an event and after it.
const CALM: Duration = Duration::from_millis(500);

/// An answer that comes so long after an event was not under way when it began.
const UNDER_WAY: Duration = Duration::from_millis(100);

/// How long a client may wait for an acknowledged write.
const PATIENCE: Duration = Duration::from_secs(60);

/// The time between two failures, in which the cluster comes to rest.
const SETTLE: Duration = Duration::from_secs(1);

/// Clients that write while a range is moved.
const MOVE_CLIENTS: usize = 4;

/// The pause of clients between two writes while servers fail. While a range is moved they do not pause.
const PAUSE: Duration = Duration::from_millis(5);

/// Without any event, for comparison: as many times, and as long as a move takes.
const QUIET: Duration = Duration::from_millis(300);

/// The measurement of all events.
pub(super) struct Pauses<'a> {
    pub(super) servers: &'a Servers,
    pub(super) account: &'a Account,
    /// The range that the clients write to.
    pub(super) range: u64,
}

/// A way to end a server.
type End = fn(&Program) -> anyhow::Result<()>;

impl Pauses<'_> {
    pub(super) fn measure(
        &self,
        options: &ClusterOptions,
        say: &mut impl FnMut(&str),
    ) -> anyhow::Result<Vec<PauseFigures>> {
        let kill: End = |program| {
            program.kill();
            Ok(())
        };
        let restart: End = |program| {
            program.kill();
            program.up()
        };
        let stop: End = |program| program.terminate();
        let mut all = vec![
            self.moves(options.moves, false)?,
            self.moves(options.moves, true)?,
        ];
        for figures in &all {
            say(&figures.line());
        }
        for (event, times, end) in [
            (
                "server killed, back after the failover",
                options.kills,
                kill,
            ),
            (
                "server killed, restarted in place",
                options.restarts,
                restart,
            ),
            ("server ended by SIGTERM", options.restarts, stop),
        ] {
            let pauses_ms = (0..times)
                .map(|_| self.failure(end))
                .collect::<Result<_, _>>()?;
            let figures = PauseFigures {
                event: event.to_owned(),
                pauses_ms,
            };
            say(&figures.line());
            all.push(figures);
        }
        all.retain(|figures| !figures.pauses_ms.is_empty());
        Ok(all)
    }

    /// Ends the server of the range while clients of the others write, and starts it again if it is down. Returns the
    /// longest time without an acknowledged write of a client, milliseconds.
    fn failure(&self, end: End) -> anyhow::Result<f64> {
        let owner = self.servers.owner(self.range)?;
        let program = &self.servers.get(owner).program;
        let fronts = (0..SERVERS).filter(|server| *server != owner);
        let probes: Vec<_> = fronts
            .map(|front| self.probe(front, front, PAUSE))
            .collect();
        let longest = self.while_writing(&probes, || {
            park_for(CALM);
            probes.iter().for_each(Probe::reset);
            end(program)?;
            park_for(UNDER_WAY);
            await_answers(&probes)?;
            park_for(CALM);
            Ok(longest_ms(&probes))
        })?;
        if !program.is_up() {
            program.up()?;
        }
        self.servers.await_all()?;
        park_for(SETTLE);
        Ok(longest)
    }

    /// Moves the range between two servers while clients of the third write. Without `moved`, it stays where it is.
    fn moves(&self, times: u32, moved: bool) -> anyhow::Result<PauseFigures> {
        let owner = self.servers.owner(self.range)?;
        let [other, front] = [1, 2].map(|step| (owner + step) % SERVERS);
        let probes: Vec<_> = (0..MOVE_CLIENTS)
            .map(|number| self.probe(front, number, Duration::ZERO))
            .collect();
        let one = |time: u32| -> anyhow::Result<f64> {
            probes.iter().for_each(Probe::reset);
            if moved {
                let to = if time.is_multiple_of(2) { other } else { owner };
                self.servers.move_range(self.range, to)?;
            } else {
                park_for(QUIET);
            }
            await_answers(&probes)?;
            Ok(longest_ms(&probes))
        };
        let pauses_ms = self.while_writing(&probes, || {
            park_for(CALM);
            (0..times).map(one).collect::<anyhow::Result<_>>()
        })?;
        let event = if moved {
            "range moved"
        } else {
            "nothing, for comparison"
        };
        Ok(PauseFigures {
            event: event.to_owned(),
            pauses_ms,
        })
    }

    /// A client of a server, which writes its own row.
    fn probe(&self, front: usize, number: usize, pause: Duration) -> Probe {
        let table = WorkloadKind::InsertMany.table();
        let path = format!("/{table}(PartitionKey='probe{number}',RowKey='r')");
        let addr = self.servers.get(front).table;
        Probe::new(addr, path, r#"{"V":"1"}"#.to_owned(), pause)
    }

    /// Runs the clients while `work` runs, which begins when all of them were answered.
    fn while_writing<T>(
        &self,
        probes: &[Probe],
        work: impl FnOnce() -> anyhow::Result<T>,
    ) -> anyhow::Result<T> {
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            for probe in probes {
                scope.spawn(|| probe.run(self.account, &stop));
            }
            let worked = await_answers(probes).and_then(|()| work());
            stop.store(true, Ordering::Relaxed);
            worked
        })
    }
}

/// Waits until a write of each client was acknowledged that ended after this call.
fn await_answers(probes: &[Probe]) -> anyhow::Result<()> {
    let since = Instant::now();
    while !probes.iter().all(|probe| probe.has_answered_since(since)) {
        ensure!(
            since.elapsed() < PATIENCE,
            "no write was acknowledged for {PATIENCE:?}"
        );
        park_for(Duration::from_millis(1));
    }
    Ok(())
}

fn longest_ms(probes: &[Probe]) -> f64 {
    let longest = probes.iter().map(Probe::longest).max();
    longest.unwrap_or_default().as_secs_f64() * 1e3
}
