//! Clients that hold connections without using them do not keep others out of the table port or of the admin port.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use crate::process::Server;
use crate::request::{exchange, http_date_now, signed};

/// Much longer than the server takes for an answer, and shorter than the timeouts after which it closes stalled and
/// idle connections.
const SOON: Duration = Duration::from_secs(8);

const PROBE: &[u8] = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n";

/// Clients of the admin port that keep their connection after a probe. Together with [`UNFINISHED`] they are more than
/// the port's 128 places.
const POLLERS: usize = 100;
/// Clients of the admin port that stop within the body of an action.
const UNFINISHED: usize = 70;

fn connect(address: &str) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(SOON)).unwrap();
    stream
}

/// Whether the server has closed the connection. The caller must have read all answers.
fn is_closed(stream: &TcpStream) -> bool {
    stream.set_nonblocking(true).unwrap();
    let peeked = stream.peek(&mut [0]);
    stream.set_nonblocking(false).unwrap();
    match peeked {
        Ok(count) => count == 0,
        Err(error) => error.kind() != std::io::ErrorKind::WouldBlock,
    }
}

/// Waits until the server closes the connection.
fn wait_until_closed(stream: &mut TcpStream) {
    // A reset counts too.
    let read = stream.read(&mut [0]).unwrap_or_else(|error| {
        assert_ne!(error.kind(), std::io::ErrorKind::WouldBlock, "still open");
        0
    });
    assert_eq!(read, 0);
}

/// A request for an entity that does not exist.
fn get(address: &str) -> Vec<u8> {
    let line = ("GET", "Tab(PartitionKey='p',RowKey='r')");
    signed(address, &http_date_now(), line, "", "")
}

#[test]
fn a_probe_is_answered_at_once_while_others_hold_all_places_of_the_admin_port() {
    let server = Server::start_with_admin(&["--in-memory"]);
    let url = server.admin();
    let address = url.strip_prefix("http://").unwrap();
    let action =
        b"POST /admin/v1/ranges/1/flush HTTP/1.1\r\nHost: localhost\r\nX-Partita-Admin: 1\r\n\
        Content-Length: 2\r\n\r\n{";
    let (mut pollers, mut unfinished) = (Vec::new(), Vec::new());
    for _ in 0..POLLERS {
        let mut poller = connect(address);
        exchange(&mut poller, PROBE).unwrap();
        pollers.push(poller);
    }
    for _ in 0..UNFINISHED {
        let mut stream = connect(address);
        stream.write_all(action).unwrap();
        unfinished.push(stream);
    }
    let mut fastest = Duration::MAX;
    for _ in 0..10 {
        let began = Instant::now();
        let (head, body) = exchange(&mut connect(address), PROBE).unwrap();
        fastest = fastest.min(began.elapsed());
        assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
        assert_eq!(body, "ok\n");
    }
    let open = pollers.iter().filter(|poller| !is_closed(poller)).count();
    // Many pollers are still connected, so the probes did not wait for the idle timeout to free the places.
    assert!(open >= POLLERS / 4, "{open} pollers are open");
    assert!(fastest < Duration::from_millis(100), "{fastest:?}");
}

#[test]
fn a_silent_connection_is_closed_after_the_header_timeout() {
    let server = Server::start(&["--in-memory", "--header-timeout", "1s"]);
    let mut silent = connect(&server.table());
    let mut kept = connect(&server.table());
    exchange(&mut kept, &get(&server.table())).unwrap();
    wait_until_closed(&mut silent);
    assert!(
        !is_closed(&kept),
        "a connection that sent a request stays open until the idle timeout"
    );
}

#[test]
fn the_longest_idle_connection_makes_room_for_a_new_client() {
    let server = Server::start(&["--in-memory", "--connections-max", "4"]);
    let address = server.table();
    let request = get(&address);
    let mut idle: Vec<_> = (0..4)
        .map(|_| {
            let mut stream = connect(&address);
            exchange(&mut stream, &request).unwrap();
            stream
        })
        .collect();
    let (head, _) = exchange(&mut connect(&address), &request).unwrap();
    assert!(head.starts_with("HTTP/1.1 404 "), "{head}");
    wait_until_closed(&mut idle[0]);
    assert!(idle[1..].iter().all(|other| !is_closed(other)));
}

#[test]
fn a_body_announced_too_large_is_refused_at_once() {
    let server = Server::start(&["--in-memory"]);
    let address = server.table();
    let request = signed(&address, &http_date_now(), ("POST", "$batch"), "", "");
    let request = String::from_utf8(request).unwrap();
    let request = request.replace("Content-Length: 0", "Content-Length: 100000000");
    let (head, body) = exchange(&mut connect(&address), request.as_bytes()).unwrap();
    assert!(head.starts_with("HTTP/1.1 413 "), "{head}");
    assert!(body.contains("RequestBodyTooLarge"), "{body}");
}
