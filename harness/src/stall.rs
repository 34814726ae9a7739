//! `cargo harness stall`: an ordinary client beside clients that stop sending or receiving.
//!
//! The ordinary client gets single entities over one connection, first alone, then beside each kind of stalling client:
//!
//! - *silent*: connects and sends nothing;
//! - *reading*: asks for a page of 4 MiB and does not read it;
//! - *pipelining*: asks for twenty such pages at once and reads none;
//! - *writing*: sends a signed upload of 4 MB without its last 100 kB.
//!
//! When its connection is closed, and after 25s at the latest, a client connects again and stalls again: a client that
//! does not read cannot see that the server has closed the connection. The table shows the latency of the gets, and the
//! memory of the server beyond what it took before.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use partita_bench::client::{Client, Request};
use partita_bench::{Account, ServerProcess, create_table, park_for, partita_command};

use crate::setup::{self, ServerProgram, scratch};

const TABLE: &str = "stalled";

/// Number of rows of 30 KB: together more than a page of 4 MiB.
const ROWS: usize = 160;

/// Bytes of the upload of a *writing* client.
const UPLOAD_BYTES: usize = 4_000_000;
/// Bytes of the upload that the client does not send.
const UPLOAD_MISSING: usize = 100_000;

/// Requests that a pipelining client sends at once.
const PIPELINED: usize = 20;

/// Threads that open stalling connections.
const THREADS: usize = 4;

/// The nice value of these threads. In use, the clients are on other machines. Here they must not take processor time
/// from the server and from the ordinary client.
const NICE: i32 = 10;

/// Time between two measurements of the server's memory.
const LOOK: Duration = Duration::from_millis(100);

/// Time after which a client connects again and stalls: the server closes a stalled connection after 20s.
const RENEWAL: Duration = Duration::from_secs(25);

/// Pages that are read before the measurement, so that the caches have their rows.
const WARM_PAGES: usize = 20;

/// Longest p99 of the ordinary client's gets.
const P99_MAX: Duration = Duration::from_millis(50);

/// Maximum growth of the server's memory, as a multiple of its budget for bodies and answers (--memory-in-flight).
const SPARE: f64 = 1.2;

/// Measure an ordinary client's gets and the server's memory beside clients that stop sending or receiving
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Stalling clients of each kind
    #[arg(long, default_value_t = 1_000)]
    clients: usize,
    /// Seconds of each measurement
    #[arg(long, default_value_t = 30)]
    seconds: u64,
    /// The server's --memory-in-flight, MiB
    #[arg(long, default_value_t = 256)]
    memory_mib: u64,
    /// Fail when a get fails, or when the memory exceeds the budget by more than a fifth
    #[arg(long)]
    check: bool,
    /// Fail also when the p99 of the gets exceeds 50 ms; needs an idle machine
    #[arg(long)]
    check_times: bool,
    #[command(flatten)]
    server: ServerProgram,
}

/// What a client does before it stalls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Silent,
    Reading,
    Pipelining,
    Writing,
}

impl Kind {
    const ALL: [Self; 4] = [Self::Silent, Self::Reading, Self::Pipelining, Self::Writing];

    const fn title(self) -> &'static str {
        match self {
            Self::Silent => "silent",
            Self::Reading => "reading",
            Self::Pipelining => "pipelining",
            Self::Writing => "writing",
        }
    }

    /// Sends what a client of this kind sends. Fails when the server closes the connection.
    fn stall(self, client: &mut Client, upload: &[u8]) -> std::io::Result<()> {
        let page = Request::new("GET", "/stalled()");
        match self {
            Self::Silent => Ok(()),
            Self::Reading => client.send_and_stall(&page, 0),
            Self::Pipelining => {
                for _ in 0..PIPELINED {
                    client.send_and_stall(&page, 0)?;
                }
                Ok(())
            }
            Self::Writing => {
                let batch = Request {
                    content_type: "multipart/mixed; boundary=b",
                    body: upload,
                    ..Request::new("POST", "/$batch")
                };
                client.send_and_stall(&batch, UPLOAD_MISSING)
            }
        }
    }
}

/// The gets of the ordinary client.
#[derive(Debug, Default)]
struct Gets {
    latencies: Vec<Duration>,
    /// Connections that the server closed, or answers other than 200.
    failed: u64,
}

impl Gets {
    fn percentile(&self, per_mille: usize) -> Duration {
        let rank = self.latencies.len() * per_mille / 1_000;
        let last = self.latencies.len().saturating_sub(1);
        let latency = self.latencies.get(rank.min(last));
        latency.copied().unwrap_or_default()
    }
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let program = arguments.server.path()?;
    let account = Account::well_known();
    println!("| clients | gets/s | failed | p50 ms | p99 ms | max ms | memory MiB |");
    println!("| --- | ---: | ---: | ---: | ---: | ---: | ---: |");
    let mut faults = Vec::new();
    for kind in [None].into_iter().chain(Kind::ALL.map(Some)) {
        let directory = scratch("stall")?;
        let server = start(&program, directory.path(), arguments)?;
        fill(server.addr(), &account)?;
        let before = server.rss_mib()?;
        let (gets, most) = measure(arguments, &server, &account, kind)?;
        let title = kind.map_or("none", Kind::title);
        let ms = |latency: Duration| latency.as_secs_f64() * 1_000.0;
        println!(
            "| {} {title} | {} | {} | {:.1} | {:.1} | {:.1} | {before:.0} + {:.0} |",
            kind.map_or(0, |_| arguments.clients),
            gets.latencies.len() as u64 / arguments.seconds.max(1),
            gets.failed,
            ms(gets.percentile(500)),
            ms(gets.percentile(990)),
            ms(gets.percentile(1_000)),
            most - before
        );
        if arguments.check_times && gets.percentile(990) > P99_MAX {
            faults.push(format!("{title}: p99 {:?}", gets.percentile(990)));
        }
        if gets.failed > 0 {
            faults.push(format!("{title}: {} gets failed", gets.failed));
        }
        if most - before > arguments.memory_mib as f64 * SPARE {
            faults.push(format!("{title}: {:.0} MiB", most - before));
        }
    }
    ensure!(
        !(arguments.check || arguments.check_times) || faults.is_empty(),
        "over the limits: {}",
        faults.join("; ")
    );
    Ok(())
}

fn start(program: &Path, directory: &Path, arguments: &Arguments) -> anyhow::Result<ServerProcess> {
    let mut command = partita_command(program, directory);
    let memory = format!("{}MiB", arguments.memory_mib);
    command.args(["--memory-in-flight", &memory]);
    setup::start_command(command)
}

fn fill(addr: SocketAddr, account: &Account) -> anyhow::Result<()> {
    let mut client = Client::connect(addr, account.clone())?;
    create_table(&mut client, TABLE)?;
    let entity = format!("{{\"A\":\"{}\"}}", "a".repeat(30_000));
    for row in 0..ROWS {
        let path = format!("/{TABLE}(PartitionKey='p',RowKey='{row:03}')");
        client.put(&path, &[], entity.as_bytes())?.expect(204)?;
    }
    let path = format!("/{TABLE}(PartitionKey='q',RowKey='r')");
    client.put(&path, &[], b"{}")?.expect(204)?;
    for _ in 0..WARM_PAGES {
        client.get(&format!("/{TABLE}()"))?.expect(200)?;
    }
    Ok(())
}

/// The gets beside the stalling clients, and the most memory that the server took.
fn measure(
    arguments: &Arguments,
    server: &ServerProcess,
    account: &Account,
    kind: Option<Kind>,
) -> anyhow::Result<(Gets, f64)> {
    let (ended, addr) = (&AtomicBool::new(false), server.addr());
    let seconds = Duration::from_secs(arguments.seconds);
    std::thread::scope(|scope| {
        if let Some(kind) = kind {
            for thread in 0..THREADS {
                let count = (arguments.clients + thread) / THREADS;
                scope.spawn(move || keep_stalling(addr, account, kind, count, ended));
            }
        }
        let getting = scope.spawn(move || get(addr, account, ended));
        let (began, mut most) = (Instant::now(), 0.0_f64);
        while began.elapsed() < seconds {
            park_for(LOOK);
            most = most.max(server.rss_mib()?);
        }
        ended.store(true, Ordering::Relaxed);
        let gets = getting.join();
        let mut gets = gets.map_err(|_| anyhow::anyhow!("the ordinary client panicked"))?;
        ensure!(!gets.latencies.is_empty(), "no get was answered");
        gets.latencies.sort_unstable();
        Ok((gets, most))
    })
    .with_context(|| format!("beside {kind:?} clients"))
}

/// A connection on which a client stalls.
struct Stalled {
    client: Client,
    since: Instant,
}

impl Stalled {
    fn is_over(&self) -> bool {
        self.since.elapsed() > RENEWAL || self.client.is_closed()
    }
}

/// Keeps `count` stalling connections. The server may close each at any time.
fn keep_stalling(
    addr: SocketAddr,
    account: &Account,
    kind: Kind,
    count: usize,
    ended: &AtomicBool,
) {
    // Without permission the priority does not change.
    let _ = rustix::process::nice(NICE);
    let upload = vec![b' '; UPLOAD_BYTES];
    let mut clients: Vec<Option<Stalled>> = Vec::new();
    clients.resize_with(count, || None);
    while !ended.load(Ordering::Relaxed) {
        for place in &mut clients {
            if ended.load(Ordering::Relaxed) {
                return;
            }
            if place.as_ref().is_some_and(|stalled| !stalled.is_over()) {
                continue;
            }
            *place = None;
            // A refused connection is tried again in the next round.
            let Ok(mut client) = Client::connect(addr, account.clone()) else {
                continue;
            };
            if kind.stall(&mut client, &upload).is_ok() {
                let since = Instant::now();
                *place = Some(Stalled { client, since });
            }
        }
        park_for(LOOK);
    }
}

/// Gets one entity after the other until the end.
fn get(addr: SocketAddr, account: &Account, ended: &AtomicBool) -> Gets {
    let mut gets = Gets::default();
    let mut client = None;
    while !ended.load(Ordering::Relaxed) {
        let began = Instant::now();
        match get_once(addr, account, &mut client) {
            Ok(()) => gets.latencies.push(began.elapsed()),
            Err(_) => {
                gets.failed += 1;
                client = None;
            }
        }
        // At most 500 gets per second.
        park_for(Duration::from_millis(2));
    }
    gets
}

fn get_once(
    addr: SocketAddr,
    account: &Account,
    client: &mut Option<Client>,
) -> anyhow::Result<()> {
    let client = match client {
        Some(client) => client,
        None => client.insert(Client::connect(addr, account.clone())?),
    };
    client
        .get("/stalled(PartitionKey='q',RowKey='r')")?
        .expect(200)?;
    Ok(())
}
