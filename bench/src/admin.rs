//! A client of the admin port without an HTTP library: one request per connection.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use partita_load::Random;
use serde::Deserialize;
use serde_json::Value;

use crate::park_for;

/// Read timeout of an answer, longer than any action takes.
const TIMEOUT: Duration = Duration::from_secs(60);

/// How long ranges may take to rewrite shared files.
const REWRITING_MAX: Duration = Duration::from_secs(120);

/// A range in the list of ranges.
#[derive(Clone, Debug, Deserialize)]
pub struct Range {
    /// The id of the range.
    pub id: u64,
    /// Number of older databases that the range still shares files with.
    pub sources: u64,
    /// The server of the cluster that serves it.
    pub server: Option<String>,
    /// Size of the files with the rows of the range, compressed, in bytes.
    pub bytes: u64,
}

/// The list of ranges.
#[derive(Clone, Debug, Deserialize)]
pub struct Ranges {
    /// The ranges, in key order.
    pub ranges: Vec<Range>,
    /// Databases that wait to be removed.
    #[serde(default)]
    pub orphans: Vec<Value>,
}

/// Waits until no range shares files, because rewriting them loads the server.
///
/// # Errors
/// When it takes more than two minutes, or the port does not answer.
pub fn await_rewriting(admin: SocketAddr) -> anyhow::Result<()> {
    let deadline = Instant::now() + REWRITING_MAX;
    while ranges(admin)?.ranges.iter().any(|range| range.sources > 0) {
        ensure!(
            Instant::now() < deadline,
            "ranges still share files after {REWRITING_MAX:?}"
        );
        park_for(Duration::from_millis(100));
    }
    Ok(())
}

/// Ports to choose from: below those that Linux gives to outgoing connections, so that no client takes the port before
/// the server listens.
const PORTS: std::ops::Range<u16> = 10_100..30_000;

/// Maximum number of ports that are tried.
const PORT_TRIES: u32 = 100;

/// A port of this machine that was free a moment ago.
///
/// # Errors
/// When no port is free.
pub fn free_port() -> anyhow::Result<SocketAddr> {
    // Random, so that tests that run at the same time seldom choose the same.
    let mut random = Random::new(RandomState::new().build_hasher().finish());
    let free = (0..PORT_TRIES).find_map(|_| {
        let port = PORTS.start + u16::try_from(random.below(PORTS.len() as u64)).ok()?;
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).ok()?;
        listener.local_addr().ok()
    });
    free.context("found no free port")
}

/// All ranges.
///
/// # Errors
/// When the port does not answer, or not as documented.
pub fn ranges(admin: SocketAddr) -> anyhow::Result<Ranges> {
    let (status, body) = send(admin, "GET", "ranges", "")?;
    ensure!(status == 200, "cannot list the ranges: {status}: {body}");
    serde_json::from_value(body).context("reading the list of ranges")
}

/// The status of the server, as JSON text.
///
/// # Errors
/// When the port does not answer, or not with JSON.
pub fn status(admin: SocketAddr) -> anyhow::Result<String> {
    let (_, body) = send(admin, "GET", "status", "")?;
    Ok(body.to_string())
}

/// The page of metrics, in the text format of Prometheus.
///
/// # Errors
/// When the port does not answer, or not as documented.
pub fn metrics(admin: SocketAddr) -> anyhow::Result<String> {
    let (status, page) = exchange(admin, "GET", "/metrics", "")?;
    ensure!(status == 200, "cannot read the metrics: {status}: {page}");
    Ok(page)
}

/// Runs an action on a range; returns status and body.
///
/// # Errors
/// When the port does not answer.
pub fn act(
    admin: SocketAddr,
    range: u64,
    action: &str,
    body: &str,
) -> anyhow::Result<(u16, Value)> {
    send(admin, "POST", &format!("ranges/{range}/{action}"), body)
}

/// The names of all snapshots.
///
/// # Errors
/// When the port does not answer, or not as documented.
pub fn snapshots(admin: SocketAddr) -> anyhow::Result<Vec<String>> {
    let (status, body) = send(admin, "GET", "snapshots", "")?;
    ensure!(status == 200, "cannot list the snapshots: {status}: {body}");
    let listed = body["snapshots"]
        .as_array()
        .context("the answer has no list of snapshots")?;
    let names = listed
        .iter()
        .filter_map(|snapshot| snapshot["name"].as_str());
    Ok(names.map(str::to_owned).collect())
}

/// Runs an action on a snapshot; returns the body of the answer.
///
/// # Errors
/// When the port does not answer, or refuses.
pub fn act_on_snapshot(admin: SocketAddr, name: &str, action: &str) -> anyhow::Result<Value> {
    let (status, body) = send(admin, "POST", &format!("snapshots/{name}/{action}"), "")?;
    ensure!(
        status == 200,
        "{action} of snapshot {name}: {status} {body}"
    );
    Ok(body)
}

/// Runs an action on a server of a cluster; returns status and body.
///
/// # Errors
/// When the port does not answer.
pub fn act_on_server(admin: SocketAddr, name: &str, action: &str) -> anyhow::Result<(u16, Value)> {
    send(admin, "POST", &format!("servers/{name}/{action}"), "")
}

fn send(admin: SocketAddr, method: &str, path: &str, body: &str) -> anyhow::Result<(u16, Value)> {
    let (status, body) = exchange(admin, method, &format!("/admin/v1/{path}"), body)?;
    Ok((status, serde_json::from_str(&body)?))
}

/// Sends a request; returns status and body.
fn exchange(
    admin: SocketAddr,
    method: &str,
    path: &str,
    body: &str,
) -> anyhow::Result<(u16, String)> {
    let mut stream = TcpStream::connect(admin)?;
    stream.set_read_timeout(Some(TIMEOUT))?;
    let length = body.len();
    write!(
        stream,
        "{method} {path} HTTP/1.1\r\nHost: localhost\r\nX-Partita-Admin: bench\r\nConnection: close\r\n\
         Content-Length: {length}\r\n\r\n{body}"
    )?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    let (head, body) = answer
        .split_once("\r\n\r\n")
        .context("the answer is not complete")?;
    let status = head
        .split(' ')
        .nth(1)
        .context("the answer has no status")?
        .parse()?;
    Ok((status, body.to_owned()))
}
