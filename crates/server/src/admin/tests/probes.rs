//! Probes and the port itself, whatever other clients do.

use std::time::Duration;

use partita_rt::net::{MachineNetwork, Network as _};
use tokio::sync::Semaphore;

use super::*;
use crate::admin::{CONNECTIONS_MAX, PATIENCE, connection};
use crate::connections::Watch;

/// More clients connect than the port has places for. They send nothing, stop within a head or a body, or keep their
/// connections after an answer.
#[tokio::test]
async fn a_probe_is_answered_whatever_other_clients_do() {
    let (server, address) = started(&IN_MEMORY).await;
    let requests: [&[u8]; 4] = [
        b"",
        b"GET /heal",
        b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"POST /admin/v1/ranges/1/flush HTTP/1.1\r\nHost: localhost\r\nX-Partita-Admin: 1\r\n\
          Content-Length: 2\r\n\r\n{",
    ];
    let mut others = Vec::new();
    for request in requests {
        for _ in 0..2 * CONNECTIONS_MAX {
            let mut stream = TcpStream::connect(address).await.unwrap();
            stream.write_all(request).await.unwrap();
            others.push(stream);
        }
        let probe = tokio::time::timeout(Duration::from_secs(3), ask(address, "GET /healthz"));
        let answer = probe.await.expect("the probe is answered in time");
        assert_eq!(answer, (200, "ok\n".to_owned()));
    }
    let (status, document) = act(address, "ranges/1/flush", "{}").await;
    assert_eq!(status, 200, "{document}");
    server.stop().await;
}

#[tokio::test]
async fn requests_beyond_the_limit_are_refused_and_probes_are_not() {
    let (server, address) = started(&IN_MEMORY).await;
    let (watch, none) = (Watch::new(PATIENCE), Semaphore::new(0));
    let listener = MachineNetwork.listen("127.0.0.1", 0).await.unwrap();
    let busy = listener.address().unwrap();
    let serving = async {
        for _ in 0..2 {
            let (stream, _) = listener.accept().await.unwrap();
            connection(stream, watch.watch(), server.status(), &none).await;
        }
    };
    let asking = async {
        let (status, text) = ask(busy, "GET /admin/v1/status").await;
        assert!(status == 503 && text.contains("\"Busy\""), "{text}");
        assert_eq!(ask(busy, "GET /healthz").await.0, 200);
    };
    tokio::join!(serving, asking);
    assert_eq!(ask(address, "GET /admin/v1/status").await.0, 200);
    server.stop().await;
}

#[tokio::test]
async fn a_taken_port_is_named_with_its_flag() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let refused = async |flags: &[(&str, &str)]| {
        Server::start(settings(flags))
            .await
            .unwrap_err()
            .to_string()
    };
    let table = refused(&[
        ("in-memory", "true"),
        ("table-port", &port),
        ("admin-port", "0"),
    ])
    .await;
    assert_eq!(
        table,
        format!("cannot listen on 127.0.0.1:{port}; --table-port chooses another port")
    );
    let admin = refused(&[
        ("in-memory", "true"),
        ("table-port", "0"),
        ("admin-port", &port),
    ])
    .await;
    assert_eq!(
        admin,
        format!("cannot listen on 127.0.0.1:{port}; --admin-port chooses another port")
    );
}
