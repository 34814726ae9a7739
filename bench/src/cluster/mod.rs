//! Measures a cluster: `cargo xtask bench --cluster`.
//!
//! etcd and three servers share a folder as their store, and the cores of the machine with the load driver. The catalog
//! is at one server, all rows of the workloads at another. Each workload is sent to the server with the rows and through
//! the third, in turns. Then servers are killed, restarted and stopped, and the rows are moved, while clients write through
//! the other servers: what counts is the longest time without an acknowledged write. At last, one range of a new cluster
//! gets hot, until a part of it is at another server.

mod ceph;
mod connection;
mod figures;
mod hops;
mod hot;
mod options;
mod pauses;
mod probe;
mod programs;
mod servers;

pub use ceph::Ceph;
pub use connection::{Answer, Connection};
pub use figures::{
    ClusterFigures, HopFigures, LogFigures, PauseFigures, RestFigures, RouteFigures,
};
pub use options::ClusterOptions;
pub use probe::Probe;
pub use programs::{Program, etcd, etcd_file, supervise};
pub use servers::{Extra, SERVERS, Server, create_key, name};

use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;

use self::hops::Hops;
use self::pauses::Pauses;
use self::servers::Servers;
use crate::options::Options;
use crate::prepare::{cut_at, prepare};
use crate::{Account, admin, park_for};

/// The server of the catalog.
const CATALOG_SERVER: usize = 0;

/// The server of the rows.
const ROWS_SERVER: usize = 1;

/// The server that forwards the requests.
const FRONT_SERVER: usize = 2;

/// Runs the measurement. `say` receives a line for each step.
///
/// # Errors
/// When the cluster cannot be started, does not recover, or answers wrongly.
pub fn run(options: &Options, mut say: impl FnMut(&str)) -> anyhow::Result<ClusterFigures> {
    let mut figures = ClusterFigures::new();
    let folder = tempfile::Builder::new()
        .prefix("cluster-")
        .tempdir_in(options.scratch()?)?;
    let account = Account::well_known();
    // Nothing is split by itself, so that the rows stay where they were put.
    let balance = ("balance", &"off".to_owned());
    let with_ceph = options.cluster.ceph;
    let servers = Servers::start(&options.partita()?, folder.path(), &[balance], with_ceph)?;
    let range = place_rows(&servers, &account).context("preparing the cluster")?;
    say("three servers are ready, and the rows are written");
    let hops = Hops {
        options,
        servers: &servers,
        account: &account,
        range,
    };
    figures.hops = hops.measure(&mut say)?;
    let log = servers.log_figures(ROWS_SERVER)?;
    say(&log.line());
    figures.log = Some(log);
    let pauses = Pauses {
        servers: &servers,
        account: &account,
        range,
    };
    figures.pauses = pauses.measure(&options.cluster, &mut say)?;
    let rest = rest(&servers, Duration::from_secs(options.cluster.rest_seconds))?;
    say(&rest.line());
    figures.rest = Some(rest);
    drop(servers);
    for _ in 0..options.cluster.hot {
        let folder = tempfile::Builder::new()
            .prefix("hot-")
            .tempdir_in(options.scratch()?)?;
        figures.hot_s.push(hot::divide(options, folder.path())?);
    }
    if !figures.hot_s.is_empty() {
        say(&figures.hot_line());
    }
    Ok(figures)
}

/// Creates the tables and their rows, divides the rows of all tables from the catalog, and puts each part at its server.
/// Returns the range of the rows.
fn place_rows(servers: &Servers, account: &Account) -> anyhow::Result<u64> {
    let any = servers.get(CATALOG_SERVER);
    prepare(any.table, account, true)?;
    let key = BASE64_STANDARD.encode(before_rows(account));
    cut_at(any.admin, &serde_json::json!({ "key": key }))?;
    admin::await_rewriting(any.admin)?;
    let ranges = admin::ranges(any.admin)?.ranges;
    let [catalog, rows] = ranges.as_slice() else {
        bail!("there are {} ranges, not 2", ranges.len());
    };
    servers.move_range(catalog.id, CATALOG_SERVER)?;
    servers.move_range(rows.id, ROWS_SERVER)?;
    servers.await_all()?;
    Ok(rows.id)
}

/// A key after the catalog and before the rows of all tables (`docs/format/keys.md`): an entity of the table with the id 0.
/// Ids of tables are random.
fn before_rows(account: &Account) -> Vec<u8> {
    let mut key = vec![0x20];
    key.extend_from_slice(account.name().as_bytes());
    key.extend_from_slice(&[0; 9]);
    key.extend_from_slice(b"a\0");
    key
}

/// Measures the cluster without requests.
fn rest(servers: &Servers, length: Duration) -> anyhow::Result<RestFigures> {
    servers.await_all()?;
    ensure!(!length.is_zero(), "a rest of no time cannot be measured");
    let sample = || -> anyhow::Result<[f64; 3]> {
        Ok([
            servers.cpu_s()?,
            servers.etcd.cpu_s()?,
            servers.etcd_messages()?,
        ])
    };
    let (began, before) = (Instant::now(), sample()?);
    park_for(length);
    let (elapsed_s, after) = (began.elapsed().as_secs_f64(), sample()?);
    let [servers_s, etcd_s, messages] = [0, 1, 2].map(|index: usize| {
        let (before, after) = (before.get(index), after.get(index));
        after
            .zip(before)
            .map_or(0.0, |(after, before)| after - before)
    });
    Ok(RestFigures {
        ranges: admin::ranges(servers.get(CATALOG_SERVER).admin)?
            .ranges
            .len(),
        servers_cores: servers_s / elapsed_s,
        etcd_cores: etcd_s / elapsed_s,
        etcd_messages_per_minute: messages * 60.0 / elapsed_s,
    })
}
