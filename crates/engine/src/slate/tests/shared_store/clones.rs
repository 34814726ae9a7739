//! Clones whose sources and siblings are in other processes.

use super::*;

fn parts() -> [(RangeId, KeyRange); 2] {
    let cut = Bytes::from_static(b"m");
    let below = KeyRange {
        start: Bound::Unbounded,
        end: Bound::Excluded(cut.clone()),
    };
    let above = KeyRange {
        start: Bound::Included(cut),
        end: Bound::Unbounded,
    };
    [(RangeId(2), below), (RangeId(3), above)]
}

/// A range is split in one process, a child moves to another one, and a third one removes the parent, once both children
/// have rewritten its files.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn children_detach_in_other_processes_and_the_parent_is_removed() {
    let cluster = Cluster::default();
    let settings = || Settings {
        garbage_age: Duration::from_secs(1),
        ..Settings::default()
    };
    let one = Process::of(cluster.home(), settings()).await;
    let two = Process::of(cluster.home(), settings()).await;
    let cleaner = Process::of(cluster.home(), settings()).await;
    let parent = one.take(RANGE, &[]).await;
    for key in ["a", "z"] {
        commit(&*parent, put(key, "1")).await.unwrap();
    }
    for (child, range) in parts() {
        let source = RANGE;
        let part = KeyPart { source, range };
        one.clone_parts(child, &[part]).await.unwrap();
    }
    one.hand_over(RANGE).await.unwrap();
    let below = one.open(RangeId(2)).await.unwrap();
    let above = two.take(RangeId(3), &[]).await;
    commit(&*above, put("y", "2")).await.unwrap();
    expect(&*below, &[("a", "1")]).await;
    expect(&*above, &[("y", "2"), ("z", "1")]).await;
    assert_eq!(cleaner.remove(RANGE).await.unwrap(), Removal::Needed);
    assert_eq!(cleaner.removable(&[RANGE]).await.unwrap(), []);

    let deadline = Instant::now() + Duration::from_secs(60);
    while cleaner.removable(&[RANGE]).await.unwrap().is_empty() {
        assert!(Instant::now() < deadline, "the children did not detach");
        for engine in [&below, &above] {
            engine.detach().await.unwrap();
            engine.collect().await.unwrap();
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(cleaner.remove(RANGE).await.unwrap(), Removal::Gone);
    expect(&*below, &[("a", "1")]).await;
    expect(&*above, &[("y", "2"), ("z", "1")]).await;
    assert_eq!(one.list().await.unwrap(), [RangeId(2), RangeId(3)]);
}

/// Two ranges of different processes are merged in one of them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ranges_of_two_processes_are_merged() {
    let cluster = Cluster::default();
    let (one, two) = (cluster.start().await, cluster.start().await);
    let merged = RangeId(4);
    let [(low, below), (high, above)] = parts();
    let first = one.take(low, &[]).await;
    let second = two.take(high, &[]).await;
    commit(&*first, put("a", "1")).await.unwrap();
    commit(&*second, put("z", "2")).await.unwrap();
    let parts = [(low, below), (high, above)].map(|(source, range)| KeyPart { source, range });
    let refused = one.clone_parts(merged, &parts).await;
    assert!(matches!(refused, Err(ChangeError::State(_))), "{refused:?}");
    two.hand_over(high).await.unwrap();
    one.take(high, &[]).await;
    one.clone_parts(merged, &parts).await.unwrap();
    let engine = two.take(merged, &[]).await;
    expect(&*engine, &[("a", "1"), ("z", "2")]).await;
    commit(&*engine, put("b", "3")).await.unwrap();
    expect(&*engine, &[("a", "1"), ("b", "3"), ("z", "2")]).await;
}
