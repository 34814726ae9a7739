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
        let options = remote::Options {
            gap: Duration::ZERO,
            ..remote::Options::default()
        };
        let store = || Arc::clone(&self.0) as Arc<dyn ObjectStore>;
        let home = Home::in_object_store(store(), store(), options);
        let started = SlateEngineSet::in_home(home, Settings::default()).await;
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
