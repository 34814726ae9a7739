//! The pages over a real socket: each JSON answer is read into its type of `partita_wire::admin` and written again
//! without a difference, and `docs/admin-api.md` describes each field. A file for each kind of page.

#![allow(
    clippy::disallowed_methods,
    reason = "sends requests over real sockets"
)]

mod probes;
mod ranges;
mod snapshots;
mod status;

use std::net::SocketAddr;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::config::tests::from_flags as settings;
use crate::serve::Server;

/// A running server with these flags and a free admin port; returns it with the address of that port.
async fn started(flags: &[(&str, &str)]) -> (Server, SocketAddr) {
    let mut settings = settings(flags);
    settings.admin.port = Some(0);
    let server = Server::start(settings).await.unwrap();
    let address = server.listening().admin.unwrap();
    (server, address)
}

const IN_MEMORY: [(&str, &str); 2] = [("in-memory", "true"), ("table-port", "0")];

/// Requests a page; returns status and body.
pub(super) async fn ask(address: SocketAddr, line: &str) -> (u16, String) {
    send(address, line, "Host: localhost\r\n", "").await
}

/// An action below `/admin/v1`, with the header it needs; returns status and document.
async fn act(address: SocketAddr, path: &str, body: &str) -> (u16, serde_json::Value) {
    let line = format!("POST /admin/v1/{path}");
    let headers = "Host: localhost\r\nX-Partita-Admin: 1\r\n";
    let (status, body) = send(address, &line, headers, body).await;
    (status, serde_json::from_str(&body).unwrap())
}

async fn send(address: SocketAddr, line: &str, headers: &str, body: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let length = body.len();
    let request = format!(
        "{line} HTTP/1.1\r\nConnection: close\r\nContent-Length: {length}\r\n{headers}\r\n{body}"
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    let status = answer.split(' ').nth(1).unwrap().parse().unwrap();
    let body = answer.split_once("\r\n\r\n").unwrap().1.to_owned();
    (status, body)
}

/// A server with an admin port and the table People of devstoreaccount1.
pub(super) struct Heated {
    pub(super) server: Server,
    pub(super) admin: SocketAddr,
}

impl Heated {
    /// Starts on a data directory, or in memory, and creates the table People unless it exists.
    pub(super) async fn start(directory: Option<&std::path::Path>) -> Self {
        let (server, admin) = match directory.and_then(std::path::Path::to_str) {
            Some(path) => started(&[("location", path), ("table-port", "0")]).await,
            None => started(&IN_MEMORY).await,
        };
        let (account, table) = Self::names();
        let service = &server.status().open().unwrap().service;
        // The error is ignored: at the second start, the table exists already.
        let _ = service.create_table(&account, &table).await;
        Self { server, admin }
    }

    pub(super) fn names() -> (partita_model::AccountName, partita_model::TableName) {
        let account = partita_model::AccountName::new("devstoreaccount1").unwrap();
        (account, partita_model::TableName::new("People").unwrap())
    }

    /// Counts `times` inserts into a partition, without executing them.
    pub(super) async fn insert(&self, partition: &str, times: usize) {
        let status = self.server.status();
        let (account, table) = Self::names();
        let service = &status.open().unwrap().service;
        let key = service.partition_start(&account, &table, partition);
        let key = key.await.unwrap();
        let route = status.cluster().unwrap().map().route(&key).unwrap();
        for _ in 0..times {
            let done = partita_range::RequestStats {
                rows: 1,
                bytes_in: 10,
                ..Default::default()
            };
            route.range.note(&key, partita_heat::Access::Insert, done);
        }
    }

    /// A page as JSON, with its status.
    pub(super) async fn get(&self, path: &str) -> (u16, serde_json::Value) {
        let (status, body) = ask(self.admin, &format!("GET {path}")).await;
        (status, serde_json::from_str(&body).unwrap())
    }
}

/// Checks that a document is read into its type and written again without a difference, and that the page for users describes every
/// field.
pub(super) fn documented<T: serde::Serialize + serde::de::DeserializeOwned>(
    document: &serde_json::Value,
) {
    let typed: T = serde_json::from_value(document.clone()).unwrap();
    assert_eq!(serde_json::to_value(typed).unwrap(), *document);
    fields_are_documented(document);
}

fn fields_are_documented(value: &serde_json::Value) {
    let page = include_str!("../../../../../docs/admin-api.md");
    match value {
        serde_json::Value::Object(fields) => {
            for (name, value) in fields {
                let forms = ["`{}`", ".{}`", "`{}[]`", ".{}[]`", "`{}."]
                    .map(|form| form.replace("{}", name));
                let is_there = forms.iter().any(|form| page.contains(form));
                assert!(is_there, "docs/admin-api.md lacks the field {name}");
                fields_are_documented(value);
            }
        }
        serde_json::Value::Array(values) => values.iter().for_each(fields_are_documented),
        _ => {}
    }
}
