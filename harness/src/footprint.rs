//! `cargo harness footprint`: the memory of the server, and its time to ready.
//!
//! 1. The server starts on an empty directory and idles.
//! 2. It is filled, and everything is read: by a scan of all rows, then by point reads at random.
//! 3. It is killed under a load of inserts, and starts again, three times.

use std::time::{Duration, Instant};

use anyhow::ensure;
use partita_bench::client::Client;
use partita_bench::{Account, LoadRun, ServerProcess, Workload, WorkloadKind, park_for, prepare};

use crate::rows;
use crate::setup::{self, ServerProgram, scratch};

/// Maximum memory of an idle server, MiB.
const IDLE_MIB_MAX: f64 = 25.0;

/// Maximum memory of a server that serves 1 GiB of rows, MiB.
const SERVING_MIB_MAX: f64 = 1_024.0;

/// Maximum time from start to ready, also after a kill.
const READY_MAX: Duration = Duration::from_millis(200);

/// Time between a start and reading the memory.
const IDLE: Duration = Duration::from_secs(2);

const CONNECTIONS: usize = 64;

const KILLS: u64 = 3;

/// Measure the server's memory and its time to ready
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Rows to serve, MiB
    #[arg(long, default_value_t = 1_024)]
    mib: u64,
    /// Seconds of point reads, and of inserts before each kill
    #[arg(long, default_value_t = 10)]
    seconds: u64,
    /// Fail if memory or time exceeds its limit; needs an idle machine
    #[arg(long)]
    check: bool,
    #[command(flatten)]
    server: ServerProgram,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let program = arguments.server.path()?;
    let directory = scratch("footprint")?;
    let account = Account::well_known();
    let mut report = Report::default();
    println!("| | ready after ms | memory MiB | peak MiB |");
    println!("| --- | ---: | ---: | ---: |");

    let start = || setup::start(&program, directory.path());
    let mut server = start()?;
    park_for(IDLE);
    report.line("idle, without data", &server, IDLE_MIB_MAX)?;

    prepare(server.addr(), &account, true)?;
    let mut runs = 1..;
    let mut next_run = || runs.next().unwrap_or_default();
    let filled = rows::fill(server.addr(), &account, arguments.mib, &mut next_run)?;
    let title = format!("{} MiB of rows written", arguments.mib);
    report.line(&title, &server, SERVING_MIB_MAX)?;
    let started = Instant::now();
    let mut client = Client::connect(server.addr(), account.clone())?;
    let counted = rows::count(&mut client, WorkloadKind::Batch.table())?;
    // Requests under way at the end of a load are not in its count.
    ensure!(
        counted >= filled,
        "{filled} rows were acknowledged, {counted} were counted"
    );
    let title = format!(
        "{counted} rows scanned, in {:.1} s",
        started.elapsed().as_secs_f64()
    );
    report.line(&title, &server, SERVING_MIB_MAX)?;
    let seconds = Duration::from_secs(arguments.seconds);
    let workload = |kind, addr, run| Workload::new(kind, &account, addr, run);
    let gets = workload(WorkloadKind::PointGet, server.addr(), 0);
    let result = LoadRun::new(&gets, CONNECTIONS, seconds).run(|| Ok(()))?;
    ensure!(result.errors == 0, "{:?}", result.first_error);
    report.line("rows read at random", &server, SERVING_MIB_MAX)?;
    for kill in 1..=KILLS {
        let inserts = workload(WorkloadKind::InsertMany, server.addr(), next_run());
        let load = LoadRun::new(&inserts, CONNECTIONS, seconds);
        let result = rows::load_and_kill(&load, &mut server)?;
        ensure!(result.errors == 0, "{:?}", result.first_error);
        server = start()?;
        let title = format!("killed under load, kill {kill}");
        report.line(&title, &server, SERVING_MIB_MAX)?;
    }
    drop(server);
    let server = start()?;
    park_for(IDLE);
    report.line("idle, with these rows", &server, SERVING_MIB_MAX)?;
    ensure!(
        !arguments.check || report.faults.is_empty(),
        "over the limits: {}",
        report.faults.join("; ")
    );
    Ok(())
}

/// Prints the figures, and collects those over their limits.
#[derive(Default)]
struct Report {
    faults: Vec<String>,
}

impl Report {
    fn line(&mut self, title: &str, server: &ServerProcess, mib_max: f64) -> anyhow::Result<()> {
        let ready = server.ready_after();
        let (now, most) = (server.rss_mib()?, server.peak_rss_mib()?);
        println!("| {title} | {} | {now:.0} | {most:.0} |", ready.as_millis());
        if ready > READY_MAX {
            self.faults.push(format!("{title}: ready after {ready:?}"));
        }
        if most > mib_max {
            self.faults.push(format!("{title}: {most:.0} MiB"));
        }
        Ok(())
    }
}
