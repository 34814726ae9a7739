//! The cluster under test: etcd, three servers on one folder, and a link on each way between them.

use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::ensure;
use partita_bench::{admin, park_for};
use serde_json::Value;

use super::programs::{self, Program};
use super::proxy::Link;

/// The number of servers.
pub(super) const SERVERS: usize = 3;

/// How long the cluster may take until a server serves.
const START_PATIENCE: Duration = Duration::from_secs(60);

/// A server and its links.
#[derive(Debug)]
pub(super) struct Server {
    pub(super) program: Arc<Program>,
    /// From it to etcd.
    pub(super) to_etcd: Arc<Link>,
    /// From the other servers to it.
    pub(super) from_peers: Arc<Link>,
    pub(super) table: SocketAddr,
    pub(super) queue: SocketAddr,
    pub(super) admin: SocketAddr,
}

impl Server {
    /// Whether it says that it serves ranges.
    pub(super) fn serves(&self) -> bool {
        let status = admin::status(self.admin).ok();
        let status: Option<Value> = status.and_then(|text| serde_json::from_str(&text).ok());
        status.is_some_and(|status| status["cluster"]["serves"] == true)
    }
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
        let key = folder.join("cluster.key");
        let created = Command::new(program)
            .args(["cluster", "key", "--file"])
            .arg(&key)
            .output()?;
        ensure!(created.status.success(), "cannot create a cluster key");
        let etcd_addr = admin::free_port()?;
        let etcd = programs::etcd(folder, etcd_addr, admin::free_port()?)?;
        let servers = (1..=SERVERS)
            .map(|number| server(program, folder, number, etcd_addr))
            .collect::<Result<Vec<_>, _>>()?;
        for server in &servers {
            server.program.up()?;
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
        self.servers.iter().position(Server::serves)
    }

    /// All programs.
    pub(super) fn programs(&self) -> Vec<Arc<Program>> {
        let servers = self.servers.iter().map(|server| &server.program);
        servers.chain([&self.etcd]).map(Arc::clone).collect()
    }

    /// Deletes all keys of etcd.
    pub(super) fn wipe_etcd(&self) -> anyhow::Result<()> {
        let program = programs::etcd_file("etcdctl")?;
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
    let name = format!("server-{number}");
    let [etcd_link, peer, table, queue, admin] = [(); 5].map(|()| admin::free_port());
    let (etcd_link, peer, table, queue, admin) = (etcd_link?, peer?, table?, queue?, admin?);
    let path = |name: &str| folder.join(name).display().to_string();
    let port = |addr: SocketAddr| addr.port().to_string();
    let advertised = SocketAddr::from(([127, 0, 0, 2], peer.port()));
    let arguments = [
        ("store", &format!("file://{}", path("store"))),
        ("coordinator", &format!("etcd://{etcd_link}")),
        ("cluster-key", &path("cluster.key")),
        ("server-name", &name),
        ("state-dir", &path(&format!("state/{name}"))),
        ("table-port", &port(table)),
        ("queue-port", &port(queue)),
        ("admin-port", &port(admin)),
        ("peer-port", &port(peer)),
        ("advertise", &advertised.ip().to_string()),
    ];
    Ok(Server {
        program: programs::server(program, &name, folder, &arguments),
        to_etcd: Link::start(etcd_link, etcd)?,
        from_peers: Link::start(advertised, peer)?,
        table,
        queue,
        admin,
    })
}
