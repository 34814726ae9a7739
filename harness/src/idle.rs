//! `cargo harness idle`: the memory of idle connections.
//!
//! Opens connections that send nothing, and connections that are kept after one request, and prints the memory that the
//! server takes for them.

use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, ensure};
use partita_bench::client::Client;
use partita_bench::{Account, ServerProcess, create_table, park_for, partita_command};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::setup::{self, ServerProgram, scratch};

const TABLE: &str = "idle";

/// Maximum memory of 10,000 idle connections, MiB.
const MIB_MAX: f64 = 150.0;

/// Open files of this process that are not connections.
const FILES_SPARE: u64 = 500;

/// Time after which the server has freed the buffers of an idle connection.
const REST: Duration = Duration::from_secs(6);

/// Measure the memory of idle connections
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Connections of each kind
    #[arg(long, default_value_t = 10_000)]
    connections: u32,
    /// Fail if 10,000 connections take more than 150 MiB
    #[arg(long)]
    check: bool,
    #[command(flatten)]
    server: ServerProgram,
}

/// What the client of a connection has done.
#[derive(Clone, Copy, Debug)]
enum Kind {
    Silent,
    KeptAlive,
}

impl Kind {
    const fn title(self) -> &'static str {
        match self {
            Self::Silent => "without a byte",
            Self::KeptAlive => "after one request",
        }
    }
}

/// An open connection.
enum Connection {
    Silent(#[allow(dead_code, reason = "keeps the connection open")] TcpStream),
    KeptAlive(#[allow(dead_code, reason = "keeps the connection open")] Box<Client>),
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let program = arguments.server.path()?;
    raise_open_files(u64::from(arguments.connections))?;
    println!("| connections | memory MiB | peak MiB | KiB each |");
    println!("| --- | ---: | ---: | ---: |");
    let mib_max = MIB_MAX * f64::from(arguments.connections) / 10_000.0;
    let mut faults = Vec::new();
    for kind in [Kind::Silent, Kind::KeptAlive] {
        let directory = scratch("idle")?;
        let server = start(&program, directory.path(), arguments.connections)?;
        let (before, after) = measure(&server, kind, arguments.connections)?;
        let cost = after - before;
        println!(
            "| {} {} | {before:.0} + {cost:.0} | {:.0} | {:.1} |",
            arguments.connections,
            kind.title(),
            server.peak_rss_mib()?,
            cost * 1_024.0 / f64::from(arguments.connections)
        );
        if cost > mib_max {
            faults.push(format!("{}: {cost:.0} MiB", kind.title()));
        }
    }
    ensure!(
        !arguments.check || faults.is_empty(),
        "more than {mib_max:.0} MiB: {}",
        faults.join("; ")
    );
    Ok(())
}

/// Raises this process's limit of open files. The server raises its own.
fn raise_open_files(connections: u64) -> anyhow::Result<()> {
    let wanted = connections + FILES_SPARE;
    let limit = getrlimit(Resource::Nofile);
    if limit.current.is_none_or(|current| current >= wanted) {
        return Ok(());
    }
    let raised = Rlimit {
        current: Some(wanted),
        maximum: limit.maximum,
    };
    setrlimit(Resource::Nofile, raised)
        .with_context(|| format!("{connections} connections need {wanted} open files (ulimit -n)"))
}

fn start(program: &Path, directory: &Path, connections: u32) -> anyhow::Result<ServerProcess> {
    let mut command = partita_command(program, directory);
    let connections_max = (connections + 100).to_string();
    command.args(["--connections-max", &connections_max]);
    command.args(["--header-timeout", "5m", "--idle-timeout", "5m"]);
    setup::start_command(command)
}

/// The server's memory before the connections are opened, and while they are idle, MiB.
fn measure(server: &ServerProcess, kind: Kind, connections: u32) -> anyhow::Result<(f64, f64)> {
    let account = Account::well_known();
    let mut client = Client::connect(server.addr(), account.clone())?;
    create_table(&mut client, TABLE)?;
    let row = format!("/{TABLE}(PartitionKey='p',RowKey='r')");
    client.put(&row, &[], b"{}")?.expect(204)?;
    let before = server.rss_mib()?;
    let mut open = Vec::new();
    for _ in 0..connections {
        open.push(connect(kind, server.addr(), &account, &row)?);
    }
    park_for(REST);
    // The server still answers on a connection that was idle as long as the others.
    client.get(&row)?.expect(200)?;
    let after = server.rss_mib()?;
    drop(open);
    Ok((before, after))
}

fn connect(
    kind: Kind,
    addr: SocketAddr,
    account: &Account,
    row: &str,
) -> anyhow::Result<Connection> {
    Ok(match kind {
        Kind::Silent => Connection::Silent(TcpStream::connect(addr)?),
        Kind::KeptAlive => {
            let mut client = Client::connect(addr, account.clone())?;
            client.get(row)?.expect(200)?;
            Connection::KeptAlive(Box::new(client))
        }
    })
}
