//! Requests as raw bytes over a real socket: what no client library would send.

#![allow(
    clippy::disallowed_methods,
    reason = "sends requests over real sockets"
)]

use super::super::config::WELL_KNOWN_KEY;
use super::super::config::tests::from_flags;
use super::super::serve::Server;
use partita_model::DateTime;
use partita_wire::{AccountKey, AccountSasTerms, SasTerms, ServiceKind};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

const ACCOUNT: &str = "devstoreaccount1";
pub(super) const ROW: &str = "/Tab(PartitionKey='p',RowKey='r')";

pub(super) async fn started(more: &[(&str, &str)]) -> Server {
    let mut flags = vec![
        ("in-memory", "true"),
        ("table-port", "0"),
        ("admin-port", "0"),
    ];
    flags.extend_from_slice(more);
    Server::start(from_flags(&flags)).await.unwrap()
}

/// A signature of the account with these permissions.
fn signature(permissions: &str) -> String {
    let terms = AccountSasTerms {
        permissions: permissions.to_owned(),
        resource_types: "sco".to_owned(),
        terms: SasTerms {
            expiry: Some(DateTime::parse("9999-01-01T00:00:00Z").unwrap()),
            ..SasTerms::default()
        },
    };
    let key = AccountKey::from_base64(WELL_KNOWN_KEY).unwrap();
    terms.sign(ACCOUNT, &key, ServiceKind::Table)
}

/// The head of a request with all permissions, without the blank line. The path may have a query.
pub(super) fn head(verb: &str, path: &str) -> Vec<u8> {
    head_signed(verb, path, &signature("rwdlacu"))
}

pub(super) fn head_signed(verb: &str, path: &str, signature: &str) -> Vec<u8> {
    let mark = if path.contains('?') { '&' } else { '?' };
    format!(
        "{verb} /{ACCOUNT}{path}{mark}{signature} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\
         Accept: application/json;odata=nometadata\r\n"
    )
    .into_bytes()
}

/// Sends a head, further header lines and a body; returns the status and the whole text of the answer.
pub(super) async fn ask(
    server: &Server,
    head: Vec<u8>,
    lines: &[&[u8]],
    body: &[u8],
) -> (u16, String) {
    let mut request = head;
    for line in lines {
        request.extend_from_slice(line);
        request.extend_from_slice(b"\r\n");
    }
    request.extend_from_slice(format!("Content-Length: {}\r\n\r\n", body.len()).as_bytes());
    request.extend_from_slice(body);
    let mut stream = TcpStream::connect(server.listening().table).await.unwrap();
    stream.write_all(&request).await.unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.unwrap();
    let answer = String::from_utf8(answer).unwrap();
    let status = answer.split(' ').nth(1).unwrap().parse().unwrap();
    (status, answer)
}

/// A server with an empty table `Tab`.
pub(super) async fn with_table() -> Server {
    with_table_and(&[]).await
}

/// A server with these flags and an empty table `Tab`.
pub(super) async fn with_table_and(flags: &[(&str, &str)]) -> Server {
    let server = started(flags).await;
    let (status, answer) = ask(
        &server,
        head("POST", "/Tables"),
        &[],
        br#"{"TableName":"Tab"}"#,
    )
    .await;
    assert_eq!(status, 201, "{answer}");
    server
}

pub(super) async fn put(server: &Server, path: &str, body: &[u8]) {
    let (status, answer) = ask(server, head("PUT", path), &[], body).await;
    assert_eq!(status, 204, "{answer}");
}

#[tokio::test]
async fn an_unreadable_condition_is_refused() {
    let server = with_table().await;
    put(&server, ROW, br#"{"A":1}"#).await;
    let conditions: [&[&[u8]]; 4] = [
        &[b"If-Match: \xFF"],
        &[b"If-Match: W/\"datetime'2026-01-01T00%3A00%3A00Z'\xC3\xA9\""],
        &[b"If-Match: *", b"If-Match: \"other\""],
        &[b"If-Match: *", b"If-Match: \x80"],
    ];
    for condition in conditions {
        for verb in ["DELETE", "PUT", "MERGE"] {
            let (status, answer) = ask(&server, head(verb, ROW), condition, br#"{"A":2}"#).await;
            assert!(
                status == 400 && answer.contains("only one etag value is specified"),
                "{verb}: {answer}"
            );
        }
    }
    let (status, answer) = ask(&server, head("GET", ROW), &[], b"").await;
    assert!(status == 200 && answer.contains("\"A\":1"), "{answer}");
    // Two equal conditions count as one.
    let twice: [&[u8]; 2] = [b"If-Match: *", b"If-Match: *"];
    assert_eq!(ask(&server, head("DELETE", ROW), &twice, b"").await.0, 204);
    server.stop().await;
}

#[tokio::test]
async fn the_update_permission_does_not_insert_under_an_unreadable_condition() {
    let server = with_table().await;
    for verb in ["PUT", "MERGE"] {
        let head = head_signed(verb, ROW, &signature("u"));
        let (status, answer) = ask(&server, head, &[b"If-Match: \xFF"], br#"{"A":1}"#).await;
        assert_eq!(status, 400, "{verb}: {answer}");
    }
    assert_eq!(ask(&server, head("GET", ROW), &[], b"").await.0, 404);
    server.stop().await;
}

#[tokio::test]
async fn unreadable_headers_that_decide_are_refused() {
    let server = with_table().await;
    let entity = br#"{"PartitionKey":"p","RowKey":"r"}"#;
    let (status, answer) = ask(
        &server,
        head("POST", "/Tab"),
        &[b"X-HTTP-Method: \xFF"],
        entity,
    )
    .await;
    assert!(
        status == 400 && answer.contains("XMethodIncorrectValue"),
        "{answer}"
    );
    // The signature in the URL is valid, but the Authorization header takes precedence.
    let shown: [&[u8]; 1] = [b"Authorization: SharedKey devstoreaccount1:\xFF"];
    let (status, answer) = ask(&server, head("POST", "/Tab"), &shown, entity).await;
    assert!(
        status == 400 && answer.contains("InvalidAuthenticationInfo"),
        "{answer}"
    );
    assert_eq!(ask(&server, head("GET", ROW), &[], b"").await.0, 404);
    server.stop().await;
}

/// Sends a batch of one query.
async fn ask_in_a_batch(server: &Server, target: &str) -> (u16, String) {
    let body = format!(
        "--b\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\n\
         GET {target} HTTP/1.1\r\nAccept: application/json;odata=nometadata\r\n\r\n--b--\r\n"
    );
    let kind: [&[u8]; 1] = [b"Content-Type: multipart/mixed; boundary=b"];
    ask(server, head("POST", "/$batch"), &kind, body.as_bytes()).await
}

#[tokio::test]
async fn a_query_in_a_batch_continues_after_its_page() {
    let server = with_table().await;
    for row in ["a", "b"] {
        put(
            &server,
            &format!("/Tab(PartitionKey='p',RowKey='{row}')"),
            b"{}",
        )
        .await;
    }
    let (status, answer) = ask_in_a_batch(&server, "/Tab()?$top=1").await;
    assert_eq!(status, 202, "{answer}");
    let token = |name: &str| {
        let (_, rest) = answer.split_once(&format!("\r\nx-ms-continuation-{name}: "))?;
        Some(rest.split_once("\r\n")?.0.to_owned())
    };
    let (Some(partition), Some(row)) = (token("NextPartitionKey"), token("NextRowKey")) else {
        panic!("{answer}");
    };
    let next = format!("/Tab()?$top=1&NextPartitionKey={partition}&NextRowKey={row}");
    let (_, answer) = ask_in_a_batch(&server, &next).await;
    assert!(
        answer.contains("\"RowKey\":\"b\"") && !answer.contains("continuation"),
        "{answer}"
    );
    server.stop().await;
}

#[tokio::test]
async fn select_of_missing_properties_cannot_enlarge_a_page() {
    let server = with_table().await;
    for row in 0..100 {
        put(
            &server,
            &format!("/Tab(PartitionKey='p',RowKey='{row}')"),
            b"{}",
        )
        .await;
    }
    let refused = format!("/Tab()?$select={}", "a".repeat(256));
    let (status, answer) = ask_in_a_batch(&server, &refused).await;
    assert!(
        status == 202 && answer.contains("PropertyNameTooLong"),
        "{status}"
    );
    // Each row adds 60 KB of nulls for missing properties, so a page of 4 MiB holds 67 rows.
    let names: Vec<String> = (0..240).map(|at| format!("a{at:0249}")).collect();
    let (status, answer) =
        ask_in_a_batch(&server, &format!("/Tab()?$select={}", names.join(","))).await;
    assert!(
        status == 202 && answer.contains("x-ms-continuation-NextRowKey"),
        "{status}"
    );
    assert!(
        (3 << 20..5 << 20).contains(&answer.len()),
        "{}",
        answer.len()
    );
    let (status, answer) =
        ask_in_a_batch(&server, &format!("/Tab()?$select={}", "a,".repeat(40_000))).await;
    assert!(status == 400 && answer.contains("too long"), "{status}");
    server.stop().await;
}

#[tokio::test]
async fn a_client_that_is_refused_while_it_sends_gets_the_answer() {
    let server = with_table().await;
    let expired = signature("rwdlacu").replace("9999", "2000");
    let body = vec![b' '; 3 << 20];
    for (verb, path, expected) in [
        ("POST", "/$batch", 403),
        ("PUT", "/Tables", 403),
        ("GET", "/Tab()", 403),
    ] {
        let head = head_signed(verb, path, &expired);
        let (status, answer) = ask(&server, head, &[], &body).await;
        assert_eq!(status, expected, "{verb} {path}: {answer}");
    }
    let (status, answer) = ask(&server, head("PUT", "/Tables"), &[], &body).await;
    assert_eq!(status, 405, "{answer}");
    server.stop().await;
}

#[tokio::test]
async fn a_client_that_waits_for_continue_is_refused_without_its_body() {
    let server = with_table().await;
    let mut request = head_signed("POST", "/Tab", &signature("r"));
    request.extend_from_slice(b"Expect: 100-continue\r\nContent-Length: 3000000\r\n\r\n");
    let mut stream = TcpStream::connect(server.listening().table).await.unwrap();
    stream.write_all(&request).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 403 "), "{answer}");
    server.stop().await;
}

#[tokio::test]
async fn an_invalid_timeout_is_refused() {
    let server = with_table().await;
    for (path, expected, code) in [
        ("/Tab()?timeout=5", 200, ""),
        ("/Tab()?Timeout=99999", 200, ""),
        ("/Tab()?timeout=soon", 400, "InvalidQueryParameterValue"),
        ("/Tab()?timeout=", 400, "InvalidQueryParameterValue"),
        ("/Tab()?timeout=0", 400, "OutOfRangeQueryParameterValue"),
    ] {
        let (status, answer) = ask(&server, head("GET", path), &[], b"").await;
        assert!(
            status == expected && answer.contains(code),
            "{path}: {answer}"
        );
    }
    // Authentication comes first.
    let (status, _) = ask(
        &server,
        head_signed("GET", "/Tab()?timeout=0", "sig=x"),
        &[],
        b"",
    )
    .await;
    assert_eq!(status, 403);
    server.stop().await;
}
