//! Tests clients that occupy connections or memory, over real sockets: silent clients, senders that stop, and clients
//! that do not read the answer.

#![allow(
    clippy::disallowed_methods,
    reason = "sends requests over real sockets"
)]

use super::super::serve::Server;
use super::tests::{ROW, ask, head, put, with_table, with_table_and};
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::timeout;

/// Much longer than any of these answers takes, and shorter than the time limits of the server.
const SOON: Duration = Duration::from_secs(8);

/// Bytes of a body that the server refuses as too large.
const TOO_LARGE: usize = 100 << 20;

/// The number of rows of 30 KB that `Tab` gets: more than a page of 4 MiB.
const ROWS: usize = 160;

async fn connect(server: &Server) -> TcpStream {
    TcpStream::connect(server.listening().table.unwrap())
        .await
        .unwrap()
}

/// Sends these bytes and reads no answer. The client's buffer is small, so that the answer stays at the server.
async fn ask_and_do_not_read(server: &Server, request: &[u8]) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(4 << 10).unwrap();
    let mut stream = socket
        .connect(server.listening().table.unwrap())
        .await
        .unwrap();
    stream.write_all(request).await.unwrap();
    stream
}

fn get(path: &str) -> Vec<u8> {
    let head = String::from_utf8(head("GET", path)).unwrap();
    let head = head.replace("Connection: close\r\n", "");
    format!("{head}\r\n").into_bytes()
}

/// Fills `Tab` with more than a page of rows.
async fn fill(server: &Server) {
    let entity = format!("{{\"A\":\"{}\"}}", "a".repeat(30_000));
    for row in 0..ROWS {
        let path = format!("/Tab(PartitionKey='p',RowKey='{row:03}')");
        put(server, &path, entity.as_bytes()).await;
    }
}

fn memory_in_use(server: &Server) -> u64 {
    server.status().memory_in_flight().0
}

/// Sends small requests until `is_so` returns true; `what` is the error message if it does not in time.
async fn until(server: &Server, what: &str, is_so: impl Fn() -> bool) {
    let asking = async {
        while !is_so() {
            assert_eq!(ask(server, head("GET", ROW), &[], b"").await.0, 404);
        }
    };
    timeout(SOON, asking).await.expect(what);
}

fn refused_for_memory(server: &Server) -> u64 {
    let busy = server.status().metrics.read().busy;
    let words = partita_service::BusyReason::WORDS.iter().zip(busy);
    let (_, count) = words
        .into_iter()
        .find(|(word, _)| **word == "memory")
        .unwrap();
    count
}

#[tokio::test]
async fn silent_connections_do_not_block_new_clients() {
    let server = with_table_and(&[("connections-max", "8")]).await;
    let mut silent = Vec::new();
    for _ in 0..40 {
        silent.push(connect(&server).await);
    }
    let asked = ask(&server, head("GET", ROW), &[], b"");
    let (status, answer) = timeout(SOON, asked)
        .await
        .expect("a new client gets a place");
    assert_eq!(status, 404, "{answer}");
    let closed = timeout(SOON, silent[0].read(&mut [0; 1])).await.unwrap();
    assert_eq!(
        closed.unwrap(),
        0,
        "the connection that was silent for longest is closed"
    );
    server.stop().await;
}

/// Reads an answer without its body.
async fn read_head(stream: &mut TcpStream) -> String {
    let mut answer = Vec::new();
    while !answer.ends_with(b"\r\n\r\n") {
        answer.push(stream.read_u8().await.unwrap());
    }
    String::from_utf8(answer).unwrap()
}

#[tokio::test]
async fn a_silent_connection_falls_under_the_header_timeout() {
    let server = with_table_and(&[("header-timeout", "1s")]).await;
    let mut silent = connect(&server).await;
    let mut kept = connect(&server).await;
    kept.write_all(&get(ROW)).await.unwrap();
    read_head(&mut kept).await;
    let closed = timeout(SOON, silent.read(&mut [0; 1])).await;
    assert_eq!(closed.expect("the server closes it in time").unwrap(), 0);
    // A connection between two requests has the longer idle timeout, so `kept` is still open.
    kept.write_all(&get(ROW)).await.unwrap();
    let mut answers = [0; 4096];
    assert!(kept.read(&mut answers).await.unwrap() > 0);
    server.stop().await;
}

#[tokio::test]
async fn a_body_announced_too_large_is_refused_at_once() {
    let server = with_table().await;
    for sent in [0, 5 << 20] {
        let mut request = head("POST", "/$batch");
        request.extend_from_slice(format!("Content-Length: {TOO_LARGE}\r\n\r\n").as_bytes());
        request.resize(request.len() + sent, b' ');
        let mut stream = connect(&server).await;
        let asking = async {
            stream.write_all(&request).await.unwrap();
            let mut answer = String::new();
            stream.read_to_string(&mut answer).await.unwrap();
            answer
        };
        let answer = timeout(SOON, asking).await.expect("answered at once");
        assert!(answer.starts_with("HTTP/1.1 413 "), "{answer}");
        assert!(answer.contains("RequestBodyTooLarge"), "{answer}");
        assert!(
            answer.to_ascii_lowercase().contains("connection: close"),
            "{answer}"
        );
    }
    server.stop().await;
}

/// Closes a connection, and waits until its memory is given back.
async fn disconnect(stream: TcpStream, server: &Server) {
    drop(stream);
    let is_free = || memory_in_use(server) == 0;
    until(server, "the memory is not given back", is_free).await;
}

#[tokio::test]
async fn a_body_takes_memory_as_it_arrives() {
    let server = with_table_and(&[("memory-in-flight", "16MiB")]).await;
    let mut request = head("POST", "/Tab");
    request.extend_from_slice(b"Expect: 100-continue\r\nContent-Length: 4000000\r\n\r\n");
    let mut stream = connect(&server).await;
    stream.write_all(&request).await.unwrap();
    assert!(read_head(&mut stream).await.starts_with("HTTP/1.1 100 "));
    assert_eq!(
        memory_in_use(&server),
        0,
        "a Content-Length alone reserves no memory"
    );
    stream.write_all(&[b' '; 300_000]).await.unwrap();
    until(&server, "the body is not counted", || {
        memory_in_use(&server) >= 300_000
    })
    .await;
    assert!(memory_in_use(&server) <= 2 << 20);
    disconnect(stream, &server).await;
    server.stop().await;
}

#[tokio::test]
async fn a_long_head_takes_memory_as_long_as_its_connection_keeps_the_buffer() {
    let server = with_table().await;
    let mut request = head("GET", ROW);
    request.extend_from_slice(b"Padding: ");
    let mut stream = connect(&server).await;
    stream.write_all(&request).await.unwrap();
    // Sends the head in pieces, because the bytes of its first read are not counted.
    while memory_in_use(&server) == 0 {
        assert_eq!(ask(&server, head("GET", ROW), &[], b"").await.0, 404);
        stream.write_all(&[b'a'; 4 << 10]).await.unwrap();
        request.resize(request.len() + (4 << 10), b'a');
        assert!(request.len() < 60 << 10, "a long head is counted");
    }
    stream
        .write_all(b"\r\nContent-Length: 0\r\n\r\n")
        .await
        .unwrap();
    assert!(read_head(&mut stream).await.starts_with("HTTP/1.1 404 "));
    assert!(memory_in_use(&server) <= 128 << 10);
    disconnect(stream, &server).await;
    server.stop().await;
}

#[tokio::test]
async fn readers_that_stall_share_one_budget_and_small_requests_are_served() {
    const BUDGET: u64 = 16 << 20;
    let server = with_table_and(&[("memory-in-flight", "16MiB")]).await;
    fill(&server).await;
    let page = get("/Tab()");
    let mut stalled = Vec::new();
    while refused_for_memory(&server) == 0 {
        assert!(stalled.len() < 300, "a request is refused");
        stalled.push(ask_and_do_not_read(&server, &page).await);
        assert_eq!(ask(&server, head("GET", ROW), &[], b"").await.0, 404);
        assert!(memory_in_use(&server) <= BUDGET);
    }
    let (status, answer) = ask(&server, head("GET", "/Tab()"), &[], b"").await;
    assert!(
        status == 200 || answer.contains("x-partita-reason: memory"),
        "{status}: {answer}"
    );
    drop(stalled);
    until(&server, "the memory is not given back", || {
        memory_in_use(&server) == 0
    })
    .await;
    let (status, answer) = ask(&server, head("GET", "/Tab()"), &[], b"").await;
    assert!(status == 200 && answer.len() > 3 << 20, "{status}");
    server.stop().await;
}

#[tokio::test]
async fn a_client_that_does_not_read_gets_no_further_request_executed() {
    let server = with_table().await;
    fill(&server).await;
    let before = server.status().metrics.read();
    let queries = |reading: &crate::metrics::Reading| {
        let operations = reading.operations.iter();
        operations
            .map(|operation| operation.entities_out)
            .sum::<u64>()
    };
    // Each answer has 4 MiB. The buffers of the system take a few of them at most.
    let _stalled = ask_and_do_not_read(&server, &get("/Tab()").repeat(50)).await;
    let answered = || queries(&server.status().metrics.read()) - queries(&before);
    until(&server, "no request was executed", || answered() > 0).await;
    for _ in 0..200 {
        assert_eq!(ask(&server, head("GET", ROW), &[], b"").await.0, 404);
    }
    assert!(answered() < 10 * ROWS as u64, "{} rows", answered());
    server.stop().await;
}
