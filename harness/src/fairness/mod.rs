//! `cargo harness fairness`: the latency of ten modest tenants while another tenant is abusive.
//!
//! Each modest tenant sends 50 requests a second, inserts and reads, one request at a time. They are measured alone,
//! and then together with an abuser that keeps 256 requests waiting. The abuser sends transactions of 100 rows into
//! many partitions, then single rows into one partition, then queries for pages of 1,000 rows, then point reads. Each
//! kind is measured twice: with the tenants as other accounts, and as partitions of the abuser's own account.
//!
//! Driver and server share the machine's cores, so part of the abuser's cost is the driver's. `--program` measures another server
//! in the same way, to compare with.

mod tenants;

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::{Context, bail};
use partita_bench::{
    Account, LoadResult, LoadRun, Workload, WorkloadKind, park_for, partita_command, prepare,
};
use partita_load::{Stage, StageCell};

use self::tenants::{Tenant, TenantResults};
use crate::setup::{self, ServerProgram, scratch};

/// Duration of the load before measuring starts.
const WARM_UP: Duration = Duration::from_secs(1);

/// The key of all accounts. It need not be secret: only this test can connect to the server.
const KEY: &str = "ZmFpcm5lc3M=";
const ABUSER: &str = "abuser";

/// Measure the latency of ten modest tenants while another tenant is abusive
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
    /// Fail if the p99 latency of the tenants' inserts exceeds this with any kind of abuse, milliseconds
    #[arg(long, value_name = "MS")]
    p99_max_ms: Option<f64>,
    #[command(flatten)]
    server: ServerProgram,
}

/// The result of one measurement.
struct Row {
    abuser: &'static str,
    tenants: &'static str,
    load: Option<LoadResult>,
    entities: u64,
    results: TenantResults,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let program = arguments.server.path()?;
    let directory = scratch("fairness")?;
    let mut command = partita_command(&program, directory.path());
    let names = (0..arguments.tenants).map(|number| format!("tenant{number}"));
    let others: Vec<String> = names.collect();
    let own = vec![ABUSER.to_owned(); others.len()];
    let accounts = own.iter().take(1).chain(&others);
    let accounts: Vec<String> = accounts.map(|name| format!("{name}:{KEY}")).collect();
    command.args(["--accounts", &accounts.join(";")]);
    let server = setup::start_command(command)?;
    prepare(server.addr(), &Account::new(ABUSER, KEY)?, true)?;

    let alone = ("others", &others);
    let mut rows = vec![measure(arguments, server.addr(), None, alone)?];
    let kinds = [
        WorkloadKind::Batch,
        WorkloadKind::InsertOne,
        WorkloadKind::Page,
        WorkloadKind::PointGet,
    ];
    for (run, kind) in (0..).zip(kinds) {
        for (again, tenants) in [(0, ("others", &others)), (1, ("its own", &own))] {
            eprintln!("fairness: abuser: {}, tenants: {}", kind.title(), tenants.0);
            let abuse = Some((kind, run * 2 + again));
            rows.push(measure(arguments, server.addr(), abuse, tenants)?);
        }
    }
    print(arguments, &rows);
    check(arguments, &rows)
}

/// Measures the tenants for a while, together with the abuser's load if there is one.
fn measure(
    arguments: &Arguments,
    addr: SocketAddr,
    abuse: Option<(WorkloadKind, u64)>,
    (title, accounts): (&'static str, &Vec<String>),
) -> anyhow::Result<Row> {
    let measured = Duration::from_secs_f64(arguments.seconds);
    // Each measurement has its own tenant numbers, so that no two measurements insert the same row.
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
        let mut results = TenantResults::default();
        for thread in threads {
            let ended = thread.join();
            results.add(&ended.map_err(|_| anyhow::anyhow!("a tenant panicked"))??);
        }
        let kind = abuse.map(|(kind, _)| kind);
        Ok(Row {
            abuser: kind.map_or("none", WorkloadKind::title),
            tenants: title,
            load: load.context("running the load of the abuser")?,
            entities: kind.map_or(0, WorkloadKind::entities),
            results,
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
    let measured = Duration::from_secs_f64(arguments.seconds);
    let load = LoadRun {
        warm_up: WARM_UP,
        ..LoadRun::new(&workload, arguments.connections, measured)
    };
    // The load calls back twice: when measuring begins and when it ends.
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
        let latencies: Vec<String> = [&row.results.inserts, &row.results.gets]
            .into_iter()
            .flat_map(|latencies| [0.5, 0.99, 1.0].map(|at| latencies.quantile_ms(at)))
            .map(|ms| format!("{ms:.1}"))
            .collect();
        println!(
            "| {} | {} | {entities:.0} | {} | {} |",
            row.abuser,
            row.tenants,
            latencies.join(" | "),
            row.results.refused
        );
    }
}

fn check(arguments: &Arguments, rows: &[Row]) -> anyhow::Result<()> {
    for row in rows {
        let p99 = row.results.inserts.quantile_ms(0.99);
        if row.results.inserts.count() == 0 || row.results.refused > 0 {
            bail!(
                "abuser {}: tenants were refused or made no inserts",
                row.abuser
            );
        }
        if arguments.p99_max_ms.is_some_and(|max| p99 > max) {
            bail!(
                "abuser {}: the p99 of the tenants' inserts is {p99:.1} ms",
                row.abuser
            );
        }
    }
    Ok(())
}
