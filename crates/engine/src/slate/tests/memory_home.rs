//! Databases over an in-memory object store and WAL, which survive a simulated crash of the process.

use partita_rt::{Clock, SystemClock};
use partita_wal::memory::MemoryStorage;
use slatedb::object_store::memory::InMemory;

use super::*;

/// The storage that survives a simulated crash, and the machine's clock.
#[derive(Clone)]
pub(super) struct World {
    pub(super) store: Arc<InMemory>,
    pub(super) wal: MemoryStorage,
    pub(super) clock: Arc<dyn Clock>,
}

impl Default for World {
    fn default() -> Self {
        Self {
            store: Arc::default(),
            wal: MemoryStorage::default(),
            clock: Arc::new(SystemClock),
        }
    }
}

impl World {
    pub(super) async fn start(&self) -> SlateEngineSet {
        let home = Home {
            store: Arc::clone(&self.store) as _,
            wal: Arc::new(self.wal.clone()),
            directory: None,
            disk_cache: None,
            clock: Arc::clone(&self.clock),
        };
        let started = SlateEngineSet::in_home(home, Settings::default()).await;
        started.unwrap()
    }

    /// An engine set with its first range open.
    pub(super) async fn open(&self) -> One {
        One::of(self.start().await).await.unwrap()
    }
}

/// Runs the scripts of several lives of a process on the databases that `open` opens, and compares them with a map.
pub(super) fn check_lives(lives: Vec<(Vec<conformance::Step>, bool)>, open: impl AsyncFn() -> One) {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    let runtime = builder.enable_time().build().unwrap();
    runtime.block_on(async {
        let mut model = BTreeMap::new();
        for (steps, crashes) in lives {
            let engine = open().await;
            conformance::check_script(&*engine, &mut model, &steps).await;
            if !crashes {
                engine.close().await;
            }
        }
    });
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn conforms() {
    conformance::run(async || Arc::new(World::default().start().await) as Arc<dyn EngineSet>).await;
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    /// Each process lifetime ends with a crash or a clean stop.
    #[test]
    fn behaves_like_an_ordered_map(lives in proptest::collection::vec((steps(20), any::<bool>()), 1..4)) {
        let world = World::default();
        check_lives(lives, async || world.open().await);
    }
}

/// Rows that are only in the WAL are replayed, also the rows of clones.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crash_loses_no_acknowledged_rows() {
    let world = World::default();
    let one = world.open().await;
    commit(&*one, put("flushed", "1")).await.unwrap();
    let whole = KeyPart {
        source: conformance::FIRST,
        range: KeyRange::all(),
    };
    let child = RangeId(2);
    one.set.clone_parts(child, &[whole]).await.unwrap();
    let engine = one.set.open(child).await.unwrap();
    commit(&*engine, put("logged", "2")).await.unwrap();
    commit(&*one, put("of the parent", "3")).await.unwrap();
    drop((one, engine));

    let set = world.start().await;
    assert_eq!(set.list().await.unwrap(), [conformance::FIRST, child]);
    let engine = set.open(child).await.unwrap();
    set.drop_unknown().await;
    let seen = rows(&*engine, KeyRange::all(), 10).await;
    let seen: Vec<_> = seen.iter().map(|(key, _)| key.as_ref()).collect();
    assert_eq!(seen, [b"flushed".as_ref(), b"logged".as_ref()]);
    set.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_a_failed_append_the_outcome_is_unknown_and_the_engine_recovers() {
    for fault in [AppendFault::Durable, AppendFault::Lost, AppendFault::Torn] {
        let world = World::default();
        let one = world.open().await;
        commit(&*one, put("acknowledged", "1")).await.unwrap();
        world.wal.fail_next_append(fault);
        let unknown = commit(&*one, put("unknown", "2")).await;
        assert_eq!(unknown, Err(WriteError::Unknown));
        wait_for(&*one, Health::Healthy).await;
        let seen = one.get(b"unknown").await.unwrap();
        assert_eq!(seen.is_some(), fault == AppendFault::Durable, "{fault:?}");
        commit(&*one, put("afterwards", "3")).await.unwrap();
        drop(one);
        let one = world.open().await;
        assert_eq!(one.get(b"unknown").await.unwrap(), seen);
        assert!(one.get(b"acknowledged").await.unwrap().is_some());
        assert!(one.get(b"afterwards").await.unwrap().is_some());
        one.close().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_wal_refuses_writes_until_it_has_space() {
    let world = World::default();
    let one = world.open().await;
    world.wal.set_full(true);
    let refused = commit(&*one, put("refused", "1")).await;
    assert_eq!(refused, Err(WriteError::Refused(Refusal::DiskFull)));
    assert_eq!(one.health(), Health::DiskFull);
    world.wal.set_full(false);
    wait_for(&*one, Health::Healthy).await;
    commit(&*one, put("afterwards", "1")).await.unwrap();
    assert_eq!(one.get(b"refused").await.unwrap(), None);
    one.close().await;
}
