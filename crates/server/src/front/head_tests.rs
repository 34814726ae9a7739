//! Tests the bytes before an operation, over real sockets: the limit of a head, and other protocols.

#![allow(
    clippy::disallowed_methods,
    reason = "sends requests over real sockets"
)]

use super::super::serve::Server;
use super::tests::{head, started, with_table_and};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// The setting of these tests, which is the smallest one that the buffer of a connection can hold.
const HEAD_BYTES_MAX: usize = 8 << 10;

/// Sends the bytes in these pieces, each once the server may have read the previous one, and returns the answer.
async fn send(server: &Server, pieces: &[&[u8]]) -> String {
    let mut stream = TcpStream::connect(server.listening().table.unwrap())
        .await
        .unwrap();
    stream.set_nodelay(true).unwrap();
    for piece in pieces {
        stream.write_all(piece).await.unwrap();
        tokio::task::yield_now().await;
    }
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.unwrap();
    String::from_utf8(answer).unwrap()
}

/// A head of exactly this length, with the blank line.
fn head_of(bytes: usize) -> Vec<u8> {
    let mut request = head("GET", "/Tab()");
    request.extend_from_slice(b"X-Filler: ");
    request.resize(bytes - 4, b'a');
    request.extend_from_slice(b"\r\n\r\n");
    assert_eq!(request.len(), bytes);
    request
}

/// The limit counts each byte from the verb to the blank line, however the bytes arrive.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_head_of_the_largest_size_is_served_and_one_byte_more_is_refused() {
    let server = with_table_and(&[("header-bytes-max", "8KiB")]).await;
    let sizes = [(0, "200 OK"), (1, "431 "), (2, "431 "), (700, "431 ")];
    for (more, expected) in sizes {
        let request = head_of(HEAD_BYTES_MAX + more);
        for cut in [0, 1, 4096, HEAD_BYTES_MAX - 1] {
            let (first, rest) = request.split_at(cut);
            let answer = send(&server, &[first, rest]).await;
            let status = format!("HTTP/1.1 {expected}");
            assert!(answer.starts_with(&status), "{more} {cut}: {answer}");
        }
    }
    server.stop().await;
}

/// A client that speaks HTTP/2 without TLS gets an answer that it can show.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn http_2_is_refused_with_an_answer() {
    let server = started(&[]).await;
    let preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
    // With the client's settings, as clients send them.
    let settings = [0, 0, 0, 4, 0, 0, 0, 0, 0];
    let whole = [&preface[..], &settings].concat();
    let answer = send(&server, &[&whole]).await;
    assert!(answer.starts_with("HTTP/1.1 505 "), "{answer}");
    // Recognized before the preface is complete.
    for cut in 1..preface.len() {
        let answer = send(&server, &[&preface[..cut], &preface[cut..]]).await;
        let refused = answer.starts_with("HTTP/1.1 505 ") || answer.starts_with("HTTP/1.1 400 ");
        assert!(refused, "{cut}: {answer}");
    }
    server.stop().await;
}
