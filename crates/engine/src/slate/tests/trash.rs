//! Tests that removed databases stay in the trash for a while.

use futures::StreamExt;
use partita_rt::SystemClock;
use slatedb::object_store::memory::InMemory;
use slatedb::object_store::{ObjectStore, ObjectStoreExt};

use super::*;
use crate::StoredFiles;

const CHILD: RangeId = RangeId(2);

/// Where the files are: in a directory, or in a store that cannot rename a folder.
enum Place {
    Directory(tempfile::TempDir),
    Objects(Arc<InMemory>, partita_wal::memory::MemoryStorage),
}

impl Place {
    fn both() -> [Self; 2] {
        let directory = tempfile::tempdir().unwrap();
        let objects = Self::Objects(Arc::default(), Default::default());
        [Self::Directory(directory), objects]
    }

    async fn start(&self, garbage_age: Duration) -> SlateEngineSet {
        let home = match self {
            Self::Directory(directory) => {
                Home::in_directory(Arc::new(DataDir::open(directory.path()).unwrap()))
            }
            Self::Objects(store, wal) => Home {
                store: Arc::clone(store) as _,
                wal: Arc::new(wal.clone()),
                directory: None,
                disk_cache: None,
                clock: Arc::new(SystemClock),
            },
        };
        let settings = Settings {
            garbage_age,
            ..Settings::default()
        };
        SlateEngineSet::in_home(home, settings).await.unwrap()
    }

    /// A set that removes garbage after five minutes, and its first range with one row.
    async fn start_with_a_row(&self) -> (SlateEngineSet, Arc<dyn Engine>) {
        let set = self.start(FIVE_MINUTES).await;
        let engine = set.open(conformance::FIRST).await.unwrap();
        commit(&*engine, put("key", "value")).await.unwrap();
        (set, engine)
    }
}

/// The names of all objects that begin with `prefix`.
async fn objects(set: &SlateEngineSet, prefix: &str) -> Vec<String> {
    let listed: Vec<_> = set.core.context.home.store.list(None).collect().await;
    let names = listed.into_iter();
    let names = names.map(|object| object.unwrap().location.to_string());
    names.filter(|name| name.starts_with(prefix)).collect()
}

/// The number of permanent checkpoints of the first range.
async fn checkpoints(set: &SlateEngineSet) -> usize {
    let admin = admin::admin(&set.core, conformance::FIRST);
    let manifest = admin.read_manifest(None).await.unwrap().unwrap();
    let checkpoints = manifest.checkpoints().iter();
    checkpoints
        .filter(|checkpoint| checkpoint.expire_time.is_none())
        .count()
}

const FIVE_MINUTES: Duration = Duration::from_secs(300);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_removed_database_stays_in_the_trash_and_can_be_moved_back() {
    for place in Place::both() {
        let (set, engine) = place.start_with_a_row().await;
        engine.flush().await.unwrap();
        engine.close().await;
        let before = objects(&set, "range-1/").await;
        assert_eq!(set.remove(conformance::FIRST).await.unwrap(), Removal::Gone);
        assert_eq!(objects(&set, "range-1").await, [""; 0]);
        set.sweep_trash().await.unwrap();
        set.close().await;
        drop((set, engine));

        // The removed database stays in the trash after a restart.
        let set = place.start(FIVE_MINUTES).await;
        set.sweep_trash().await.unwrap();
        let stored = set.stored().await.unwrap();
        assert_eq!(stored.databases, []);
        assert_eq!(stored.trashed, [conformance::FIRST]);
        let trash = objects(&set, "trash/").await;
        assert_eq!(trash.len(), before.len(), "{trash:?}");
        let store = &set.core.context.home.store;
        for name in &trash {
            let back = name.splitn(3, '/').nth(2).unwrap();
            let (from, to) = (name.as_str(), format!("range-1/{back}"));
            store.rename(&from.into(), &to.into()).await.unwrap();
        }
        assert_eq!(objects(&set, "range-1/").await, before);
        let engine = set.open(conformance::FIRST).await.unwrap();
        assert_eq!(engine.get(b"key").await.unwrap().unwrap(), "value");
        set.close().await;
    }
}

/// A removed clone keeps the files of its source until it leaves the trash.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_trash_is_emptied_after_a_while() {
    for place in Place::both() {
        let (set, source) = place.start_with_a_row().await;
        let whole = KeyPart {
            source: conformance::FIRST,
            range: KeyRange::all(),
        };
        set.clone_parts(CHILD, &[whole]).await.unwrap();
        let kept = checkpoints(&set).await;
        assert_eq!(set.remove(CHILD).await.unwrap(), Removal::Gone);
        set.sweep_trash().await.unwrap();
        assert!(!objects(&set, "trash/").await.is_empty());
        assert_eq!(checkpoints(&set).await, kept);
        set.close().await;
        drop((set, source));

        let set = place.start(Duration::ZERO).await;
        set.sweep_trash().await.unwrap();
        assert_eq!(objects(&set, "trash").await, [""; 0]);
        assert_eq!(checkpoints(&set).await, kept - 1);
        if let Place::Directory(directory) = &place {
            let trash = directory.path().join("store/trash");
            let left = std::fs::read_dir(trash).map_or(0, Iterator::count);
            assert_eq!(left, 0, "no empty folder is left");
        }
        set.close().await;
    }
}

/// At a start, the keys of the files are read without opening the databases.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stored_databases_show_the_keys_of_their_files() {
    let directory = tempfile::tempdir().unwrap();
    let one = open_in(directory.path()).await;
    for key in ["a", "m", "z"] {
        commit(&*one, put(key, "value")).await.unwrap();
    }
    let right = KeyPart {
        source: conformance::FIRST,
        range: KeyRange {
            start: Bound::Included("k".into()),
            end: Bound::Unbounded,
        },
    };
    one.set.clone_parts(CHILD, &[right]).await.unwrap();
    commit(&*one, put("zz", "only in the WAL")).await.unwrap();
    one.close().await;
    drop(one);
    std::fs::create_dir_all(directory.path().join("store/range-9")).unwrap();

    let set = set_in(directory.path()).await.unwrap();
    let stored = set.stored().await.unwrap();
    let keys = |first: &'static str| {
        StoredFiles::Keys(vec![KeyRange {
            start: Bound::Included(first.into()),
            end: Bound::Included("z".into()),
        }])
    };
    let found: Vec<_> = stored.databases.into_iter().map(|it| it.files).collect();
    assert_eq!(found, [keys("a"), keys("k"), StoredFiles::NoManifest]);
    assert_eq!(stored.logged, [conformance::FIRST]);
    let closed = stored_ranges(set.core.context.home.store.clone()).await;
    assert_eq!(closed.unwrap().databases.len(), 3);
    set.close().await;
}
