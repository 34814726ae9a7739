//! Databases over an in-memory object store, which also has the WAL: what a single server has in `s3://`.

use std::time::Duration;

use partita_wal::remote;
use slatedb::object_store::ObjectStore;
use slatedb::object_store::memory::InMemory;

use super::memory_home::check_lives;
use super::*;

/// The object store, which survives a simulated crash.
#[derive(Clone, Default)]
struct Bucket {
    store: Arc<InMemory>,
    /// The folder of a disk cache.
    cache: Option<Arc<tempfile::TempDir>>,
}

impl Bucket {
    /// With a disk cache of two parts, so that it is full soon.
    fn with_disk_cache() -> Self {
        Self {
            store: Arc::default(),
            cache: Some(Arc::new(tempfile::tempdir().unwrap())),
        }
    }

    async fn start(&self) -> SlateEngineSet {
        self.start_with(Settings::default()).await
    }

    async fn start_with(&self, settings: Settings) -> SlateEngineSet {
        let options = remote::Options {
            gap: Duration::ZERO,
            ..remote::Options::default()
        };
        let store = || Arc::clone(&self.store) as Arc<dyn ObjectStore>;
        let cache = self.cache.as_ref();
        let cache = cache.map(|folder| DiskCache::open(folder.path(), 600 << 10).unwrap());
        let home = Home {
            disk_cache: cache,
            ..Home::in_object_store(store(), store(), options)
        };
        let started = SlateEngineSet::in_home(home, settings).await;
        started.unwrap()
    }

    /// With hardly any memory for blocks, so that reads ask the store.
    fn without_blocks_in_memory() -> Settings {
        Settings {
            cache_bytes: 4 << 10,
            ..Settings::default()
        }
    }

    async fn open(&self) -> One {
        One::of(self.start().await).await.unwrap()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn conforms() {
    conformance::run(async || Arc::new(Bucket::default().start().await) as Arc<dyn EngineSet>)
        .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn conforms_with_a_disk_cache() {
    conformance::run(async || {
        let settings = Bucket::without_blocks_in_memory();
        let set = Bucket::with_disk_cache().start_with(settings).await;
        Arc::new(set) as Arc<dyn EngineSet>
    })
    .await;
}

/// Rows are read from the disk cache after a restart, and from the store when the disk cache has other bytes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_damaged_disk_cache_does_not_change_rows() {
    let bucket = Bucket::with_disk_cache();
    let folder = bucket.cache.clone().unwrap();
    let open = async || {
        let settings = Bucket::without_blocks_in_memory();
        One::of(bucket.start_with(settings).await).await.unwrap()
    };
    let one = open().await;
    for key in 0..2_000 {
        let value = key.to_string().repeat(20);
        commit(&*one, put(format!("key{key:04}"), value))
            .await
            .unwrap();
    }
    one.flush().await.unwrap();
    let written = rows(&*one, KeyRange::all(), 100).await;
    one.close().await;
    drop(one);
    for is_damaged in [false, true] {
        for file in std::fs::read_dir(folder.path()).unwrap() {
            let path = file.unwrap().path();
            if is_damaged && path.to_string_lossy().contains(".sst.") {
                let mut content = std::fs::read(&path).unwrap();
                content.iter_mut().for_each(|byte| *byte ^= 1);
                std::fs::write(path, content).unwrap();
            }
        }
        let one = open().await;
        for (key, value) in &written {
            assert_eq!(one.get(key).await.unwrap().as_ref(), Some(value));
        }
        assert!(one.set.stats().disk_cache.unwrap().hits > 0);
        assert_eq!(one.set.damaged_files(), Vec::new());
        one.close().await;
        drop(one);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]
    /// Each process lifetime ends with a crash or a clean stop, and the next one takes over its WAL.
    #[test]
    fn behaves_like_an_ordered_map(lives in proptest::collection::vec((steps(20), any::<bool>()), 1..4)) {
        let bucket = Bucket::default();
        check_lives(lives, async || bucket.open().await);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crash_loses_no_acknowledged_rows() {
    let bucket = Bucket::default();
    for life in 0..4 {
        let one = bucket.open().await;
        let seen = rows(&*one, KeyRange::all(), 10).await;
        assert_eq!(seen.len(), life);
        commit(&*one, put(format!("key{life}"), "value"))
            .await
            .unwrap();
    }
}

/// The older of two servers acknowledges nothing after the newer one has taken over, and says who did.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_whose_store_is_taken_over_is_fenced() {
    let bucket = Bucket::default();
    let older = bucket.open().await;
    commit(&*older, put("one", "1")).await.unwrap();
    let newer = bucket.open().await;
    // Before the older one notices, its write fails.
    let lost = commit(&*older, put("lost", "1")).await;
    assert!(lost.is_err());
    let by = older.set.fenced().await;
    assert_eq!(
        &*by,
        "another server has taken over the log of life 0000000000000001: \
         it was sealed by life 0000000000000002, the next life of the server"
    );
    assert_eq!(older.set.health(), Health::Fenced);
    let refused = commit(&*older, put("lost", "2")).await;
    assert_eq!(refused, Err(Refusal::Closed.into()));
    assert!(matches!(older.get(b"one").await, Err(ReadError::Closed)));

    commit(&*newer, put("two", "2")).await.unwrap();
    let seen = rows(&*newer, KeyRange::all(), 10).await;
    assert_eq!(seen.len(), 2);
    older.close().await;
    commit(&*newer, put("three", "3")).await.unwrap();
    assert_eq!(newer.set.health(), Health::Healthy);
}

/// A server that does not write finds out by the manifests.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_idle_server_notices_that_it_is_fenced() {
    let bucket = Bucket::default();
    // Old manifests are deleted soon, so newer ones are looked for often.
    let settings = Settings {
        garbage_age: Duration::from_millis(400),
        ..Settings::default()
    };
    let older = One::of(bucket.start_with(settings).await).await.unwrap();
    commit(&*older, put("one", "1")).await.unwrap();
    let newer = bucket.open().await;
    older.set.fenced().await;
    assert_eq!(newer.set.health(), Health::Healthy);
}
