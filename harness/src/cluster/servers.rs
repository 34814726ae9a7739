//! The cluster under test: etcd, three servers on one folder, and a link on each way between them.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::ensure;
use partita_bench::cluster::{self, Program};
use partita_bench::{admin, park_for};

use super::proxy::Link;

/// The number of servers.
pub(super) const SERVERS: usize = cluster::SERVERS;

/// How long the cluster may take until a server serves.
const START_PATIENCE: Duration = Duration::from_secs(60);

/// A server and its links.
#[derive(Debug)]
pub(super) struct Server {
    pub(super) own: cluster::Server,
    /// From it to etcd.
    pub(super) to_etcd: Arc<Link>,
    /// From the other servers to it.
    pub(super) from_peers: Arc<Link>,
}

/// The cluster. Its processes end with it.
#[derive(Debug)]
pub(super) struct Cluster {
    pub(super) etcd: Arc<Program>,
    etcd_addr: SocketAddr,
    pub(super) servers: Vec<Server>,
}

impl Cluster {
    /// Starts the cluster with its data below `folder`.
    pub(super) fn start(program: &Path, folder: &Path) -> anyhow::Result<Self> {
        cluster::create_key(program, folder)?;
        let etcd_addr = admin::free_port()?;
        let etcd = cluster::etcd(folder, etcd_addr, admin::free_port()?)?;
        let servers = (0..SERVERS)
            .map(|number| server(program, folder, number, etcd_addr))
            .collect::<Result<Vec<_>, _>>()?;
        for server in &servers {
            server.own.program.up()?;
        }
        let cluster = Self {
            etcd,
            etcd_addr,
            servers,
        };
        let began = Instant::now();
        while cluster.serving().is_none() {
            ensure!(began.elapsed() < START_PATIENCE, "no server serves");
            park_for(Duration::from_millis(100));
        }
        Ok(cluster)
    }

    /// A server that serves ranges, counted from 0.
    pub(super) fn serving(&self) -> Option<usize> {
        self.servers.iter().position(|server| server.own.serves())
    }

    /// All programs.
    pub(super) fn programs(&self) -> Vec<Arc<Program>> {
        let servers = self.servers.iter().map(|server| &server.own.program);
        servers.chain([&self.etcd]).map(Arc::clone).collect()
    }

    /// Deletes all keys of etcd.
    pub(super) fn wipe_etcd(&self) -> anyhow::Result<()> {
        let program = cluster::etcd_file("etcdctl")?;
        let wiped = Command::new(program)
            .env("ETCDCTL_API", "3")
            .args(["--endpoints", &self.etcd_addr.to_string()])
            .args(["del", "", "--prefix"])
            .output()?;
        let errors = String::from_utf8_lossy(&wiped.stderr);
        ensure!(wiped.status.success(), "cannot wipe etcd: {errors}");
        Ok(())
    }
}

/// A server and its links. It listens for its peers at 127.0.0.1, and they reach it through the link at 127.0.0.2.
fn server(
    program: &Path,
    folder: &Path,
    number: usize,
    etcd: SocketAddr,
) -> anyhow::Result<Server> {
    let etcd_link = admin::free_port()?;
    let advertised = Ipv4Addr::new(127, 0, 0, 2);
    let own = cluster::Server::new(program, folder, number, etcd_link, advertised.into(), &[])?;
    let from_peers = Link::start((advertised, own.peer.port()).into(), own.peer)?;
    Ok(Server {
        own,
        to_etcd: Link::start(etcd_link, etcd)?,
        from_peers,
    })
}
