//! Tests requests that no client library would send, as raw bytes over a real socket.

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

/// The query of a shared access signature for the account, with these permissions.
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
    let mut stream = TcpStream::connect(server.listening().table.unwrap())
        .await
        .unwrap();
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
async fn unreadable_decisive_headers_are_refused() {
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
    let mut stream = TcpStream::connect(server.listening().table.unwrap())
        .await
        .unwrap();
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
    // Authentication comes first: the wrong signature is refused, not the invalid timeout.
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

const ENTITY: &[u8] = br#"{"PartitionKey":"p","RowKey":"r"}"#;
const JSON: &[u8] = b"Content-Type: application/json";

/// Sends a change set of these operations, each with its headers and body, and then `end`.
async fn change_set(server: &Server, operations: &[&str], end: &str) -> (u16, String) {
    let mut body = "--b\r\nContent-Type: multipart/mixed; boundary=c\r\n\r\n".to_owned();
    for operation in operations {
        body.push_str("--c\r\nContent-Type: application/http\r\n\r\n");
        body.push_str(operation);
        body.push_str("\r\n");
    }
    body.push_str(end);
    let kind: [&[u8]; 1] = [b"Content-Type: multipart/mixed; boundary=b"];
    ask(server, head("POST", "/$batch"), &kind, body.as_bytes()).await
}

const END: &str = "--c--\r\n--b--\r\n";

async fn row_status(server: &Server) -> u16 {
    ask(server, head("GET", ROW), &[], b"").await.0
}

#[tokio::test]
async fn a_batch_that_is_cut_short_changes_nothing() {
    let server = with_table().await;
    let insert = "POST /Tab HTTP/1.1\r\n\r\n{\"PartitionKey\":\"p\",\"RowKey\":\"r\"}";
    for end in ["", "--c--\r\n", "--b--\r\n", "--c\r\n", "--c--\r\n--b-"] {
        let (status, answer) = change_set(&server, &[insert], end).await;
        assert!(
            status == 400 && answer.contains("InvalidInput"),
            "{end}: {answer}"
        );
    }
    assert_eq!(row_status(&server).await, 404);
    let (status, answer) = change_set(&server, &[insert], END).await;
    assert!(status == 202 && answer.contains("201 Created"), "{answer}");
    server.stop().await;
}

#[tokio::test]
async fn a_batch_does_not_write_through_the_secondary() {
    let server = with_table().await;
    let secondary = format!("/{ACCOUNT}-secondary{ROW}");
    for method in ["PUT", "MERGE"] {
        let write = format!("{method} http://localhost{secondary} HTTP/1.1\r\n\r\n{{}}");
        let (status, answer) = change_set(&server, &[&write], END).await;
        assert!(
            status == 202
                && answer.contains("HTTP/1.1 403 Forbidden")
                && answer.contains("0:Write operations are not allowed."),
            "{answer}"
        );
    }
    assert_eq!(row_status(&server).await, 404);
    put(&server, ROW, b"{}").await;
    let (status, answer) = ask_in_a_batch(&server, &secondary).await;
    assert!(status == 202 && answer.contains("200 OK"), "{answer}");
    server.stop().await;
}

#[tokio::test]
async fn the_key_of_an_update_is_that_of_its_url() {
    let server = with_table().await;
    let keys = r#""PartitionKey":{"a":[]},"PartitionKey@odata.type":7,"RowKey":"other""#;
    let verbs: [(&str, &[&[u8]]); 6] = [
        ("PUT", &[]),
        ("PATCH", &[]),
        ("MERGE", &[]),
        ("POST", &[b"X-HTTP-Method: PUT"]),
        ("POST", &[b"X-HTTP-Method: MERGE"]),
        ("PUT", &[b"If-Match: *"]),
    ];
    for (at, (verb, lines)) in verbs.into_iter().enumerate() {
        let body = format!("{{{keys},\"A\":{at}}}");
        let (status, answer) = ask(&server, head(verb, ROW), lines, body.as_bytes()).await;
        assert_eq!(status, 204, "{verb}: {answer}");
        let (_, answer) = ask(&server, head("GET", ROW), &[], b"").await;
        assert!(answer.contains(&format!("\"A\":{at}")), "{answer}");
    }
    for verb in ["PUT", "MERGE"] {
        let part = format!("{verb} {ROW} HTTP/1.1\r\n\r\n{{{keys},\"A\":\"{verb}\"}}");
        let (status, answer) = change_set(&server, &[&part], END).await;
        assert!(status == 202 && answer.contains("204 No"), "{answer}");
        let (_, answer) = ask(&server, head("GET", ROW), &[], b"").await;
        assert!(answer.contains(&format!("\"A\":\"{verb}\"")), "{answer}");
    }
    let insert = format!("{{{keys}}}");
    let (status, answer) = ask(&server, head("POST", "/Tab"), &[JSON], insert.as_bytes()).await;
    assert_eq!(status, 400, "{answer}");
    server.stop().await;
}

#[tokio::test]
async fn refusals_before_the_operation_are_json_if_the_request_asks_for_it() {
    let server = with_table().await;
    let version = "x-ms-version: 2019-02-02\r\n";
    let json = "Accept: application/json\r\n";
    for (target, lines, is_json) in [
        ("/Tab()", [version, json], true),
        ("/Tab()?$format=application/json", [version, ""], true),
        ("/Tab(PartitionKey='p',RowKey='r')", [version, json], true),
        ("/Tables", [version, json], true),
        ("/$batch", [version, json], true),
        ("/Tab()", [version, "Accept: */*\r\n"], false),
        ("/Tab()", [version, ""], false),
        ("/Tab()", ["", json], false),
        ("/Tab()", ["x-ms-version: 2012-02-12\r\n", json], false),
        ("/Tab?comp=acl", [version, json], false),
        ("/?restype=service&comp=properties", [version, json], false),
    ] {
        let head = format!(
            "GET /{ACCOUNT}{target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{}",
            lines.concat()
        );
        let (status, answer) = ask(&server, head.into_bytes(), &[], b"").await;
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        assert_eq!(status, 403, "{answer}");
        let code = head.contains("\r\nx-ms-error-code: AuthenticationFailed\r\n");
        assert_eq!(code, !lines[0].contains("2012"), "{answer}");
        let (kind, start) = match is_json {
            true => (
                "application/json",
                r#"{"odata.error":{"code":"AuthenticationFailed","message":{"lang":"en-US","value":"Server"#,
            ),
            false => ("application/xml", "<?xml "),
        };
        assert!(
            head.contains(&format!("\r\ncontent-type: {kind}\r\n")) && body.starts_with(start),
            "{target}: {answer}"
        );
        assert!(!is_json || body.ends_with("Z\"}}}"), "{body}");
    }
    server.stop().await;
}

#[tokio::test]
async fn names_of_tables_and_paths_below_them() {
    let server = with_table().await;
    for (verb, path, status, text) in [
        ("GET", "/my_table()", 400, "InvalidResourceName"),
        ("POST", "/1table", 400, "InvalidResourceName"),
        ("GET", "/ab()", 400, "resource name length is not"),
        ("GET", "/$MetricsCapacityBlob()", 404, "TableNotFound"),
        ("POST", "/Other/Tables", 404, "TableNotFound"),
        ("GET", "/Other/Tables", 404, "TableNotFound"),
        ("DELETE", "/Other/Tables('x')", 404, "TableNotFound"),
        ("POST", "/Tab/Tables", 400, "PropertiesNeedValue"),
        ("GET", "/Tab/Tables", 501, "NotImplemented"),
        (
            "DELETE",
            "/Tab/Tables('x')",
            400,
            "The number of keys specified in the URI does not match number of key properties for the resource \
             'devstoreaccount1.Tab'.",
        ),
        ("PUT", ROW_BELOW, 400, "Error in query syntax"),
    ] {
        let body = br#"{"TableName":"x"}"#;
        let (found, answer) = ask(&server, head(verb, path), &[JSON], body).await;
        assert!(
            found == status && answer.contains(text),
            "{verb} {path}: {answer}"
        );
    }
    // An entity is not inserted either: the URL names two tables.
    let (status, answer) = ask(&server, head("POST", "/Tab/Tab"), &[JSON], ENTITY).await;
    assert_eq!(status, 400, "{answer}");
    let part = format!("PUT {ROW_BELOW} HTTP/1.1\r\n\r\n{{}}");
    let (status, answer) = change_set(&server, &[&part], END).await;
    assert!(status == 202 && answer.contains("400 Bad"), "{answer}");
    assert_eq!(row_status(&server).await, 404);
    server.stop().await;
}

const ROW_BELOW: &str = "/Tab/Tab(PartitionKey='p',RowKey='r')";

#[tokio::test]
async fn the_body_of_a_post_is_json() {
    let server = with_table().await;
    let text: &[u8] = b"Content-Type: text/plain";
    for path in ["/Tab", "/Tables", "/Tab/$batch"] {
        let (status, answer) = ask(&server, head("POST", path), &[text], ENTITY).await;
        assert!(
            status == 415 && answer.contains("None of the provided media types are supported"),
            "{path}: {answer}"
        );
    }
    let part = "POST /Tab HTTP/1.1\r\nContent-Type: text/plain\r\n\r\n\
                {\"PartitionKey\":\"p\",\"RowKey\":\"r\"}";
    let (status, answer) = change_set(&server, &[part], END).await;
    assert!(
        status == 202 && answer.contains("0:None of the provided media types"),
        "{answer}"
    );
    assert_eq!(row_status(&server).await, 404);
    let (status, answer) = ask(&server, head("POST", "/Tab"), &[], ENTITY).await;
    assert_eq!(status, 201, "without a type: {answer}");
    server.stop().await;
}

#[tokio::test]
async fn change_sets_that_are_empty_or_too_long() {
    let server = with_table().await;
    let (status, answer) = change_set(&server, &[], END).await;
    assert!(
        status == 202
            && answer.contains("\r\n\r\n--changesetresponse_")
            && !answer.contains("application/http"),
        "{answer}"
    );
    let operations: Vec<String> = (0..101)
        .map(|at| {
            format!(
                "POST /Tab HTTP/1.1\r\nPrefer: return-no-content\r\nContent-ID: {at}\r\n\r\n\
                 {{\"PartitionKey\":\"p\",\"RowKey\":\"{at}\"}}"
            )
        })
        .collect();
    let operations: Vec<&str> = operations.iter().map(String::as_str).collect();
    let (status, answer) = change_set(&server, &operations, END).await;
    assert_eq!(status, 202, "{answer}");
    for text in [
        "\"value\":\"99:The batch request operation exceeds the maximum 100 changes",
        "\r\nPreference-Applied: return-no-content\r\n",
        "\r\nContent-ID: 99\r\n",
    ] {
        assert!(answer.contains(text), "{text} is missing: {answer}");
    }
    server.stop().await;
}

/// B8: the text of the service stays as it is; the hint is in a header of its own.
#[tokio::test]
async fn b8_a_wrong_filter_is_answered_with_a_hint_in_a_header() {
    let server = with_table().await;
    let get = |filter: &str| head("GET", &format!("/Tab()?$filter={filter}"));
    let (status, answer) = ask(&server, get("dest%20eq%20SFO"), &[], b"").await;
    assert_eq!(status, 501, "{answer}");
    assert!(
        answer.contains("The requested operation is not implemented on the specified resource."),
        "{answer}"
    );
    let hint = "\r\nx-partita-hint: character 9: SFO is read as a property; quote text: 'SFO'\r\n";
    assert!(answer.contains(hint), "{answer}");
    let (status, answer) = ask(&server, get("a%20eq%20%0D%0AX-Evil:%C3%A9"), &[], b"").await;
    let line = answer
        .lines()
        .find(|line| line.starts_with("x-partita-hint: "));
    let is_safe = |line: &str| line.bytes().all(|byte| (b' '..=b'~').contains(&byte));
    assert!(
        (400..502).contains(&status) && line.is_some_and(is_safe),
        "{answer}"
    );
    assert!(!answer.contains("\nX-Evil"), "{answer}");
    let (status, answer) = ask(&server, get("a%20eq%201"), &[], b"").await;
    assert!(
        status == 200 && !answer.contains("x-partita-hint"),
        "{answer}"
    );
    server.stop().await;
}
