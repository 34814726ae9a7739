//! Tests that databases of replaced ranges are deleted, and do not block a change.

use super::*;
use std::sync::atomic::AtomicBool;

#[tokio::test]
async fn a_database_in_no_record_is_deleted() {
    let (disk, cluster) = split_store(10).await;
    let late = cluster.tasks().drain(Duration::from_secs(5)).await;
    assert!(late.is_empty(), "{late:?}");
    disk.engines.restart().await;
    let cluster = disk.open().await;
    cluster.maintain().await;
    let served = [RangeId(2), RangeId(3)];
    assert_eq!(disk.engines.list().await.unwrap(), served);
    let make_untracked = async || {
        let untracked = disk.engines.open(RangeId(1)).await.unwrap();
        untracked.close().await;
        assert!(disk.engines.list().await.unwrap().contains(&RangeId(1)));
    };

    make_untracked().await;
    let version = cluster.record().unwrap().version;
    cluster.maintain().await;
    assert_eq!(disk.engines.list().await.unwrap(), served);
    assert_eq!(
        cluster.record().unwrap().version,
        version,
        "nothing to record"
    );

    make_untracked().await;
    drop(cluster);
    disk.engines.restart().await;
    let full = Hooked {
        full: Arc::new(AtomicBool::new(true)),
        ..Hooked::new(&disk.engines)
    };
    let map = Arc::clone(&disk.map) as Arc<dyn MapStore>;
    let cluster = disk.open_with(Arc::new(full), map).await.unwrap();
    assert_eq!(
        cluster.record().unwrap().pending_deletion,
        [1],
        "the database does not block the start"
    );
    drop(cluster);
    disk.engines.restart().await;
    let cluster = disk.open().await;
    cluster.maintain().await;
    assert_eq!(disk.engines.list().await.unwrap(), served);
    assert!(cluster.record().unwrap().pending_deletion.is_empty());
}

/// With hundreds of databases, each maintenance round needs seconds to find removable ones.
#[tokio::test(start_paused = true)]
async fn finding_removable_databases_does_not_block_changes() {
    let (looking, go_on) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
    let (noted, awaited) = (Arc::clone(&looking), Arc::clone(&go_on));
    let disk = Disk::default();
    let hooked = Hooked {
        looking: Box::new(move || {
            let (noted, awaited) = (Arc::clone(&noted), Arc::clone(&awaited));
            Box::pin(async move {
                noted.add_permits(1);
                awaited.acquire().await.unwrap().forget();
                Ok(())
            })
        }),
        ..Hooked::new(&disk.engines)
    };
    let map = Arc::clone(&disk.map) as Arc<dyn MapStore>;
    let cluster = disk.open_with(Arc::new(hooked), map).await.unwrap();
    fill(&cluster, 0..10).await;
    cluster.split(RangeId(1), None).await.unwrap();
    let maintaining = Arc::clone(&cluster);
    let maintained = cluster
        .tasks()
        .spawn("maintain", async move { maintaining.maintain().await });
    looking.acquire().await.unwrap().forget();

    let splitting = cluster.split(RangeId(2), None);
    let split = tokio::time::timeout(Duration::from_secs(5), splitting).await;
    split.expect("the split waited").unwrap();
    go_on.add_permits(1_000);
    maintained.await.unwrap();
    // Maintenance rounds run in this minute of tokio's paused time.
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert!(cluster.record().unwrap().pending_deletion.is_empty());
    let there = disk.engines.list().await.unwrap();
    assert_eq!(there, [3, 4, 5].map(RangeId));
}
