//! Clones that detach from their sources, and the removal of unused files.

use super::*;

/// The life cycle of a parent: its children share its files, compact them and detach; then the parent is removed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_parent_is_removed_once_its_children_are_detached() {
    for detach_at_once_bytes in [u64::MAX, 0] {
        a_parent_is_removed(Settings {
            garbage_age: Duration::from_secs(1),
            detach_at_once_bytes,
            ..Settings::default()
        })
        .await;
    }
}

async fn a_parent_is_removed(settings: Settings) {
    let directory = tempfile::tempdir().unwrap();
    let data = Arc::new(DataDir::open(directory.path()).unwrap());
    let set = SlateEngineSet::new(data, settings).await.unwrap();
    let one = One::of(set).await.unwrap();
    for number in 0_u32..300 {
        let value = format!("{number}-").repeat(200);
        commit(&*one, put(number.to_be_bytes().to_vec(), value))
            .await
            .unwrap();
        if number % 100 == 99 {
            one.flush().await.unwrap();
        }
    }
    let cut = Bytes::copy_from_slice(&150_u32.to_be_bytes());
    let (below, above) = (
        KeyRange {
            start: Bound::Unbounded,
            end: Bound::Excluded(cut.clone()),
        },
        KeyRange {
            start: Bound::Included(cut),
            end: Bound::Unbounded,
        },
    );
    let source = conformance::FIRST;
    let children = [(RangeId(2), below), (RangeId(3), above)];
    for (child, range) in children.clone() {
        let part = KeyPart { source, range };
        one.set.clone_parts(child, &[part]).await.unwrap();
    }
    one.engine.close().await;
    let (mut engines, mut set) = (Vec::new(), one.set);
    drop(one.engine);
    for (child, _) in &children {
        let engine = set.open(*child).await.unwrap();
        assert_eq!(engine.file_layout().sources, 1);
        assert_eq!(set.removable(&[source]).await.unwrap(), []);
        assert_eq!(set.remove(source).await.unwrap(), Removal::Needed);
        engines.push(engine);
    }
    // A checkpoint of a partly removed clone does not block the removal.
    let left = CheckpointOptions::default();
    let admin = admin::admin(&set.core, source);
    admin.create_detached_checkpoint(&left).await.unwrap();
    assert_eq!(set.remove(source).await.unwrap(), Removal::Needed);
    let deadline = Instant::now() + Duration::from_secs(30);
    for (engine, (child, _)) in engines.iter().zip(&children) {
        let folder = directory
            .path()
            .join(format!("store/range-{child}/compacted"));
        let mut made = HashSet::new();
        // `detach` is requested again and again, because `kept` counts the source for a while after its compaction.
        // These requests must not compact each time.
        while engine.file_layout().kept > 0 {
            assert!(Instant::now() < deadline, "{:?}", engine.file_layout());
            engine.detach().await.unwrap();
            tokio::time::sleep(Duration::from_millis(20)).await;
            engine.collect().await.unwrap();
            for file in std::fs::read_dir(&folder).into_iter().flatten() {
                made.insert(file.unwrap().file_name());
            }
        }
        // A request before the database has loaded the result of the first compaction may cause a second compaction.
        assert!(made.len() <= 2, "{made:?}");
    }
    assert_eq!(set.removable(&[source]).await.unwrap(), [source]);
    assert_eq!(set.remove(source).await.unwrap(), Removal::Gone);
    assert_eq!(set.list().await.unwrap(), [RangeId(2), RangeId(3)]);
    assert_eq!(rows(&*engines[1], KeyRange::all(), 100).await.len(), 150);
    set.close().await;
    drop((engines, set));

    set = set_in(directory.path()).await.unwrap();
    let child = set.open(RangeId(2)).await.unwrap();
    assert_eq!(rows(&*child, KeyRange::all(), 100).await.len(), 150);
    set.drop_unknown().await;
    set.close().await;
}

/// A compaction output that is compacted again is newer than all flushed files. It stays until the next flush, and the
/// engine reports this as [`Collected::UntilFlush`].
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_compacted_twice_stays_until_a_flush() {
    let directory = tempfile::tempdir().unwrap();
    let data = Arc::new(DataDir::open(directory.path()).unwrap());
    let settings = Settings {
        garbage_age: Duration::from_secs(1),
        ..Settings::default()
    };
    let one = One::of(SlateEngineSet::new(data, settings).await.unwrap())
        .await
        .unwrap();
    for value in ["a", "b"] {
        commit(&*one, put("key", value)).await.unwrap();
        one.flush().await.unwrap();
    }
    assert_eq!(one.file_layout().newest_rewritten, None);
    one.detach().await.unwrap();
    let first = compacted_after(&*one, None).await;
    assert_eq!(one.collect().await.unwrap(), Collected::All);

    // SlateDB compacts a compacted file again at any time if there are several runs. This test has only one run, so it
    // schedules the compaction itself.
    let open = one.set.core.open_range(conformance::FIRST).unwrap();
    let run = open.database().unwrap().db.manifest().compacted()[0].id;
    let spec = CompactionSpec::new(vec![SourceId::SortedRun(run)], run);
    let admin = admin::admin(&one.set.core, conformance::FIRST);
    admin.submit_compaction(spec).await.unwrap();
    compacted_after(&*one, Some(&first)).await;
    assert_eq!(one.collect().await.unwrap(), Collected::UntilFlush);

    commit(&*one, put("key", "c")).await.unwrap();
    one.flush().await.unwrap();
    let file = directory
        .path()
        .join(format!("store/range-1/compacted/{first}.sst"));
    let deadline = Instant::now() + Duration::from_secs(30);
    while file.exists() {
        assert!(Instant::now() < deadline, "{:?}", one.file_layout());
        assert_eq!(one.collect().await.unwrap(), Collected::All);
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    one.close().await;
}

/// Waits until a compaction has made a newer file than `before`, and returns its name.
pub(super) async fn compacted_after(engine: &dyn Engine, before: Option<&String>) -> String {
    let deadline = Instant::now() + Duration::from_secs(30);
    loop {
        let newest = engine.file_layout().newest_rewritten;
        if newest.as_ref() != before
            && let Some(newest) = newest
        {
            return newest;
        }
        assert!(Instant::now() < deadline, "{:?}", engine.file_layout());
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
