//! What becomes of the databases that changes leave behind.

use super::*;

#[tokio::test]
async fn a_database_that_no_record_names_is_removed() {
    let disk = Disk::new();
    let manager = disk.open().await;
    fill(&manager, 0..10).await;
    manager.split(RangeId(1), None).await.unwrap();
    let late = manager.tasks.drain(Duration::from_secs(5)).await;
    assert!(late.is_empty(), "{late:?}");
    disk.databases.restart().await;
    let manager = disk.open().await;
    manager.tend().await;
    let served = [RangeId(2), RangeId(3)];
    assert_eq!(disk.databases.list().await.unwrap(), served);
    let make_stray = async || {
        let stray = disk.databases.open(RangeId(1)).await.unwrap();
        stray.close().await;
        assert!(disk.databases.list().await.unwrap().contains(&RangeId(1)));
    };

    make_stray().await;
    let version = manager.record().version;
    manager.tend().await;
    assert_eq!(disk.databases.list().await.unwrap(), served);
    assert_eq!(manager.record().version, version, "nothing to record");

    make_stray().await;
    drop(manager);
    disk.databases.restart().await;
    let full = Hooked {
        full: Arc::new(AtomicBool::new(true)),
        ..Hooked::new(&disk.databases)
    };
    let map = Arc::clone(&disk.map) as Arc<dyn MapStore>;
    let manager = disk.open_with(Arc::new(full), map).await.unwrap();
    assert_eq!(manager.record().orphans, [1], "no reason not to start");
    drop(manager);
    disk.databases.restart().await;
    let manager = disk.open().await;
    manager.tend().await;
    assert_eq!(disk.databases.list().await.unwrap(), served);
    assert!(manager.record().orphans.is_empty());
}

/// With hundreds of old databases it takes seconds, every ten seconds.
#[tokio::test(start_paused = true)]
async fn looking_which_old_databases_can_go_keeps_no_change_waiting() {
    let (looking, go_on) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
    let (noted, awaited) = (Arc::clone(&looking), Arc::clone(&go_on));
    let disk = Disk::new();
    let hooked = Hooked {
        looking: Box::new(move || {
            let (noted, awaited) = (Arc::clone(&noted), Arc::clone(&awaited));
            Box::pin(async move {
                noted.add_permits(1);
                awaited.acquire().await.unwrap().forget();
                Ok(())
            })
        }),
        ..Hooked::new(&disk.databases)
    };
    let map = Arc::clone(&disk.map) as Arc<dyn MapStore>;
    let manager = disk.open_with(Arc::new(hooked), map).await.unwrap();
    fill(&manager, 0..10).await;
    manager.split(RangeId(1), None).await.unwrap();
    let tending = Arc::clone(&manager);
    let tended = manager
        .tasks
        .spawn("tend", async move { tending.tend().await });
    looking.acquire().await.unwrap().forget();

    let splitting = manager.split(RangeId(2), None);
    let split = tokio::time::timeout(Duration::from_secs(5), splitting).await;
    split.expect("the split waited").unwrap();
    go_on.add_permits(1_000);
    tended.await.unwrap();
    // A minute of the clock that stands still: rounds go by.
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert!(manager.record().orphans.is_empty());
    let there = disk.databases.list().await.unwrap();
    assert_eq!(there, [3, 4, 5].map(RangeId));
}
