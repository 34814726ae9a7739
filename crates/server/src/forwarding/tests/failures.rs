//! Owners and clients that go away.

use super::*;
use crate::metrics::ForwardOutcome;
use partita_wire::ServiceKind;
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;
use tokio::runtime::Runtime;

/// A server that can be killed: its sockets close without a farewell.
struct Mortal {
    member: Member,
    runtime: Runtime,
}

impl Mortal {
    async fn start(key: &str, name: &'static str, map: &Arc<Map>) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        let (key, map) = (key.to_owned(), Arc::clone(map));
        let starting = async move {
            let member = Member::start(&key, name, &map).await;
            member.host(1).await;
            member
        };
        let member = runtime.spawn(starting).await.unwrap();
        Self { member, runtime }
    }

    fn kill(self) {
        self.runtime.shutdown_background();
    }
}

/// A long poll of Get Messages: a write, because it hides messages.
fn poll() -> Vec<u8> {
    let target = with_sas(ServiceKind::Queue, "/jobs/messages");
    let wait = [("x-partita-wait-seconds", "20")];
    request("GET", &target, &wait, b"", "close")
}

async fn create_queue(address: SocketAddr) {
    let target = with_sas(ServiceKind::Queue, "/jobs");
    let created = exchange(address, &request("PUT", &target, &[], b"", "close")).await;
    assert_eq!(status(&created), 201, "{created}");
}

#[tokio::test]
async fn a_write_whose_owner_dies_is_unknown() {
    let (key, map) = (new_key(), Map::new());
    let front = Member::start(&key, "front", &map).await;
    let owner = Mortal::start(&key, "owner", &map).await;
    map.set_owner(1, &owner.member);
    create_queue(front.queues()).await;
    let address = front.queues();
    let asked = tokio::spawn(async move { exchange(address, &poll()).await });
    owner.member.until_for_peers(1).await;
    owner.kill();
    let answer = asked.await.unwrap();
    assert_eq!(status(&answer), 500, "{answer}");
    assert!(answer.contains("OperationTimedOut"), "{answer}");
    assert_eq!(front.outcomes(ForwardOutcome::Unknown), 1);
    front.stop().await;
}

#[tokio::test]
async fn a_read_whose_owner_dies_is_answered_by_the_next_one() {
    let (key, map) = (new_key(), Map::new());
    let front = Member::start(&key, "front", &map).await;
    let next = Member::start(&key, "next", &map).await;
    next.host(2).await;
    create_table(next.tables()).await;
    assert_eq!(put_row(next.tables(), r#"{"A":2}"#).await, 204);
    let owner = Mortal::start(&key, "owner", &map).await;
    map.set_owner(1, &owner.member);
    create_table(front.tables()).await;
    // The read is done, and waits at the gate.
    owner.member.gate.lease.send_replace(Lease::Late);
    let gate = Arc::clone(&owner.member.gate);
    let address = front.tables();
    let asked = tokio::spawn(async move { read_row(address).await });
    gate.until_waited(1).await;
    owner.kill();
    map.set_owner(2, &next);
    let read = asked.await.unwrap();
    assert!(status(&read) == 200 && read.contains(r#""A":2"#), "{read}");
    assert_eq!(front.outcomes(ForwardOutcome::Answered), 2);
    front.stop().await;
    next.stop().await;
}

/// The owner drops what no client waits for.
#[tokio::test]
async fn a_client_that_goes_away_ends_its_request_at_the_owner() {
    let (_map, front, owner) = front_and_owner().await;
    create_queue(front.queues()).await;
    let mut client = TcpStream::connect(front.queues()).await.unwrap();
    client.write_all(&poll()).await.unwrap();
    owner.until_for_peers(1).await;
    drop(client);
    owner.until_for_peers(0).await;
    assert_eq!(front.outcomes(ForwardOutcome::Abandoned), 1);
    front.stop().await;
    owner.stop().await;
}

#[tokio::test]
async fn a_long_poll_waits_at_the_owner() {
    let (_map, front, owner) = front_and_owner().await;
    create_queue(front.queues()).await;
    let address = front.queues();
    let asked = tokio::spawn(async move { exchange(address, &poll()).await });
    owner.until_for_peers(1).await;
    let target = with_sas(ServiceKind::Queue, "/jobs/messages");
    let body = b"<QueueMessage><MessageText>hello</MessageText></QueueMessage>";
    let put = exchange(address, &request("POST", &target, &[], body, "close")).await;
    assert_eq!(status(&put), 201, "{put}");
    let got = asked.await.unwrap();
    assert!(got.contains("<MessageText>hello</MessageText>"), "{got}");
    front.stop().await;
    owner.stop().await;
}

/// A wait ends with the server that has the queue: its client gets an answer, not an error.
#[tokio::test]
async fn a_long_poll_ends_with_the_owner() {
    let (_map, front, owner) = front_and_owner().await;
    create_queue(front.queues()).await;
    let address = front.queues();
    let asked = tokio::spawn(async move { exchange(address, &poll()).await });
    owner.until_for_peers(1).await;
    owner.stop().await;
    assert_eq!(status(&asked.await.unwrap()), 200);
    front.stop().await;
}

#[tokio::test]
async fn a_long_poll_ends_with_the_front() {
    let (_map, front, owner) = front_and_owner().await;
    create_queue(front.queues()).await;
    let address = front.queues();
    let asked = tokio::spawn(async move { exchange(address, &poll()).await });
    owner.until_for_peers(1).await;
    front.stop().await;
    assert_eq!(status(&asked.await.unwrap()), 200);
    owner.until_for_peers(0).await;
    owner.stop().await;
}

/// A page of several pieces passes through as it arrives.
#[tokio::test]
async fn a_large_page_is_complete() {
    let (_map, front, owner) = front_and_owner().await;
    create_table(front.tables()).await;
    let text = "x".repeat(30_000);
    for row in 0..40 {
        let path = format!("/Tab(PartitionKey='p',RowKey='{row:02}')");
        let put = ask(
            front.tables(),
            "PUT",
            &path,
            &format!(r#"{{"A":"{text}"}}"#),
        )
        .await;
        assert_eq!(status(&put), 204, "{put}");
    }
    let through = ask(front.tables(), "GET", "/Tab()", "").await;
    let direct = ask(owner.tables(), "GET", "/Tab()", "").await;
    let body = |answer: &str| answer.split_once("\r\n\r\n").unwrap().1.to_owned();
    assert!(body(&through) == body(&direct) && through.len() > 1_200_000);
    assert_eq!(through.matches(&text).count(), 40);
    front.stop().await;
    owner.stop().await;
}
