//! The requests of moves and take-overs. The tests print all, and check those that read a log.

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
    // The first object, three groups of other ranges, at most four that prove the log before a take-over, the header of the
    // highest group twice, and the seal.
    assert!(first.log_gets > GROUPS / 2, "{first:?}");
    assert!(first.log_gets <= GROUPS + 1 + 3 + 4 + 3, "{first:?}");
    assert_eq!(second.log_gets, 0);
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
    assert_eq!((taken - before).log_gets, 0);
}
