//! A client that asks for owner hints: requests at the server with the data, and its fallbacks.

use partita_client::{ClientOptions, ErrorKind, Outcome, RetryPolicy, TableClient, UpdateMode};
use std::net::SocketAddr;

use crate::faults::{entity, quick, table};
use crate::faulty_server::{Act, FaultyServer};
use crate::server;

/// The head of an answer with an owner hint.
fn hinting(status: u16, hint: &str) -> Act {
    let head = format!("{status} Some\r\nx-partita-owner: {hint}\r\n");
    Act::Answer(head, String::new())
}

/// An answer of the given server: all rows are at `owner`.
fn sends_to(owner: SocketAddr) -> Act {
    hinting(204, &format!("cluster=c&url=http://{owner}"))
}

/// The answer of a member of the cluster.
fn member(status: u16) -> Act {
    hinting(status, "cluster=c")
}

fn asking() -> ClientOptions {
    ClientOptions {
        owner_hints: true,
        ..quick().0
    }
}

async fn put(table: &TableClient) -> Result<(), partita_client::Error> {
    let put = table.upsert_entity(&entity(), UpdateMode::Replace).await;
    put.map(|_| ())
}

/// What a server has seen: the method, whether it had credentials, and what it asked.
fn seen(server: &FaultyServer) -> Vec<String> {
    let of = |head: &String| {
        let head = head.to_ascii_lowercase();
        let method = head.split(' ').next().unwrap_or_default();
        let signed = head.contains("authorization: ");
        let asked = head
            .lines()
            .find_map(|line| line.strip_prefix("x-partita-owner: "));
        let asked = asked.unwrap_or("nothing");
        format!(
            "{method} {} {asked}",
            if signed { "signed" } else { "bare" }
        )
    };
    server.heads().iter().map(of).collect()
}

#[tokio::test]
async fn requests_go_to_the_owner_after_a_probe_without_credentials() {
    let owner = FaultyServer::start([member(403), member(204)], None).await;
    let given = FaultyServer::start([sends_to(owner.address)], None).await;
    let table = table(given.address, asking());
    for _ in 0..3 {
        put(&table).await.unwrap();
    }
    assert_eq!(seen(&given), ["put signed ?"]);
    let direct = ["get bare c", "put signed c", "put signed c"];
    assert_eq!(seen(&owner), direct);
}

/// Without the option nothing is asked, and hints are not followed.
#[tokio::test]
async fn a_client_asks_only_if_its_options_say_so() {
    let owner = FaultyServer::start([member(204)], None).await;
    let given = FaultyServer::start([sends_to(owner.address)], None).await;
    let table = table(given.address, quick().0);
    put(&table).await.unwrap();
    put(&table).await.unwrap();
    assert_eq!(seen(&given), ["put signed nothing", "put signed nothing"]);
    assert_eq!(owner.connections(), 0);
}

/// An address behind a tunnel may be another server on this machine, such as an emulator with the same account.
#[tokio::test]
async fn a_server_of_no_or_another_cluster_gets_no_request() {
    for answer in [
        hinting(403, "cluster=d"),
        crate::faulty_server::status(403),
        Act::Close,
    ] {
        let other = FaultyServer::start([answer], None).await;
        let given = FaultyServer::start([sends_to(other.address)], None).await;
        let table = table(given.address, asking());
        for _ in 0..3 {
            put(&table).await.unwrap();
        }
        assert_eq!(seen(&given).len(), 3);
        assert_eq!(seen(&other), ["get bare c"]);
    }
}

/// Nothing listens at the address any more.
#[tokio::test]
async fn a_lost_owner_costs_no_attempt() {
    let owner = FaultyServer::start([member(403), member(204)], None).await;
    let given = FaultyServer::start([sends_to(owner.address)], None).await;
    let options = ClientOptions {
        retry: RetryPolicy::None,
        ..asking()
    };
    let table = table(given.address, options);
    put(&table).await.unwrap();
    put(&table).await.unwrap();
    drop(owner);
    put(&table).await.unwrap();
    put(&table).await.unwrap();
    assert_eq!(seen(&given).len(), 3);
}

/// A read is repeated at the given address; a write may have happened, so the caller or its policy decides.
#[tokio::test]
async fn a_broken_connection_to_the_owner_ends_a_write_only() {
    let options = || ClientOptions {
        retry: RetryPolicy::None,
        ..asking()
    };
    let owner = || FaultyServer::start([member(403), Act::Close], None);
    let first = owner().await;
    let given = FaultyServer::start([sends_to(first.address)], None).await;
    let reader = table(given.address, options());
    put(&reader).await.unwrap();
    // The answer of the given server has no row.
    let error = reader.get_entity("p", "r").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unreadable);
    assert_eq!(seen(&given), ["put signed ?", "get signed ?"]);

    let second = owner().await;
    let given = FaultyServer::start([sends_to(second.address)], None).await;
    let writer = table(given.address, options());
    put(&writer).await.unwrap();
    let error = put(&writer).await.unwrap_err();
    assert_eq!(
        (error.kind(), error.outcome()),
        (ErrorKind::Broken, Outcome::MayHaveHappened)
    );
    // It is not used now.
    put(&writer).await.unwrap();
    assert_eq!(seen(&given).len(), 2);
}

/// A server that accepts connections but does not answer is noticed long before the timeout of the attempt.
#[tokio::test]
async fn an_owner_that_stands_still_is_noticed() {
    let owner = FaultyServer::start([member(403), Act::Hang], None).await;
    let given = FaultyServer::start([sends_to(owner.address)], None).await;
    let table = table(given.address, asking());
    put(&table).await.unwrap();
    // The retry is at the given address.
    put(&table).await.unwrap();
    assert_eq!(seen(&given), ["put signed ?", "put signed ?"]);
    let probed = ["get bare c", "put signed c", "get bare c"];
    assert_eq!(seen(&owner), probed);
}

/// An owner that has lost the range passes the request on, and its answer has the next owner.
#[tokio::test]
async fn a_wrong_hint_is_replaced() {
    let next = FaultyServer::start([member(403), member(204)], None).await;
    let moved = sends_to(next.address);
    let owner = FaultyServer::start([member(403), moved], None).await;
    let given = FaultyServer::start([sends_to(owner.address)], None).await;
    let table = table(given.address, asking());
    for _ in 0..3 {
        put(&table).await.unwrap();
    }
    assert_eq!(seen(&given).len(), 1);
    assert_eq!(seen(&owner).len(), 2);
    assert_eq!(seen(&next).len(), 2);
}

/// Another server has got the address between two requests.
#[tokio::test]
async fn a_server_that_is_no_member_any_more_is_left() {
    let owner = FaultyServer::start([member(403), hinting(400, "cluster=d")], None).await;
    let given = FaultyServer::start([sends_to(owner.address)], None).await;
    let table = table(given.address, asking());
    for _ in 0..3 {
        put(&table).await.unwrap();
    }
    assert_eq!(seen(&given).len(), 3);
    assert_eq!(seen(&owner).len(), 2);
}

/// A server that is alone ignores the question.
#[tokio::test]
async fn a_server_without_a_cluster_answers_as_usual() {
    let alone = server::start(&[]).await;
    let table = table(alone.listening().table.unwrap(), asking());
    table.create().await.unwrap();
    put(&table).await.unwrap();
    assert_eq!(table.get_entity("p", "r").await.unwrap().row_key(), "r");
    alone.stop().await;
}
