//! The admin port, asked without a library: one request a connection.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use serde_json::Value;

use crate::park_for;

/// Longer than any action takes.
const TIMEOUT: Duration = Duration::from_secs(60);

/// How long ranges may take to rewrite what they share.
const REWRITING_MAX: Duration = Duration::from_secs(120);

/// A range as the admin port shows it.
#[derive(Debug, Clone)]
pub struct Range {
    /// Its id.
    pub id: u64,
    /// With how many older databases it still shares files.
    pub sources: u64,
    /// Bytes of its rows in files, as they are compressed there.
    pub bytes: u64,
}

/// What the admin port says of all ranges.
#[derive(Debug, Clone)]
pub struct Ranges {
    /// Them, in key order.
    pub ranges: Vec<Range>,
    /// How many databases wait to be removed.
    pub orphans: usize,
}

/// Waits until no range shares files with others: rewriting them is work too.
///
/// # Errors
/// When it takes more than two minutes, or the port does not answer.
pub fn await_rewriting(admin: SocketAddr) -> anyhow::Result<()> {
    let deadline = Instant::now() + REWRITING_MAX;
    while ranges(admin)?.ranges.iter().any(|range| range.sources > 0) {
        ensure!(
            Instant::now() < deadline,
            "ranges still rewrite their files"
        );
        park_for(Duration::from_millis(100));
    }
    Ok(())
}

/// A port of this machine that was free a moment ago.
///
/// # Errors
/// When there is none.
pub fn free_port() -> anyhow::Result<SocketAddr> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    Ok(listener.local_addr()?)
}

/// All ranges.
///
/// # Errors
/// When the port does not answer, or not as documented.
pub fn ranges(admin: SocketAddr) -> anyhow::Result<Ranges> {
    let (status, body) = ask(admin, "GET", "/admin/v1/ranges", "")?;
    let list = body["ranges"].as_array();
    let (200, Some(list)) = (status, list) else {
        bail!("the ranges were answered with {status}: {body}");
    };
    let range = |value: &Value| {
        Some(Range {
            id: value["id"].as_u64()?,
            sources: value["sources"].as_u64()?,
            bytes: value["bytes"].as_u64()?,
        })
    };
    Ok(Ranges {
        ranges: list
            .iter()
            .map(range)
            .collect::<Option<_>>()
            .context("a range without id")?,
        orphans: body["orphans"].as_array().map_or(0, Vec::len),
    })
}

/// Does something to a range; status and body.
///
/// # Errors
/// When the port does not answer.
pub fn act(
    admin: SocketAddr,
    range: u64,
    action: &str,
    body: &str,
) -> anyhow::Result<(u16, Value)> {
    let path = format!("/admin/v1/ranges/{range}/{action}");
    ask(admin, "POST", &path, body)
}

/// Does something with a snapshot; status and body.
///
/// # Errors
/// When the port does not answer.
pub fn act_on_snapshot(
    admin: SocketAddr,
    name: &str,
    action: &str,
) -> anyhow::Result<(u16, Value)> {
    ask(
        admin,
        "POST",
        &format!("/admin/v1/snapshots/{name}/{action}"),
        "",
    )
}

fn ask(admin: SocketAddr, method: &str, path: &str, body: &str) -> anyhow::Result<(u16, Value)> {
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
    let (head, body) = answer.split_once("\r\n\r\n").context("no whole answer")?;
    let status = head.split(' ').nth(1).context("no status")?.parse()?;
    Ok((status, serde_json::from_str(body)?))
}
