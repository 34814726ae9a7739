//! Servers of a cluster on one machine: etcd, and servers over a folder.

use std::ffi::OsString;
use std::io::{Read as _, Write as _};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use serde_json::Value;

use super::ceph::Ceph;
use super::figures::LogFigures;
use super::programs::{self, Program};
use crate::{admin, park_for};

/// The number of servers.
pub const SERVERS: usize = 3;

/// How long the cluster may take until a server serves, and until all do again after a failure.
const PATIENCE: Duration = Duration::from_secs(60);

/// The pause between two looks at the cluster.
const LOOK: Duration = Duration::from_millis(50);

/// What a server gets besides its own flags.
#[derive(Debug, Default)]
pub struct Extra<'a> {
    /// The store, if it is not a folder.
    pub store: Option<String>,
    /// Flags.
    pub flags: &'a [(&'a str, &'a String)],
    /// Environment variables.
    pub environment: &'a [(&'static str, OsString)],
}

/// A server of the cluster, which is started with [`Program::up`].
#[derive(Debug)]
pub struct Server {
    /// Its process.
    pub program: Arc<Program>,
    /// Where it listens for other servers.
    pub peer: SocketAddr,
    /// Where it serves tables.
    pub table: SocketAddr,
    /// Where it serves queues.
    pub queue: SocketAddr,
    /// Its admin port.
    pub admin: SocketAddr,
}

/// Creates the key of the cluster in its folder.
///
/// # Errors
/// When the program fails.
pub fn create_key(program: &Path, folder: &Path) -> anyhow::Result<()> {
    let created = Command::new(program)
        .args(["cluster", "key", "--file"])
        .arg(folder.join("cluster.key"))
        .output()?;
    let errors = String::from_utf8_lossy(&created.stderr);
    ensure!(
        created.status.success(),
        "cannot create a cluster key: {errors}"
    );
    Ok(())
}

/// The name of a server, counted from 0.
#[must_use]
pub fn name(server: usize) -> String {
    format!("server-{}", server + 1)
}

impl Server {
    /// A server over the folder, whose key [`create_key`] has created. It joins by the etcd at `etcd`, and tells the
    /// others that they reach it at `advertised`. `extra` are further flags and environment variables.
    ///
    /// # Errors
    /// When the machine has no free port.
    pub fn new(
        program: &Path,
        folder: &Path,
        number: usize,
        etcd: SocketAddr,
        advertised: IpAddr,
        extra: &Extra<'_>,
    ) -> anyhow::Result<Self> {
        let name = name(number);
        let [peer, table, queue, admin] = [(); 4].map(|()| admin::free_port());
        let (peer, table, queue, admin) = (peer?, table?, queue?, admin?);
        let path = |name: &str| folder.join(name).display().to_string();
        let port = |addr: SocketAddr| addr.port().to_string();
        let store = extra.store.clone();
        let own = [
            (
                "store",
                &store.unwrap_or_else(|| format!("file://{}", path("store"))),
            ),
            ("coordinator", &format!("etcd://{etcd}")),
            ("cluster-key", &path("cluster.key")),
            ("server-name", &name),
            ("state-dir", &path(&format!("state/{name}"))),
            ("table-port", &port(table)),
            ("queue-port", &port(queue)),
            ("admin-port", &port(admin)),
            ("peer-port", &port(peer)),
            ("advertise", &advertised.to_string()),
        ];
        Ok(Self {
            program: programs::server(
                program,
                &name,
                folder,
                &[&own[..], extra.flags].concat(),
                extra.environment,
            ),
            peer,
            table,
            queue,
            admin,
        })
    }

    /// The member `cluster` of its status; null if it does not answer.
    #[must_use]
    pub fn status(&self) -> Value {
        let status = admin::status(self.admin).ok();
        let status: Option<Value> = status.and_then(|text| serde_json::from_str(&text).ok());
        status.map_or(Value::Null, |status| status["cluster"].clone())
    }

    /// Whether it says that it serves ranges.
    #[must_use]
    pub fn serves(&self) -> bool {
        self.status()["serves"] == true
    }
}

/// etcd and servers without links that fail. Its processes end with it.
#[derive(Debug)]
pub(super) struct Servers {
    pub(super) etcd: Arc<Program>,
    pub(super) etcd_addr: SocketAddr,
    pub(super) all: Vec<Server>,
    /// The store, if it is not a folder.
    _ceph: Option<Ceph>,
}

impl Servers {
    /// Starts etcd and the servers with their data below `folder`, or in a Ceph.
    pub(super) fn start(
        program: &Path,
        folder: &Path,
        flags: &[(&str, &String)],
        with_ceph: bool,
    ) -> anyhow::Result<Self> {
        let ceph = with_ceph.then(|| Ceph::start(folder)).transpose()?;
        create_key(program, folder)?;
        let etcd_addr = admin::free_port()?;
        let etcd = programs::etcd(folder, etcd_addr, admin::free_port()?)?;
        let own = IpAddr::V4(Ipv4Addr::LOCALHOST);
        let variables = ceph.as_ref().map(|ceph| Ceph::environment(ceph.address));
        let extra = Extra {
            store: ceph.as_ref().map(Ceph::store),
            flags,
            environment: variables.as_ref().map_or(&[], |variables| &variables[..]),
        };
        let all = (0..SERVERS)
            .map(|number| Server::new(program, folder, number, etcd_addr, own, &extra))
            .collect::<Result<Vec<_>, _>>()?;
        for server in &all {
            server.program.up()?;
        }
        let servers = Self {
            etcd,
            etcd_addr,
            all,
            _ceph: ceph,
        };
        servers.await_all()?;
        Ok(servers)
    }

    /// Waits until all servers have joined and all ranges are served.
    pub(super) fn await_all(&self) -> anyhow::Result<()> {
        let began = Instant::now();
        let have_all = |server: &Server| {
            let status = server.status();
            let servers = status["servers"].as_array().map_or(0, Vec::len);
            servers == SERVERS && status["unserved"] == 0 && status["manager"].is_string()
        };
        // Before the first range exists, none is unserved.
        while !self.all.iter().all(have_all) || !self.all.iter().any(Server::serves) {
            ensure!(began.elapsed() < PATIENCE, "not all servers are back");
            park_for(LOOK);
        }
        Ok(())
    }

    /// A server by its number.
    pub(super) fn get(&self, number: usize) -> &Server {
        self.all
            .get(number)
            .expect("the number is below that of the servers")
    }

    /// The server that has a range, counted from 0.
    pub(super) fn owner(&self, range: u64) -> anyhow::Result<usize> {
        let began = Instant::now();
        loop {
            for server in &self.all {
                let ranges = admin::ranges(server.admin).map(|ranges| ranges.ranges);
                let found = ranges.into_iter().flatten().find(|found| found.id == range);
                let owner = found.and_then(|found| found.server);
                let number = owner.and_then(|owner| (0..SERVERS).find(|one| name(*one) == owner));
                if let Some(number) = number {
                    return Ok(number);
                }
            }
            ensure!(
                began.elapsed() < PATIENCE,
                "no server says who serves range {range}"
            );
            park_for(LOOK);
        }
    }

    /// Moves a range to a server, if another one has it. Repeated while the cluster is busy.
    pub(super) fn move_range(&self, range: u64, to: usize) -> anyhow::Result<()> {
        if self.owner(range)? == to {
            return Ok(());
        }
        let body = serde_json::json!({ "to": name(to) }).to_string();
        let began = Instant::now();
        loop {
            let moved = admin::act(self.get(to).admin, range, "move", &body);
            match moved {
                Ok((200, _)) => return Ok(()),
                _ if began.elapsed() < PATIENCE => park_for(LOOK),
                Ok((status, answer)) => bail!("moving range {range}: {status} {answer}"),
                Err(error) => return Err(error.context("moving a range")),
            }
        }
    }

    /// The processor time of all servers, in seconds.
    pub(super) fn cpu_s(&self) -> anyhow::Result<f64> {
        self.all.iter().map(|server| server.program.cpu_s()).sum()
    }

    /// How long the log of a server took for its groups since its start.
    pub(super) fn log_figures(&self, server: usize) -> anyhow::Result<LogFigures> {
        let status: Value = serde_json::from_str(&admin::status(self.get(server).admin)?)?;
        let quantile = |name: &str| status["engine"]["log_sync_us"][name].as_f64();
        let quantiles = quantile("p50").zip(quantile("p99"));
        let (p50, p99) = quantiles.context("the server has written nothing to its log")?;
        Ok(LogFigures {
            p50_ms: p50 / 1e3,
            p99_ms: p99 / 1e3,
        })
    }

    /// The number of requests that a server has forwarded since its start.
    pub(super) fn forwarded(&self, server: usize) -> anyhow::Result<f64> {
        let page = admin::metrics(self.get(server).admin)?;
        sum_of(&page, "partita_forwarded_total")
    }

    /// The number of messages that etcd has received since its start: requests, and the messages of streams, such as the
    /// keepalives of leases.
    pub(super) fn etcd_messages(&self) -> anyhow::Result<f64> {
        // By HTTP/1.0, so that the page has no chunks.
        let mut stream = TcpStream::connect(self.etcd_addr)?;
        stream.write_all(b"GET /metrics HTTP/1.0\r\n\r\n")?;
        let mut page = String::new();
        stream.read_to_string(&mut page)?;
        sum_of(&page, "grpc_server_msg_received_total")
    }
}

/// The sum of a metric over its labels; 0 if the page does not have it.
fn sum_of(page: &str, name: &str) -> anyhow::Result<f64> {
    let lines = page.lines().filter(|line| line.starts_with(name));
    let counts = lines.filter_map(|line| line.rsplit(' ').next());
    let sum = counts.map(str::parse::<f64>).sum::<Result<f64, _>>();
    sum.with_context(|| format!("reading the metric {name}"))
}
