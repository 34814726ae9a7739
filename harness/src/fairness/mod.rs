//! `cargo xtask fairness`: what one abusive tenant costs ten modest ones.
//!
//! The modest tenants insert and read 50 times a second each, one request at a time. They are measured alone, and then beside an
//! abuser that keeps some hundred requests waiting, of one kind after the other: transactions of 100 rows into many partitions,
//! single rows into one partition, pages of 1,000 rows, point reads. And once more with the tenants as partitions of the abuser's own account.
//!
//! Driver and server share the machine's cores, so part of what the abuser costs is the driver's. `--program` measures another
//! server in the same way, to compare with.

mod tenants;

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::{Context, bail};
use partita_bench::{
    Account, LoadResult, LoadRun, LoadShape, ServerProcess, Workload, WorkloadKind, park_for,
    partita_command, prepare,
};
use partita_load::{Stage, StageCell};

use self::tenants::{Seen, Tenant};
use crate::setup::{ServerProgram, scratch};

const START_DEADLINE: Duration = Duration::from_secs(30);

/// Load before measuring starts.
const WARM_UP: Duration = Duration::from_secs(1);

/// A key for all accounts: only this test reaches the server.
const KEY: &str = "ZmFpcm5lc3M=";
const ABUSER: &str = "abuser";

/// Measure what one abusive tenant costs ten modest ones
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Length of each measurement, seconds
    #[arg(long, default_value_t = 10.0)]
    seconds: f64,
    /// Connections of the abuser, each always with a request under way
    #[arg(long, default_value_t = 256)]
    connections: usize,
    /// Modest tenants
    #[arg(long, default_value_t = 10)]
    tenants: u64,
    /// Fail when the tenants' slowest hundredth of inserts took longer than this beside any abuser, milliseconds
    #[arg(long, value_name = "MS")]
    p99_max_ms: Option<f64>,
    #[command(flatten)]
    server: ServerProgram,
}

/// A measurement.
struct Row {
    abuser: &'static str,
    tenants: &'static str,
    load: Option<LoadResult>,
    entities: u64,
    seen: Seen,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let program = arguments.server.path()?;
    let directory = scratch("fairness")?;
    let mut command = partita_command(&program, directory.path());
    let names = (0..arguments.tenants).map(|number| format!("tenant{number}"));
    let accounts: Vec<String> = std::iter::once(ABUSER.to_owned()).chain(names).collect();
    let listed: Vec<String> = accounts
        .iter()
        .map(|name| format!("{name}:{KEY}"))
        .collect();
    command.args(["--accounts", &listed.join(";")]);
    let server = ServerProcess::start(command, START_DEADLINE)?;
    prepare(server.addr(), &Account::new(ABUSER, KEY)?, true)?;

    let others: Vec<&str> = accounts.iter().skip(1).map(String::as_str).collect();
    let own = vec![ABUSER; others.len()];
    let mut rows = vec![measure(
        arguments,
        server.addr(),
        None,
        ("others", &others),
    )?];
    let kinds = [
        WorkloadKind::Batch,
        WorkloadKind::InsertOne,
        WorkloadKind::Page,
        WorkloadKind::PointGet,
    ];
    for (run, kind) in (0..).zip(kinds) {
        for (again, tenants) in [(0, ("others", &others)), (1, ("its own", &own))] {
            eprintln!("fairness: {} beside {}", kind.title(), tenants.0);
            let abuse = Some((kind, run * 2 + again));
            rows.push(measure(arguments, server.addr(), abuse, tenants)?);
        }
    }
    print(arguments, &rows);
    check(arguments, &rows)
}

/// Lets the tenants work for a while, beside the abuser's load if there is one.
fn measure(
    arguments: &Arguments,
    addr: SocketAddr,
    abuse: Option<(WorkloadKind, u64)>,
    (title, accounts): (&'static str, &Vec<&str>),
) -> anyhow::Result<Row> {
    let measured = Duration::from_secs_f64(arguments.seconds);
    // Numbered on, so that no two measurements write the same row.
    let first = abuse.map_or(0, |(_, run)| run + 1) * arguments.tenants;
    let mut tenants = (first..)
        .zip(accounts)
        .map(|(number, name)| Tenant::new(addr, Account::new(name, KEY)?, number))
        .collect::<anyhow::Result<Vec<_>>>()?;
    let stage = &StageCell::new();
    std::thread::scope(|scope| {
        let threads: Vec<_> = tenants
            .iter_mut()
            .map(|tenant| scope.spawn(move || tenant.work(stage)))
            .collect();
        let load = match abuse {
            Some((kind, run)) => put_load(arguments, addr, kind, run, stage).map(Some),
            None => {
                park_for(WARM_UP);
                stage.set(Stage::Measuring);
                park_for(measured);
                Ok(None)
            }
        };
        stage.set(Stage::Stopped);
        let mut seen = Seen::default();
        for thread in threads {
            let ended = thread.join();
            seen.add(ended.map_err(|_| anyhow::anyhow!("a tenant panicked"))??);
        }
        let kind = abuse.map(|(kind, _)| kind);
        Ok(Row {
            abuser: kind.map_or("none", WorkloadKind::title),
            tenants: title,
            load: load.context("the abuser")?,
            entities: kind.map_or(0, WorkloadKind::entities),
            seen,
        })
    })
}

fn put_load(
    arguments: &Arguments,
    addr: SocketAddr,
    kind: WorkloadKind,
    run: u64,
    stage: &StageCell,
) -> anyhow::Result<LoadResult> {
    let workload = Workload::new(kind, &Account::new(ABUSER, KEY)?, addr, run);
    let shape = LoadShape {
        connections: arguments.connections,
        threads: 1,
        warm_up: WARM_UP,
        measured: Duration::from_secs_f64(arguments.seconds),
    };
    let load = LoadRun {
        addr,
        workload: &workload,
        shape,
    };
    // The load is at an edge twice: where measuring begins, and where it ends.
    let mut edges = [Stage::Measuring, Stage::Stopped].into_iter();
    load.run(|| {
        edges.next().into_iter().for_each(|next| stage.set(next));
        Ok(())
    })
}

fn print(arguments: &Arguments, rows: &[Row]) {
    println!(
        "{} tenants with 50 requests a second each; {} connections of the abuser; {} s each; times in ms\n",
        arguments.tenants, arguments.connections, arguments.seconds
    );
    println!(
        "| abuser | tenants | abuser's entities/s | insert p50 | p99 | max | get p50 | p99 | max | refused |"
    );
    println!("| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |");
    for row in rows {
        let entities = row
            .load
            .as_ref()
            .map_or(0.0, |load| load.requests_per_s() * row.entities as f64);
        let latencies: Vec<String> = [&row.seen.inserts, &row.seen.gets]
            .into_iter()
            .flat_map(|latencies| [0.5, 0.99, 1.0].map(|at| latencies.quantile_ms(at)))
            .map(|ms| format!("{ms:.1}"))
            .collect();
        println!(
            "| {} | {} | {entities:.0} | {} | {} |",
            row.abuser,
            row.tenants,
            latencies.join(" | "),
            row.seen.refused
        );
    }
}

fn check(arguments: &Arguments, rows: &[Row]) -> anyhow::Result<()> {
    for row in rows {
        let p99 = row.seen.inserts.quantile_ms(0.99);
        if row.seen.inserts.count() == 0 || row.seen.refused > 0 {
            bail!("beside {}, tenants were refused", row.abuser);
        }
        if arguments.p99_max_ms.is_some_and(|max| p99 > max) {
            bail!(
                "beside {}, the tenants' inserts took {p99:.1} ms",
                row.abuser
            );
        }
    }
    Ok(())
}
