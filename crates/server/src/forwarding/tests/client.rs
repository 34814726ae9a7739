//! Requests as bytes, with the credentials that clients have.

use std::net::SocketAddr;
use std::time::SystemTime;

use partita_model::DateTime;
use partita_wire::{
    AccountKey, AccountSasTerms, Hosts, SasTerms, ServiceKind, Target, http_date, queue, table,
};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::config::WELL_KNOWN_KEY;

pub(super) const ACCOUNT: &str = "devstoreaccount1";

pub(super) fn key() -> AccountKey {
    AccountKey::from_base64(WELL_KNOWN_KEY).unwrap()
}

/// Terms without bounds.
pub(super) fn terms() -> SasTerms {
    SasTerms {
        expiry: Some(DateTime::parse("9999-01-01T00:00:00Z").unwrap()),
        ..SasTerms::default()
    }
}

/// The query of an account SAS with all permissions.
pub(super) fn account_sas(service: ServiceKind) -> String {
    let sas = AccountSasTerms {
        permissions: "rwdlacup".to_owned(),
        resource_types: "sco".to_owned(),
        terms: terms(),
    };
    sas.sign(ACCOUNT, &key(), service)
}

/// A target below the account with an account SAS.
pub(super) fn with_sas(service: ServiceKind, path: &str) -> String {
    let mark = if path.contains('?') { '&' } else { '?' };
    format!("/{ACCOUNT}{path}{mark}{}", account_sas(service))
}

/// The headers of a request that is signed with the account's key.
pub(super) fn signed(
    service: ServiceKind,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &[u8],
) -> Vec<(String, String)> {
    let target = format!("/{ACCOUNT}{path}");
    let parsed = Target::parse(&target, Some("localhost"), &Hosts::new([], false), |_| true);
    let parsed = parsed.unwrap();
    let date = http_date(DateTime::from_system(SystemTime::now())).to_string();
    let length = body.len().to_string();
    let mut all = vec![("x-ms-date", &*date), ("x-ms-version", "2019-02-02")];
    all.extend_from_slice(headers);
    let authorization = match service {
        ServiceKind::Queue => {
            all.push(("Content-Length", &length));
            let request = queue::SignedRequest {
                method,
                headers: &all,
                target: &parsed,
            };
            let authorization = request.authorization(&key(), false);
            all.pop();
            authorization
        }
        _ => table::SignedRequest {
            method,
            content_md5: "",
            content_type: "",
            date: &date,
            target: &parsed,
        }
        .authorization(&key(), true),
    };
    let authorization = authorization.unwrap();
    all.push(("Authorization", &authorization));
    let owned = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
    all.into_iter().map(owned).collect()
}

/// The bytes of a request. `connection` is the value of that header.
pub(super) fn request(
    method: &str,
    target: &str,
    headers: &[(&str, &str)],
    body: &[u8],
    connection: &str,
) -> Vec<u8> {
    let mut text =
        format!("{method} {target} HTTP/1.1\r\nHost: localhost\r\nConnection: {connection}\r\n");
    for (name, value) in headers {
        text += &format!("{name}: {value}\r\n");
    }
    text += &format!("Content-Length: {}\r\n\r\n", body.len());
    [text.as_bytes(), body].concat()
}

/// Sends bytes and reads until the server closes the connection.
pub(super) async fn exchange(address: SocketAddr, bytes: &[u8]) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(bytes).await.unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.unwrap();
    String::from_utf8_lossy(&answer).into_owned()
}

/// Sends a request with an account SAS for tables.
pub(crate) async fn ask(address: SocketAddr, method: &str, path: &str, body: &str) -> String {
    let target = with_sas(ServiceKind::Table, path);
    let json = [
        ("Accept", "application/json;odata=nometadata"),
        ("Content-Type", "application/json"),
    ];
    let bytes = request(method, &target, &json, body.as_bytes(), "close");
    exchange(address, &bytes).await
}

/// Sends a request that asks for an owner hint with this value. Returns its answer and the hint in it.
pub(super) async fn ask_owner(
    address: SocketAddr,
    method: &str,
    target: &str,
    value: &str,
) -> (String, Option<String>) {
    let headers = [("x-partita-owner", value)];
    let bytes = request(method, target, &headers, b"{}", "close");
    let answer = exchange(address, &bytes).await;
    let hint = answer
        .lines()
        .find_map(|line| line.strip_prefix("x-partita-owner: "))
        .map(str::to_owned);
    (answer, hint)
}

/// The status of an answer.
pub(crate) fn status(answer: &str) -> u16 {
    let status = answer.split(' ').nth(1);
    let status = status.and_then(|status| status.parse().ok());
    status.unwrap_or_else(|| panic!("not an answer: {answer:?}"))
}

/// Creates the table `Tab`.
pub(crate) async fn create_table(address: SocketAddr) {
    let created = ask(address, "POST", "/Tables", r#"{"TableName":"Tab"}"#).await;
    assert_eq!(status(&created), 201, "{created}");
}

pub(super) const ROW: &str = "/Tab(PartitionKey='p',RowKey='r')";

pub(crate) async fn put_row(address: SocketAddr, body: &str) -> u16 {
    status(&ask(address, "PUT", ROW, body).await)
}

pub(crate) async fn read_row(address: SocketAddr) -> String {
    ask(address, "GET", ROW, "").await
}
