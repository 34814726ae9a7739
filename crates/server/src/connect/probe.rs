//! Asks whether a server is there: by the admin port when there is one, else by opening a connection.

use std::io::{Read as _, Write as _};
use std::net::{TcpStream, ToSocketAddrs as _};
use std::time::Duration;

use crate::config::Settings;

/// For each step of a probe. A server on the same machine answers in milliseconds.
const TIMEOUT: Duration = Duration::from_secs(2);

/// The status page is a few kilobytes.
const STATUS_BYTES_MAX: u64 = 1 << 20;

/// What a probe found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// A server told how it stands.
    Status {
        /// Its version.
        version: String,
        /// `ready`, `starting`, ..
        state: String,
        /// The port of its tables, which the settings may have left open.
        table_port: Option<u16>,
        /// The accounts it serves.
        accounts: Vec<String>,
    },
    /// The table port is open; nothing more is known, because the admin port is off or belongs to somebody else.
    Open,
    /// Nobody is there.
    Nothing,
}

/// Looks for the server that these settings describe. Blocking, a few seconds at most.
pub fn probe(settings: &Settings) -> Answer {
    let status = settings
        .admin
        .port
        .and_then(|port| ask(&super::reachable(&settings.admin.host), port));
    if let Some(answer) = status.and_then(|page| read(&page)) {
        return answer;
    }
    match connect(&super::reachable(&settings.table.host), settings.table.port) {
        Some(_) => Answer::Open,
        None => Answer::Nothing,
    }
}

#[allow(
    clippy::disallowed_methods,
    reason = "a command asks here, not the server that is simulated"
)]
fn connect(host: &str, port: u16) -> Option<TcpStream> {
    let mut addresses = (host, port).to_socket_addrs().ok()?;
    addresses.find_map(|address| TcpStream::connect_timeout(&address, TIMEOUT).ok())
}

/// The status page as text.
fn ask(host: &str, port: u16) -> Option<String> {
    let mut stream = connect(host, port)?;
    stream.set_read_timeout(Some(TIMEOUT)).ok()?;
    stream.set_write_timeout(Some(TIMEOUT)).ok()?;
    let request =
        format!("GET /admin/v1/status HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).ok()?;
    let mut answer = String::new();
    stream
        .take(STATUS_BYTES_MAX)
        .read_to_string(&mut answer)
        .ok()?;
    let (head, body) = answer.split_once("\r\n\r\n")?;
    head.starts_with("HTTP/1.1 200 ").then(|| body.to_owned())
}

/// None if the page is not one of ours.
fn read(page: &str) -> Option<Answer> {
    let status: serde_json::Value = serde_json::from_str(page).ok()?;
    let text = |value: &serde_json::Value| value.as_str().map(str::to_owned);
    if status.get("name")?.as_str() != Some("partita") {
        return None;
    }
    let table = status
        .get("listening")
        .and_then(|listening| text(listening.get("table")?));
    let accounts = status.get("accounts").and_then(serde_json::Value::as_array);
    Some(Answer::Status {
        version: text(status.get("version")?)?,
        state: text(status.get("state")?)?,
        table_port: table.and_then(|url| url.rsplit_once(':')?.1.parse().ok()),
        accounts: accounts
            .map(|names| names.iter().filter_map(text).collect())
            .unwrap_or_default(),
    })
}
