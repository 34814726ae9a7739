//! Sizes of databases that share files.

use super::*;

/// Keys are not spread evenly over the alphabet, so the share of a clone cannot be told from its keys.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_size_of_a_clone_is_that_of_its_blocks() {
    let directory = tempfile::tempdir().unwrap();
    let data = Arc::new(DataDir::open(directory.path()).unwrap());
    let set = SlateEngineSet::new(data, Settings::default())
        .await
        .unwrap();
    let one = One::of(set).await.unwrap();
    let mut dice = 7_u64;
    for number in 0_u32..900 {
        let prefix = if number < 300 { "a" } else { "\u{7F}" };
        // Text that does not compress.
        let value: Vec<u8> = (0..500)
            .map(|_| {
                dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                (dice >> 33) as u8
            })
            .collect();
        let key = format!("{prefix}{number:04}");
        commit(&*one, put(key.into_bytes(), value)).await.unwrap();
    }
    one.flush().await.unwrap();
    let whole = one.file_layout().bytes;
    let cut = Bytes::from_static(b"a0150");
    let below = KeyRange {
        start: Bound::Unbounded,
        end: Bound::Excluded(cut.clone()),
    };
    let above = KeyRange {
        start: Bound::Included(cut),
        end: Bound::Unbounded,
    };
    let source = conformance::FIRST;
    for (child, range) in [(RangeId(2), below), (RangeId(3), above)] {
        let part = KeyPart { source, range };
        one.set.clone_parts(child, &[part]).await.unwrap();
    }
    one.engine.close().await;
    let set = one.set;
    drop(one.engine);
    let mut sizes = Vec::new();
    for (child, key) in [(RangeId(2), "a0100"), (RangeId(3), "a0200")] {
        let engine = set.open(child).await.unwrap();
        // The first read of a file reads its index.
        assert!(engine.get(key.as_bytes()).await.unwrap().is_some());
        sizes.push(engine.file_layout().bytes as f64 / whole as f64);
        engine.close().await;
    }
    // A sixth and five sixths. A block across the cut, about 1/29 of the file, counts on both sides.
    assert!((0.15..0.21).contains(&sizes[0]), "{sizes:?}");
    assert!((0.81..0.88).contains(&sizes[1]), "{sizes:?}");
}
