//! The gate of the lease: answers leave only while it is valid.

use super::*;
use crate::forwarding::tests::member::Lease;
use std::net::SocketAddr;
use tokio::task::JoinHandle;

fn asking(
    address: SocketAddr,
    method: &'static str,
    path: &'static str,
    body: &'static str,
) -> JoinHandle<String> {
    tokio::spawn(async move { ask(address, method, path, body).await })
}

const INSERTED: &str = r#"{"PartitionKey":"p","RowKey":"r"}"#;

/// The answers of a server that has the data, and those that it gives through another server.
#[tokio::test]
async fn an_answer_waits_for_the_lease_and_is_dropped_without_it() {
    let (_map, front, owner) = front_and_owner().await;
    create_table(front.tables()).await;
    assert_eq!(put_row(front.tables(), "{}").await, 204);
    for address in [owner.tables(), front.tables()] {
        let gate = &owner.gate;
        for (decision, read, written, refused) in [
            (Lease::Valid, 200, 204, 409),
            // The write may have happened; everything else is repeated without harm.
            (Lease::Lost, 503, 500, 503),
        ] {
            let waited = *gate.waited.borrow();
            gate.lease.send_replace(Lease::Late);
            let asked = [
                asking(address, "GET", ROW, ""),
                asking(address, "PUT", ROW, "{}"),
                asking(address, "POST", "/Tab", INSERTED),
            ];
            gate.until_waited(waited + 3).await;
            gate.lease.send_replace(decision);
            let [got, put, inserted] = asked;
            let statuses = [
                status(&got.await.unwrap()),
                status(&put.await.unwrap()),
                status(&inserted.await.unwrap()),
            ];
            assert_eq!(statuses, [read, written, refused], "{decision:?}");
            gate.lease.send_replace(Lease::Valid);
        }
    }
    front.stop().await;
    owner.stop().await;
}

/// A batch is answered with 202 also when nothing was written.
#[tokio::test]
async fn a_refused_batch_without_a_lease_was_not_executed() {
    let (_map, front, owner) = front_and_owner().await;
    create_table(front.tables()).await;
    assert_eq!(put_row(front.tables(), "{}").await, 204);
    owner.gate.lease.send_replace(Lease::Lost);
    for (row, expected) in [("r", 503), ("new", 500)] {
        let answer = exchange(front.tables(), &script::batch_that_inserts(row)).await;
        assert_eq!(status(&answer), expected, "{answer}");
    }
    owner.gate.lease.send_replace(Lease::Valid);
    front.stop().await;
    owner.stop().await;
}

/// The rights of a SAS with a stored policy depend on the data, too.
#[tokio::test]
async fn a_stored_policy_is_read_behind_the_gate() {
    let (_map, front, owner) = front_and_owner().await;
    create_table(front.tables()).await;
    owner.gate.lease.send_replace(Lease::Lost);
    let target = format!("/{ACCOUNT}/Tab()?{}", script::table_policy_sas());
    let bytes = request("GET", &target, &[], b"", "close");
    for address in [front.tables(), owner.tables()] {
        let answer = exchange(address, &bytes).await;
        assert_eq!(status(&answer), 503, "{answer}");
    }
    owner.gate.lease.send_replace(Lease::Valid);
    // The table has no such policy.
    for address in [front.tables(), owner.tables()] {
        let answer = exchange(address, &bytes).await;
        assert_eq!(status(&answer), 403, "{answer}");
    }
    front.stop().await;
    owner.stop().await;
}
