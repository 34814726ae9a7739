//! Data that moves to another server while requests wait for it.

use super::*;
use crate::metrics::ForwardOutcome;
use partita_wire::ServiceKind;

/// Requests that come while the data moves are held by both servers, and no client sees an error.
#[tokio::test]
async fn held_requests_are_answered_after_a_move() {
    let (key, map) = (new_key(), Map::new());
    let old = Member::start(&key, "old", &map).await;
    let new = Member::start(&key, "new", &map).await;
    // The new owner has the same rows.
    for (member, tenure) in [(&new, 1), (&old, 2)] {
        member.host(tenure).await;
        map.set_owner(tenure, member);
        create_table(old.tables()).await;
        assert_eq!(put_row(new.tables(), r#"{"A":1}"#).await, 204);
    }
    map.set_unserved(3);
    old.pause().await;
    // It forwards requests, so it is alive and ready.
    let health = old.server.status();
    assert!(health.serves() && !health.is_dead());
    new.pause().await;
    let mut asked = Vec::new();
    for address in [old.tables(), new.tables()] {
        for row in 0..10 {
            asked.push(tokio::spawn(async move {
                let path = format!("/Tab(PartitionKey='p',RowKey='{row}')");
                status(&ask(address, "PUT", &path, "{}").await)
            }));
        }
    }
    // Each server holds one look-up of the table, for which all wait.
    old.until_held(1).await;
    new.until_held(1).await;
    new.host(4).await;
    map.set_owner(4, &new);
    for asked in asked {
        assert_eq!(asked.await.unwrap(), 204);
    }
    for address in [old.tables(), new.tables()] {
        let read = read_row(address).await;
        assert!(status(&read) == 200 && read.contains(r#""A":1"#), "{read}");
    }
    for member in [old, new] {
        member.until_held(0).await;
        member.stop().await;
    }
}

/// A server whose map is behind asks the old owner, which names the newest tenure.
#[tokio::test]
async fn a_front_with_an_old_map_waits_for_the_new_one() {
    let (key, map, behind) = (new_key(), Map::new(), Map::new());
    let front = Member::start(&key, "front", &behind).await;
    let old = Member::start(&key, "old", &map).await;
    let new = Member::start(&key, "new", &map).await;
    old.host(1).await;
    behind.set_owner(1, &old);
    create_table(front.tables()).await;
    new.host(2).await;
    map.set_owner(2, &new);
    create_table(new.tables()).await;
    assert_eq!(put_row(new.tables(), r#"{"A":2}"#).await, 204);

    // The old owner has the data still, but its map says that it is not its own any more.
    let address = front.tables();
    let asked = tokio::spawn(async move { read_row(address).await });
    front.until_held(1).await;
    behind.set_owner(2, &new);
    let read = asked.await.unwrap();
    assert!(status(&read) == 200 && read.contains(r#""A":2"#), "{read}");
    for member in [front, old, new] {
        member.stop().await;
    }
}

/// The owner serves a tenure that the map does not have yet.
#[tokio::test]
async fn an_owner_that_the_map_does_not_know_yet_serves() {
    let (key, map) = (new_key(), Map::new());
    let owner = Member::start(&key, "owner", &map).await;
    let front = Member::start(&key, "front", &map).await;
    map.set_unserved(1);
    owner.host(2).await;
    create_table(owner.tables()).await;
    let address = front.tables();
    let asked = tokio::spawn(async move { put_row(address, "{}").await });
    front.until_held(1).await;
    map.set_owner(2, &owner);
    assert_eq!(asked.await.unwrap(), 204);
    front.stop().await;
    owner.stop().await;
}

/// A request that is forwarded to a server that does not serve it is not forwarded again.
#[tokio::test]
async fn a_request_is_forwarded_once() {
    let (key, for_front, map) = (new_key(), Map::new(), Map::new());
    let front = Member::start(&key, "front", &for_front).await;
    let middle = Member::start(&key, "middle", &map).await;
    let owner = Member::start(&key, "owner", &map).await;
    owner.host(2).await;
    map.set_owner(2, &owner);
    create_table(middle.tables()).await;
    for_front.set_owner(1, &middle);
    let address = front.tables();
    let asked = tokio::spawn(async move { read_row(address).await });
    front.until_held(1).await;
    let before = owner.server.status().metrics.read().forwarding.outcomes;
    assert_eq!(before.iter().sum::<u64>(), 0);
    assert_eq!(
        middle.outcomes(ForwardOutcome::Answered),
        1,
        "only Create Table"
    );
    for_front.set_owner(2, &owner);
    assert_eq!(status(&asked.await.unwrap()), 404);
    for member in [front, middle, owner] {
        member.stop().await;
    }
}

/// Requests of one connection are answered in their order, by whichever server has the data.
#[tokio::test]
async fn a_connection_is_kept_and_may_be_pipelined() {
    let (_map, front, owner) = front_and_owner().await;
    create_table(front.tables()).await;
    let table = |method, path: &str, connection| {
        let target = with_sas(ServiceKind::Table, path);
        let json = [("Accept", "application/json;odata=nometadata")];
        request(method, &target, &json, br#"{"A":7}"#, connection)
    };
    let pipelined = [
        table("PUT", ROW, "keep-alive"),
        table("GET", ROW, "keep-alive"),
        table(
            "DELETE",
            "/Tab(PartitionKey='none',RowKey='r')",
            "keep-alive",
        ),
        table("GET", ROW, "close"),
    ];
    for address in [front.tables(), owner.tables()] {
        let answers = exchange(address, &pipelined.concat()).await;
        let statuses: Vec<_> = answers
            .split("HTTP/1.1 ")
            .filter(|answer| !answer.is_empty())
            .map(|answer| &answer[..3])
            .collect();
        // A delete needs a condition, so the third is refused before it is forwarded.
        assert_eq!(statuses[..2], ["204", "200"], "{answers}");
        assert_eq!(statuses.len(), 4, "{answers}");
        assert_eq!(answers.matches("\r\nkeep-alive: timeout=").count(), 3);
        assert!(answers.ends_with(r#""A":7}"#), "{answers}");
    }
    front.stop().await;
    owner.stop().await;
}
