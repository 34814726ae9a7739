//! Owner hints: what clients learn about the server with their data.

use super::*;
use crate::Server;
use crate::config::tests::from_flags;
use partita_model::EntityPosition;
use partita_wire::ServiceKind;
use partita_wire::table::TableSasTerms;
use std::net::SocketAddr;

fn full(owner: SocketAddr) -> Option<String> {
    let url = format!("http://{owner}").replace(':', "%3A");
    let url = url.replace('/', "%2F");
    Some(format!("cluster={CLUSTER}&url={url}"))
}

fn only_cluster() -> Option<String> {
    Some(format!("cluster={CLUSTER}"))
}

#[tokio::test]
async fn a_client_that_asks_learns_the_owner() {
    let (_map, front, owner) = front_and_owner().await;
    create_table(front.tables()).await;
    let row = with_sas(ServiceKind::Table, ROW);
    let hint = async |member: &Member, method, value| {
        let (answer, hint) = ask_owner(member.tables(), method, &row, value).await;
        assert!(status(&answer) < 300, "{answer}");
        hint
    };
    let of_owner = full(owner.tables());
    assert_eq!(hint(&front, "PUT", "?").await, of_owner);
    assert_eq!(hint(&owner, "PUT", "?").await, of_owner);
    // A client that has followed a hint learns something only if the hint was wrong.
    assert_eq!(hint(&front, "GET", CLUSTER).await, of_owner);
    assert_eq!(hint(&owner, "GET", CLUSTER).await, only_cluster());
    assert!(!read_row(front.tables()).await.contains("x-partita-owner"));

    let query = with_sas(ServiceKind::Table, "/Tab()");
    let (_, found) = ask_owner(front.tables(), "GET", &query, "?").await;
    assert_eq!(found, of_owner);
    // The catalog has no partitions.
    let tables = with_sas(ServiceKind::Table, "/Tables");
    let (_, found) = ask_owner(front.tables(), "GET", &tables, "?").await;
    assert_eq!(found, only_cluster());

    let created = with_sas(ServiceKind::Queue, "/jobs");
    let (answer, _) = ask_owner(front.queues(), "PUT", &created, "?").await;
    assert_eq!(status(&answer), 201);
    let peek = with_sas(ServiceKind::Queue, "/jobs/messages?peekonly=true");
    let (_, found) = ask_owner(front.queues(), "GET", &peek, "?").await;
    assert_eq!(found, full(owner.queues()));
    for member in [front, owner] {
        member.stop().await;
    }
}

/// A refused request shows the cluster only, and so do rights on a part of the table: the bounds of a range are keys.
#[tokio::test]
async fn hints_show_no_keys_that_the_client_may_not_read() {
    let (_map, front, owner) = front_and_owner().await;
    create_table(front.tables()).await;
    let unsigned = format!("/{ACCOUNT}{ROW}");
    let (answer, hint) = ask_owner(front.tables(), "GET", &unsigned, CLUSTER).await;
    assert_eq!((status(&answer) / 100, hint), (4, only_cluster()));

    let position = || {
        Some(EntityPosition {
            partition_key: "p".to_owned(),
            row_key: None,
        })
    };
    let sas = TableSasTerms {
        table: "Tab".to_owned(),
        permissions: "raud".to_owned(),
        low: position(),
        high: position(),
        terms: terms(),
        policy_id: None,
    };
    let target = format!("/{ACCOUNT}{ROW}?{}", sas.sign(ACCOUNT, &key()));
    let (answer, hint) = ask_owner(front.tables(), "PUT", &target, "?").await;
    assert_eq!((status(&answer), hint), (204, only_cluster()));
    for member in [front, owner] {
        member.stop().await;
    }
}

/// The address of a server may be that of another one when a client uses it.
#[tokio::test]
async fn a_request_for_another_cluster_is_not_executed() {
    let (_map, front, owner) = front_and_owner().await;
    create_table(front.tables()).await;
    let row = with_sas(ServiceKind::Table, ROW);
    for member in [&front, &owner] {
        let (answer, hint) = ask_owner(member.tables(), "PUT", &row, "c2").await;
        assert_eq!((status(&answer), hint), (400, only_cluster()));
    }
    assert_eq!(status(&read_row(front.tables()).await), 404);
    for member in [front, owner] {
        member.stop().await;
    }

    let flags = [
        ("in-memory", "true"),
        ("table-port", "0"),
        ("admin-port", "0"),
    ];
    let alone = Server::start(from_flags(&flags)).await.unwrap();
    let address = alone.listening().table.unwrap();
    create_table(address).await;
    for (value, expected) in [("?", 204), (CLUSTER, 400)] {
        let (answer, hint) = ask_owner(address, "PUT", &row, value).await;
        assert_eq!((status(&answer), hint), (expected, None));
    }
    alone.stop().await;
}
