//! The cluster under test: etcd, three servers on one folder, and a link on each way between them.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use partita_bench::cluster::{self, Ceph, Extra, Program};
use partita_bench::{admin, park_for};
use serde_json::Value;

use super::proxy::{Behaviour, Link};
use crate::preload::Preload;

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
    /// From it to the gateway of Ceph, if that has the store.
    pub(super) to_store: Option<Arc<Link>>,
    /// Its calls to a store in a folder, and its clock.
    pub(super) preload: Preload,
}

impl Server {
    /// Does nothing if the store is a folder.
    pub(super) fn set_link_to_store(&self, behaviour: Behaviour) {
        if let Some(link) = &self.to_store {
            link.set(behaviour);
        }
    }
}

/// The cluster. Its processes end with it.
#[derive(Debug)]
pub(super) struct Cluster {
    pub(super) etcd: Arc<Program>,
    etcd_addr: SocketAddr,
    /// The store, if it is not a folder.
    pub(super) ceph: Option<Ceph>,
    pub(super) servers: Vec<Server>,
    /// One more server, which runs only while it is a member.
    pub(super) spare: Server,
}

impl Cluster {
    /// Starts the cluster with its data below `folder`, or in a Ceph.
    pub(super) fn start(program: &Path, folder: &Path, with_ceph: bool) -> anyhow::Result<Self> {
        cluster::create_key(program, folder)?;
        let ceph = with_ceph.then(|| Ceph::start(folder)).transpose()?;
        let etcd_addr = admin::free_port()?;
        let etcd = cluster::etcd(folder, etcd_addr, admin::free_port()?)?;
        let store = folder.join("store");
        let preload = Preload::new(folder, &store)?;
        let mut servers = (0..=SERVERS)
            .map(|number| server(program, folder, number, etcd_addr, ceph.as_ref(), &preload))
            .collect::<Result<Vec<_>, _>>()?;
        let spare = servers.pop().context("no server was created")?;
        for server in &servers {
            server.own.program.up()?;
        }
        let cluster = Self {
            etcd,
            etcd_addr,
            ceph,
            servers,
            spare,
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

    /// The server that is elected, counted from 0.
    pub(super) fn manager(&self) -> Option<usize> {
        let status = self.status()?;
        let manager = status["manager"].as_str()?;
        (0..SERVERS).find(|server| cluster::name(*server) == manager)
    }

    /// The number of ranges of a server; `None` if it is not a member.
    pub(super) fn ranges_of(&self, name: &str) -> Option<u64> {
        let status = self.status()?;
        let mut members = status["servers"].as_array()?.iter();
        let member = members.find(|member| member["name"] == name)?;
        member["ranges"].as_u64()
    }

    /// The cluster as a server sees it that has a lease.
    fn status(&self) -> Option<Value> {
        let all = self.servers.iter().map(|server| server.own.status());
        all.into_iter().find(|status| status["manager"].is_string())
    }

    /// All programs.
    pub(super) fn programs(&self) -> Vec<Arc<Program>> {
        let servers = self.servers.iter().chain([&self.spare]);
        let servers = servers.map(|server| &server.own.program);
        let ceph = self.ceph.iter().map(|ceph| &ceph.osd);
        servers
            .chain([&self.etcd])
            .chain(ceph)
            .map(Arc::clone)
            .collect()
    }

    /// Deletes all keys of etcd.
    pub(super) fn wipe_etcd(&self) -> anyhow::Result<()> {
        self.etcdctl(&["del", "", "--prefix"]).map(|_| ())
    }

    /// Forgets the history of all keys of etcd: a watch of an older revision ends with an error.
    pub(super) fn compact_etcd(&self) -> anyhow::Result<()> {
        let found = self.etcdctl(&["get", "none", "--write-out", "json"])?;
        let found: Value = serde_json::from_str(&found).context("reading an answer of etcd")?;
        let revision = found["header"]["revision"].to_string();
        self.etcdctl(&["compact", &revision]).map(|_| ())
    }

    fn etcdctl(&self, words: &[&str]) -> anyhow::Result<String> {
        let program = cluster::etcd_file("etcdctl")?;
        let output = Command::new(program)
            .env("ETCDCTL_API", "3")
            .args(["--endpoints", &self.etcd_addr.to_string()])
            .args(words)
            .output()?;
        let errors = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "etcdctl {words:?}: {errors}");
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }
}

/// A server and its links. It listens for its peers at 127.0.0.1, and they reach it through the link at 127.0.0.2.
fn server(
    program: &Path,
    folder: &Path,
    number: usize,
    etcd: SocketAddr,
    ceph: Option<&Ceph>,
    preload: &Preload,
) -> anyhow::Result<Server> {
    let (etcd_link, store_link) = (admin::free_port()?, admin::free_port()?);
    let advertised = Ipv4Addr::new(127, 0, 0, 2);
    let scratch = folder.join(format!("preload-{number}"));
    std::fs::create_dir_all(&scratch)?;
    let preload = preload.another(&scratch)?;
    let place = ("backup-place", &backups(folder).display().to_string());
    let mut environment = preload.variables().to_vec();
    if ceph.is_some() {
        environment.extend(Ceph::environment(store_link));
    }
    let extra = Extra {
        store: ceph.map(Ceph::store),
        flags: &[place],
        environment: &environment,
    };
    let own = cluster::Server::new(
        program,
        folder,
        number,
        etcd_link,
        advertised.into(),
        &extra,
    )?;
    let from_peers = Link::start((advertised, own.peer.port()).into(), own.peer)?;
    Ok(Server {
        own,
        to_etcd: Link::start(etcd_link, etcd)?,
        from_peers,
        to_store: ceph
            .map(|ceph| Link::start(store_link, ceph.address))
            .transpose()?,
        preload,
    })
}

/// Where the servers may write backups.
pub(super) fn backups(folder: &Path) -> PathBuf {
    folder.join("backups")
}
