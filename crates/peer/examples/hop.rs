//! Measures the hop between two servers: gets of 1 KiB and pages of 1 MiB between two processes, over mutual TLS.
//!
//! ```text
//! cargo run --release -p partita-peer --example hop [ROUNDS]
//! ```
//!
//! `TOKIO_WORKER_THREADS=1` gives each process one thread. It starts itself as the owner. Processor time of both processes is what counts; the time on the clock depends on
//! what else runs.

#![allow(clippy::print_stdout, reason = "it prints what it measures")]

use std::error::Error;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use partita_peer::forward::{
    Access, ForwardedAnswer, ForwardedRequest, Grant, RangeId, Scheme, ServiceId, Tenure,
};
use partita_peer::{
    Class, ClusterKey, Handler, Identity, Outcome, Peer, Peers, Received, Refuse, Reply, Server,
    ServerName, Settings,
};
use partita_rt::net::{MachineNetwork, Network as _};
use partita_rt::{Clock as _, SystemClock, Tasks};

type Failure = Box<dyn Error + Send + Sync>;

const GET_BYTES: usize = 1 << 10;
const PAGE_BYTES: usize = 1 << 20;

/// Answers as the owner of a range would, without looking anything up.
struct Owner {
    row: Bytes,
    page: Vec<Bytes>,
}

impl Owner {
    fn body(&self, target: &str) -> Vec<Bytes> {
        match target {
            "/cpu" => {
                let used = SystemClock.processor().as_nanos() as u64;
                vec![Bytes::copy_from_slice(&used.to_le_bytes())]
            }
            "/page" => self.page.clone(),
            _ => vec![self.row.clone()],
        }
    }
}

impl Handler for Owner {
    async fn handle(&self, request: Received) -> Outcome {
        let forwarded = ForwardedRequest::decode(&request.head).map_err(|_| Refuse)?;
        let body = self.body(forwarded.target);
        let head = ForwardedAnswer::Answered {
            status: 200,
            reason: "",
            body_bytes: body.iter().map(Bytes::len).sum::<usize>() as u64,
            entities: 1,
            code: "",
            busy: "",
            headers: vec![
                ("content-type", b"application/json;odata=minimalmetadata"),
                ("cache-control", b"no-cache"),
                ("x-content-type-options", b"nosniff"),
                ("etag", b"W/\"datetime'2026-01-01T00%3A00%3A00.0000000Z'\""),
                ("server", b"Partita/0.1.0"),
                ("x-ms-request-id", b"8f1c7a52-1002-0011-5a5a-0a0b0c000000"),
                ("x-ms-version", b"2019-02-02"),
            ],
        };
        Ok(Reply {
            head: head.encode(),
            body,
        })
    }
}

/// A request as a front would forward it.
fn request(target: &str) -> Vec<u8> {
    ForwardedRequest {
        service: ServiceId::Table,
        scheme: Scheme::Http,
        hops: 1,
        time_left: Duration::from_secs(30),
        range: RangeId(7),
        tenure: Tenure(42),
        request_id: [9; 16],
        service_version: Some(20_190_202),
        client: None,
        access: Access {
            grant: Grant::Owner,
            expires_ms: None,
        },
        account: "devstoreaccount1",
        base: "http://127.0.0.1:10002/devstoreaccount1",
        method: "GET",
        target,
        row: &[1; 60],
        headers: vec![
            ("Accept", b"application/json;odata=minimalmetadata"),
            (
                "x-ms-client-request-id",
                b"8f1c7a52-1002-0011-5a5a-0a0b0c000000",
            ),
        ],
    }
    .encode()
}

async fn send(peer: &Peer, class: Class, target: &str) -> Result<Bytes, Failure> {
    let answer = peer.send(class, &request(target), Bytes::new()).await?;
    ForwardedAnswer::decode(&answer.head)?;
    Ok(answer.body.collect(4 * PAGE_BYTES).await?)
}

/// The processor time of the owner.
async fn owner_time(peer: &Peer) -> Result<Duration, Failure> {
    let body = send(peer, Class::Small, "/cpu").await?;
    let bytes = body.first_chunk().ok_or("a short answer")?;
    Ok(Duration::from_nanos(u64::from_le_bytes(*bytes)))
}

/// The latencies of one client that sends one request after the other.
async fn client(peer: Peer, load: Load) -> Result<Vec<Duration>, Failure> {
    let mut latencies = Vec::with_capacity(load.each);
    for _ in 0..load.each {
        let sent = Instant::now();
        send(&peer, load.class, load.target).await?;
        latencies.push(sent.elapsed());
    }
    Ok(latencies)
}

/// What is measured: the clients, and the requests of each.
#[derive(Clone, Copy)]
struct Load {
    target: &'static str,
    class: Class,
    clients: usize,
    each: usize,
}

async fn measure(peer: &Peer, tasks: &Tasks, load: Load) -> Result<(), Failure> {
    let owner = owner_time(peer).await?;
    let (front, began) = (SystemClock.processor(), Instant::now());
    let clients: Vec<_> = (0..load.clients)
        .map(|_| tasks.spawn("client", client(peer.clone(), load)))
        .collect();
    let mut latencies = Vec::new();
    for client in clients {
        latencies.extend(client.await??);
    }
    let wall = began.elapsed();
    let front = SystemClock.processor() - front;
    let owner = owner_time(peer).await? - owner;
    latencies.sort();
    let count = latencies.len();
    let each = |time: Duration| time.as_secs_f64() * 1e6 / count as f64;
    let percentile = |share: usize| latencies[(count - 1) * share / 100].as_secs_f64() * 1e6;
    let Load {
        target, clients, ..
    } = load;
    println!(
        "{target:<6} {clients:>3} at once: front {:6.1} µs, owner {:6.1} µs, both {:6.1} µs of processor; p50 {:7.0} µs, \
         p99 {:7.0} µs; {:8.0} a second",
        each(front),
        each(owner),
        each(front + owner),
        percentile(50),
        percentile(99),
        count as f64 / wall.as_secs_f64(),
    );
    Ok(())
}

fn identity(key: &Path, name: &str) -> Result<Arc<Identity>, Failure> {
    let key = ClusterKey::read(key)?;
    Ok(Identity::issue(
        key,
        ServerName::new(name)?,
        Arc::new(SystemClock),
    )?)
}

/// Serves until its standard input closes.
async fn own(key: &Path) -> Result<(), Failure> {
    let listener = MachineNetwork.listen("127.0.0.1", 0).await?;
    println!("{}", listener.address()?);
    let piece = Bytes::from(vec![7; PAGE_BYTES / 4]);
    let owner = Arc::new(Owner {
        row: Bytes::from(vec![7; GET_BYTES]),
        page: vec![piece; 4],
    });
    let tasks = Tasks::new();
    let server = Server::new(&identity(key, "owner")?, Settings::default())?;
    tasks.spawn("server", server.run(listener, owner, tasks.clone()));
    let closed = || std::io::stdin().read_to_end(&mut Vec::new());
    partita_rt::threads::spawn_blocking(closed).await??;
    Ok(())
}

/// Sends requests to the owner that has printed its address.
async fn front(key: PathBuf, address: String, rounds: usize) -> Result<(), Failure> {
    let (tasks, network) = (Tasks::new(), Arc::new(MachineNetwork));
    let identity = identity(&key, "front")?;
    let peers = Peers::new(identity, network, Settings::default(), tasks.clone());
    let peer = peers.peer(&ServerName::new("owner")?, &address.trim().parse()?)?;
    let load = |target, class, clients, count: usize| Load {
        target,
        class,
        clients,
        each: count / clients,
    };
    measure(&peer, &tasks, load("/warm", Class::Small, 64, 20_000)).await?;
    for _ in 0..rounds {
        for clients in [1, 16, 64] {
            measure(&peer, &tasks, load("/get", Class::Small, clients, 40_000)).await?;
        }
        for clients in [1, 8] {
            measure(&peer, &tasks, load("/page", Class::Bulk, clients, 1000)).await?;
        }
    }
    Ok(())
}

fn main() -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [owner, key] = &arguments[..]
        && owner == "owner"
    {
        return runtime.block_on(own(Path::new(key)));
    }
    let rounds = arguments.first().map_or(Ok(3), |rounds| rounds.parse())?;
    let home = std::env::temp_dir().join(format!("partita-hop-{}", std::process::id()));
    std::fs::create_dir(&home)?;
    let key = home.join("cluster.key");
    ClusterKey::create()?.write(&key)?;
    let mut owner = Command::new(std::env::current_exe()?)
        .arg("owner")
        .arg(&key)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let mut address = String::new();
    let output = owner.stdout.take().ok_or("no output of the owner")?;
    BufReader::new(output).read_line(&mut address)?;
    // A task, as in a server: the main thread is not one of the runtime's.
    let measuring = Tasks::new();
    let measured = runtime.block_on(async {
        let front = front(key, address, rounds);
        measuring.spawn("front", front).await
    });
    // Closing its input ends the owner.
    drop(owner.stdin.take());
    owner.wait()?;
    std::fs::remove_dir_all(&home)?;
    measured?
}
