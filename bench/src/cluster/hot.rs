//! How long it takes until a hot range is split and a part of it is at another server.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::ensure;

use super::servers::Servers;
use crate::options::Options;
use crate::prepare::prepare;
use crate::{Account, LoadRun, Workload, WorkloadKind, admin, park_for};

/// The balancer leaves a range alone for a minute after it has first seen it.
const COOL_DOWN: Duration = Duration::from_secs(65);

/// Connections that read rows of all partitions.
const CONNECTIONS: usize = 64;

/// The length of one run of the load, which is repeated until the range is divided.
const LOAD: Duration = Duration::from_secs(2);

/// How long the cluster may take.
const PATIENCE: Duration = Duration::from_secs(120);

/// The pause between two looks at the ranges.
const LOOK: Duration = Duration::from_millis(50);

/// Starts a cluster with the default settings, whose only range has all rows. Returns the seconds from the first read until
/// two servers serve ranges.
pub(super) fn divide(options: &Options, folder: &Path) -> anyhow::Result<f64> {
    let with_ceph = options.cluster.ceph;
    let servers = Servers::start(&options.partita()?, folder, &[], with_ceph)?;
    let account = Account::well_known();
    prepare(servers.get(0).table, &account, true)?;
    park_for(COOL_DOWN);
    ensure!(
        owners(&servers)?.len() == 1,
        "the rows were divided before they were read"
    );
    let is_divided = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let load = scope.spawn(|| read(options, &servers, &account, &is_divided));
        let seconds = until_divided(&servers);
        is_divided.store(true, Ordering::Relaxed);
        load.join().expect("the load does not panic")?;
        seconds
    })
}

/// Reads rows of all partitions through a server until the range is divided.
fn read(
    options: &Options,
    servers: &Servers,
    account: &Account,
    is_divided: &AtomicBool,
) -> anyhow::Result<()> {
    let mut run = 0;
    while !is_divided.load(Ordering::Relaxed) {
        let addr = servers.get(0).table;
        let source = Workload::new(WorkloadKind::PointGet, account, addr, run);
        let load = LoadRun {
            threads: options.threads.min(CONNECTIONS),
            ..LoadRun::new(&source, CONNECTIONS, LOAD)
        };
        let result = load.run(|| Ok(()))?;
        ensure!(
            result.errors == 0,
            "{} reads failed, first: {:?}",
            result.errors,
            result.first_error
        );
        run += 1;
    }
    Ok(())
}

fn until_divided(servers: &Servers) -> anyhow::Result<f64> {
    let began = Instant::now();
    while owners(servers)?.len() < 2 {
        ensure!(
            began.elapsed() < PATIENCE,
            "the hot range was not divided within {PATIENCE:?}"
        );
        park_for(LOOK);
    }
    Ok(began.elapsed().as_secs_f64())
}

/// The servers that serve ranges.
fn owners(servers: &Servers) -> anyhow::Result<Vec<String>> {
    let ranges = admin::ranges(servers.get(0).admin)?.ranges;
    let mut owners: Vec<String> = ranges.into_iter().filter_map(|it| it.server).collect();
    owners.sort();
    owners.dedup();
    Ok(owners)
}
