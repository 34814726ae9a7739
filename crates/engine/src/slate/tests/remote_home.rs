//! Databases over an in-memory object store, which also has the WAL: what a single server has in `s3://`.

use std::time::Duration;

use partita_wal::remote;
use slatedb::object_store::ObjectStore;
use slatedb::object_store::memory::InMemory;

use super::memory_home::check_lives;
use super::*;

/// The object store, which survives a simulated crash.
#[derive(Clone, Default)]
struct Bucket(Arc<InMemory>);

impl Bucket {
    async fn start(&self) -> SlateEngineSet {
        self.start_with(Settings::default()).await
    }

    async fn start_with(&self, settings: Settings) -> SlateEngineSet {
        let options = remote::Options {
            gap: Duration::ZERO,
            ..remote::Options::default()
        };
        let store = || Arc::clone(&self.0) as Arc<dyn ObjectStore>;
        let home = Home::in_object_store(store(), store(), options);
        let started = SlateEngineSet::in_home(home, settings).await;
        started.unwrap()
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
