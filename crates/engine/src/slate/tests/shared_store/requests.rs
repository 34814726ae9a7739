//! The requests of moves and take-overs.

use super::store::Requests;
use super::*;

/// The groups of the log that is taken over.
const GROUPS: usize = 200;

async fn write_groups(engine: &dyn Engine) {
    for number in 0..GROUPS {
        commit(engine, put(format!("{number:04}"), "1"))
            .await
            .unwrap();
    }
}

/// Each group of the log is read once, however many ranges are taken over.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_take_over_reads_each_group_once() {
    let cluster = Cluster::default();
    let dead = cluster.start().await;
    for range in 1..=4 {
        let engine = dead.take(RangeId(range), &[]).await;
        if range == 1 {
            write_groups(&*engine).await;
        } else {
            commit(&*engine, put("key", "value")).await.unwrap();
        }
    }
    let logs = [dead.log];
    drop(dead);
    let heir = cluster.start().await;
    let taken = async |range| {
        let before = cluster.store.requests();
        heir.take(RangeId(range), &logs).await;
        cluster.store.requests() - before
    };
    let (first, second) = (taken(1).await, taken(2).await);
    println!("take-over of a log of {GROUPS} groups: {first:?}");
    println!("take-over of a second range: {second:?}");
    assert!(first.gets >= GROUPS, "{first:?}");
    assert!(first.gets < GROUPS + 60, "{first:?}");
    assert!(second.gets < 60, "{second:?}");
    for Requests { puts, lists, .. } in [first, second] {
        assert!(puts < 30 && lists < 30, "{puts} {lists}");
    }
}

/// A range that moves costs the next owner no read of a log.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_move_reads_no_log() {
    let cluster = Cluster::default();
    let (one, two) = (cluster.start().await, cluster.start().await);
    let engine = one.take(RANGE, &[]).await;
    write_groups(&*engine).await;
    let before = cluster.store.requests();
    one.hand_over(RANGE).await.unwrap();
    let handed = cluster.store.requests();
    two.take(RANGE, &[]).await;
    let taken = cluster.store.requests();
    println!("hand-over: {:?}", handed - before);
    println!("take-over without a log: {:?}", taken - handed);
    for requests in [handed - before, taken - handed] {
        assert!(requests.gets < 40 && requests.puts < 30, "{requests:?}");
    }
}
