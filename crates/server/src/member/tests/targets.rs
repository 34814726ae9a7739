//! The target of a table whose ranges two servers serve.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::future::join_all;
use partita_model::{AccountName, TableName};
use partita_range::RangeId;
use partita_rt::SystemClock;

use super::{Folder, PATIENCE, routes, serves_all};
use crate::Server;
use crate::forwarding::tests::client::{ask, create_table, status};

/// The target of the table, in entities a second.
const RATE: u64 = 40;

/// Writes at one time to a server: more a second than the target, although each waits for the log.
const WRITES: usize = 8;

/// Writes to a partition through a server. Returns the number of admitted writes.
async fn write(server: &Server, partition: &str) -> u64 {
    let front = server.listening().table.unwrap();
    let writing = (0..WRITES).map(|row| async move {
        let path = format!("/Tab(PartitionKey='{partition}',RowKey='{row}')");
        let answer = ask(front, "PUT", &path, "{}").await;
        match status(&answer) {
            204 => 1,
            503 if answer.contains("x-partita-reason: table-target") => 0,
            _ => panic!("{answer}"),
        }
    });
    join_all(writing).await.iter().sum()
}

/// Two servers with a half of the table's partitions each: those before `m` are at the first server, the manager.
async fn two_servers(folder: &Folder) -> [Server; 2] {
    let target = [("target-table-entities", &*RATE.to_string())];
    let clock = || Arc::new(SystemClock);
    let first = folder.start("first", clock(), &target).await;
    let of_first = routes(&first);
    let served = of_first.wait_for(PATIENCE, |table| serves_all(table, "first"));
    served.await.expect("the first server serves all");
    let second = folder.start("second", clock(), &target).await;
    create_table(first.listening().table.unwrap()).await;

    let membership = first.membership().unwrap();
    let tables = Arc::clone(&membership.hosting().current().unwrap().tables);
    let account = AccountName::new("devstoreaccount1").unwrap();
    let table = tables
        .table(&account, &TableName::new("Tab").unwrap())
        .await;
    let middle = table.unwrap().space.partition("m");
    let manager = membership
        .manager()
        .expect("the first server is the manager");
    manager.set_balance(false).await.unwrap();
    let range = RangeId(of_first.current().ranges().keys().next().unwrap().0);
    let cluster = first.status().cluster().expect("the store is open");
    let split = cluster.split(range, Some(middle)).await.unwrap();
    manager.move_range(split.right, "second").await.unwrap();
    [first, second]
}

fn are_divided(server: &Server) -> bool {
    let hosted = server.membership().unwrap().hosting().current().unwrap();
    hosted
        .tables
        .storage()
        .targets
        .as_ref()
        .unwrap()
        .are_divided()
}

#[tokio::test(flavor = "multi_thread")]
async fn two_servers_of_a_table_share_its_target() {
    let folder = Folder::new();
    let [first, second] = two_servers(&folder).await;
    let write_both = || async { tokio::join!(write(&first, "a"), write(&second, "z")) };
    let began = Instant::now();
    while !are_divided(&first) || !are_divided(&second) {
        write_both().await;
        assert!(began.elapsed() < PATIENCE, "the target is not divided");
    }

    let (began, mut admitted) = (Instant::now(), [0, 0]);
    while admitted[0] + admitted[1] < 5 * RATE {
        let (one, other) = write_both().await;
        admitted = [admitted[0] + one, admitted[1] + other];
        assert!(began.elapsed() < PATIENCE, "{admitted:?}");
    }
    // At most a full bucket, and then the shares, which are 1.1 in all if both servers get as many requests. Servers that
    // each use the whole target need 2.5 s.
    let (took, least) = (began.elapsed(), Duration::from_secs(4).div_f64(1.1));
    assert!(took >= least, "{admitted:?} in {took:?}");
    assert!(admitted.iter().all(|of_one| *of_one > RATE), "{admitted:?}");

    // The share of a server without requests goes to the other one, whose bucket is empty.
    let (began, mut since, mut admitted) = (Instant::now(), Instant::now(), 0);
    loop {
        admitted += write(&first, "a").await;
        let passed = since.elapsed().as_secs_f64();
        if passed >= 1.0 {
            if admitted as f64 / passed > 0.8 * RATE as f64 {
                break;
            }
            (since, admitted) = (Instant::now(), 0);
        }
        assert!(began.elapsed() < PATIENCE, "the share has not grown");
    }
    for server in [second, first] {
        server.stop().await;
    }
}
