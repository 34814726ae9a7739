//! Get Messages with `x-partita-wait-seconds`.

use super::*;
use std::time::Duration;
use tokio::task::JoinHandle;

/// Waits until this many requests are under way.
async fn until_in_flight(server: &Server, requests: i64) {
    let reached = async {
        while server.status().metrics.read().in_flight < requests {
            tokio::task::yield_now().await;
        }
    };
    let reached = tokio::time::timeout(Duration::from_secs(30), reached);
    reached.await.expect("the request did not arrive");
}

fn waiting(server: &Server) -> JoinHandle<Answer> {
    let address = address(server);
    tokio::spawn(async move {
        let wait = [("x-partita-wait-seconds", "20")];
        send_at(address, "GET", "/jobs/messages", &wait, b"").await
    })
}

#[tokio::test]
async fn a_request_waits_for_a_message() {
    let server = with_queue().await;
    let got = waiting(&server);
    until_in_flight(&server, 1).await;
    assert_eq!(put(&server, "/jobs/messages", "x").await.status, 201);
    assert_eq!(got.await.unwrap().element("MessageText"), "x");
    server.stop().await;
}

#[tokio::test]
async fn a_wait_ends_with_the_server() {
    let server = with_queue().await;
    let got = waiting(&server);
    until_in_flight(&server, 1).await;
    let late = server.stop().await;
    assert!(late.is_empty(), "{late:?}");
    let got = got.await.unwrap();
    assert_eq!((got.status, got.count("QueueMessage")), (200, 0));
}

#[tokio::test]
async fn an_empty_queue_is_answered_at_the_end_of_the_wait() {
    let server = with_queue().await;
    let wait = |seconds| [("x-partita-wait-seconds", seconds)];
    // The time limit of the request leaves no time to wait.
    let path = "/jobs/messages?timeout=5";
    let got = send_with(&server, "GET", path, &wait("20"), b"").await;
    assert_eq!((got.status, got.count("QueueMessage")), (200, 0));
    for seconds in ["21", "-1", "x", ""] {
        let refused = send_with(&server, "GET", "/jobs/messages", &wait(seconds), b"").await;
        assert_eq!(refused.error(), (400, "InvalidHeaderValue"), "{seconds}");
    }
    server.stop().await;
}
