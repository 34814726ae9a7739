//! Requests to the Queue service as clients send them, signed, over a real socket.

#![allow(
    clippy::disallowed_methods,
    reason = "sends requests over real sockets"
)]

mod access;
mod messages;
mod queues;
mod service;
mod waiting;

use super::super::super::config::WELL_KNOWN_KEY;
use super::super::super::serve::Server;
use super::super::tests::started;
use partita_model::DateTime;
use partita_wire::queue::SignedRequest;
use partita_wire::{AccountKey, Hosts, Target, http_date};
use std::net::SocketAddr;
use std::time::SystemTime;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

const ACCOUNT: &str = "devstoreaccount1";
const VERSION: &str = "2019-02-02";

/// An answer: status, head in lower case, body without its byte order mark.
#[derive(Debug)]
struct Answer {
    status: u16,
    head: String,
    body: String,
    /// The head as received.
    raw_head: String,
}

impl Answer {
    fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.head.lines().filter_map(|line| line.split_once(": "));
        Some(lines.find(|(other, _)| *other == name)?.1)
    }

    /// The text of the first element with this name.
    fn element(&self, name: &str) -> &str {
        let (start, end) = (format!("<{name}>"), format!("</{name}>"));
        let found = self.body.split_once(&start);
        let found = found.and_then(|(_, rest)| rest.split_once(&end));
        found.unwrap_or_else(|| panic!("no {name}: {self:?}")).0
    }

    fn count(&self, element: &str) -> usize {
        self.body.matches(&format!("<{element}>")).count()
    }

    /// The status, and the code of the error.
    fn error(&self) -> (u16, &str) {
        (self.status, self.element("Code"))
    }
}

/// Sends a request without credentials. The path begins with the account.
async fn ask(
    server: &Server,
    method: &str,
    target: &str,
    headers: &[(&str, &str)],
    body: &[u8],
) -> Answer {
    ask_at(address(server), method, target, headers, body).await
}

fn address(server: &Server) -> SocketAddr {
    server.listening().queue.unwrap()
}

async fn ask_at(
    address: SocketAddr,
    method: &str,
    target: &str,
    headers: &[(&str, &str)],
    body: &[u8],
) -> Answer {
    let mut request =
        format!("{method} {target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n");
    for (name, value) in headers {
        request += &format!("{name}: {value}\r\n");
    }
    if !headers.iter().any(|(name, _)| *name == "Content-Length") {
        request += &format!("Content-Length: {}\r\n", body.len());
    }
    request += "\r\n";
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    stream.write_all(body).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    Answer {
        status: head.split(' ').nth(1).unwrap().parse().unwrap(),
        head: head.to_ascii_lowercase(),
        raw_head: head.to_owned(),
        body: body.trim_start_matches('\u{FEFF}').to_owned(),
    }
}

/// Sends a request that is signed with the account's key, and with further headers.
async fn send_with(
    server: &Server,
    method: &str,
    path: &str,
    more: &[(&str, &str)],
    body: &[u8],
) -> Answer {
    send_at(address(server), method, path, more, body).await
}

async fn send_at(
    address: SocketAddr,
    method: &str,
    path: &str,
    more: &[(&str, &str)],
    body: &[u8],
) -> Answer {
    let target = format!("/{ACCOUNT}{path}");
    let (date, length) = (
        http_date(DateTime::from_system(SystemTime::now())).to_string(),
        body.len().to_string(),
    );
    let mut headers = vec![
        ("x-ms-date", date.as_str()),
        ("Content-Length", length.as_str()),
    ];
    if !more.iter().any(|(name, _)| *name == "x-ms-version") {
        headers.push(("x-ms-version", VERSION));
    }
    headers.extend_from_slice(more);
    let hosts = Hosts::new([], false);
    let parsed = Target::parse(&target, Some("localhost"), &hosts, |_| true).unwrap();
    let signed = SignedRequest {
        method,
        headers: &headers,
        target: &parsed,
    };
    let key = AccountKey::from_base64(WELL_KNOWN_KEY).unwrap();
    let authorization = signed.authorization(&key, false).unwrap();
    headers.push(("Authorization", &authorization));
    ask_at(address, method, &target, &headers, body).await
}

async fn send(server: &Server, method: &str, path: &str) -> Answer {
    send_with(server, method, path, &[], b"").await
}

/// A server with an empty queue `jobs`.
async fn with_queue() -> Server {
    let server = started(&[]).await;
    assert_eq!(send(&server, "PUT", "/jobs").await.status, 201);
    server
}

fn message(text: &str) -> String {
    format!(
        "<?xml version='1.0' encoding='utf-8'?>\n<QueueMessage><MessageText>{text}</MessageText></QueueMessage>"
    )
}

async fn put(server: &Server, path: &str, text: &str) -> Answer {
    let xml = [("Content-Type", "application/xml")];
    send_with(server, "POST", path, &xml, message(text).as_bytes()).await
}

/// A receipt as it stands in a query.
fn encoded(receipt: &str) -> String {
    receipt
        .replace('+', "%2B")
        .replace('/', "%2F")
        .replace('=', "%3D")
}

/// The path of a message with its receipt.
fn path_of(answer: &Answer) -> String {
    let receipt = encoded(answer.element("PopReceipt"));
    format!(
        "/jobs/messages/{}?popreceipt={receipt}",
        answer.element("MessageId")
    )
}
