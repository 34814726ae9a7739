use std::fs;
use std::sync::atomic::{AtomicUsize, Ordering};

use partita_rt::store_layer::Layered;
use slatedb::object_store::ObjectStoreExt;
use slatedb::object_store::memory::InMemory;
use slatedb::object_store_tag::RetryReason;

use super::*;
use crate::DiskCacheStats;

/// A store that counts GETs.
#[derive(Debug)]
struct Counted {
    store: InMemory,
    gets: Arc<AtomicUsize>,
}

#[async_trait::async_trait]
impl Layer for Counted {
    fn below(&self) -> &dyn ObjectStore {
        &self.store
    }

    async fn get(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        self.gets.fetch_add(1, Ordering::SeqCst);
        // Others arrive meanwhile.
        tokio::task::yield_now().await;
        self.store.get_opts(location, options).await
    }
}

struct World {
    folder: tempfile::TempDir,
    gets: Arc<AtomicUsize>,
    counted: Arc<dyn ObjectStore>,
    store: Layered<CachedFiles>,
    content: Vec<u8>,
}

/// The data file of a world: two and a half parts.
const FILE: &str = "range-1/compacted/01JQ0000000000000000000000.sst";
const FILE_BYTES: usize = PART_BYTES as usize * 5 / 2;

impl World {
    async fn new(bytes_max: u64) -> Self {
        let content: Vec<u8> = (0..FILE_BYTES).map(|at| (at * 7 % 253) as u8).collect();
        let gets = Arc::default();
        let store = InMemory::new();
        store
            .put(&FILE.into(), content.clone().into())
            .await
            .unwrap();
        let counted: Arc<dyn ObjectStore> = Arc::new(Layered(Counted {
            store,
            gets: Arc::clone(&gets),
        }));
        let folder = tempfile::tempdir().unwrap();
        Self {
            store: cached(&counted, folder.path(), bytes_max),
            folder,
            gets,
            counted,
            content,
        }
    }

    /// Ends the process and starts another one.
    fn restart(&mut self, bytes_max: u64) {
        let elsewhere = tempfile::tempdir().unwrap();
        drop(std::mem::replace(
            &mut self.store,
            cached(&self.counted, elsewhere.path(), bytes_max),
        ));
        self.store = cached(&self.counted, self.folder.path(), bytes_max);
    }

    async fn read(&self, wanted: Range<u64>) -> Result<Bytes> {
        read(&self.store, wanted, TableStoreKind::Main, None).await
    }

    /// Reads, and checks what was read and how many GETs it took.
    async fn check(&self, wanted: Range<u64>, gets: usize) {
        let before = self.gets();
        let found = self.read(wanted.clone()).await.unwrap();
        let end = (wanted.end as usize).min(FILE_BYTES);
        assert!(
            found == self.content[wanted.start as usize..end],
            "{wanted:?}"
        );
        assert_eq!(self.gets() - before, gets, "{wanted:?}");
    }

    fn gets(&self) -> usize {
        self.gets.load(Ordering::SeqCst)
    }

    /// The files of parts.
    fn files(&self) -> Vec<std::path::PathBuf> {
        let files = fs::read_dir(self.folder.path()).unwrap();
        let files = files.map(|file| file.unwrap().path());
        files.filter(|file| !file.ends_with("lock")).collect()
    }
}

fn cached(
    store: &Arc<dyn ObjectStore>,
    folder: &std::path::Path,
    bytes_max: u64,
) -> Layered<CachedFiles> {
    let cache = DiskCache::open(folder, bytes_max).unwrap();
    Layered(CachedFiles::new(Arc::clone(store), cache))
}

async fn read(
    store: &Layered<CachedFiles>,
    wanted: Range<u64>,
    kind: TableStoreKind,
    retry: Option<RetryReason>,
) -> Result<Bytes> {
    let mut tag = ObjectStoreCallTag::new(kind, SstType::Compacted);
    tag.retry = retry;
    let options = GetOptions {
        range: Some(GetRange::Bounded(wanted)),
        extensions: tag.into(),
        ..GetOptions::default()
    };
    store.get_opts(&FILE.into(), options).await?.bytes().await
}

#[tokio::test]
async fn a_part_is_fetched_once() {
    let world = World::new(64 << 20).await;
    world.check(100..20_000, 1).await;
    world.check(50_000..50_001, 0).await;
    // Across the border of two parts.
    world.check(PART_BYTES - 10..PART_BYTES + 10, 1).await;
    world.check(PART_BYTES / 2..PART_BYTES, 0).await;
    // The last part is short.
    let end = FILE_BYTES as u64;
    world.check(end - 10..end + 10, 1).await;
    assert!(world.read(end..end + 1).await.is_err());
    let DiskCacheStats {
        hits,
        misses,
        bytes,
    } = world.store.0.cache.stats();
    assert_eq!((misses, hits >= 4), (3, true), "{hits} hits");
    let sizes = world
        .files()
        .into_iter()
        .map(|file| fs::metadata(file).unwrap().len());
    assert_eq!(sizes.sum::<u64>(), bytes);
}

#[tokio::test]
async fn readers_at_the_same_time_fetch_a_part_once() {
    let world = World::new(64 << 20).await;
    let reads = (0..20).map(|at| world.read(at * 1_000..at * 1_000 + 500));
    let found = futures::future::join_all(reads).await;
    for (at, found) in found.into_iter().enumerate() {
        assert!(found.unwrap() == world.content[at * 1_000..at * 1_000 + 500]);
    }
    assert_eq!(world.gets(), 1);
}

#[tokio::test]
async fn parts_outlive_the_process() {
    let mut world = World::new(64 << 20).await;
    world.check(0..10, 1).await;
    let partial = format!("{}{}", world.files()[0].display(), part_file::PARTIAL);
    fs::write(&partial, "half").unwrap();
    let other = world.folder.path().join("notes.txt");
    fs::write(&other, "mine").unwrap();
    world.restart(64 << 20);
    world.check(5..20, 0).await;
    assert!(!fs::exists(partial).unwrap());
    assert!(fs::exists(other).unwrap());
}

/// Data that is taken over is closed and opened again by the same process, while reads of before may still end.
#[tokio::test]
async fn a_process_opens_a_folder_again() {
    let world = World::new(64 << 20).await;
    world.check(0..10, 1).await;
    let again = DiskCache::open(world.folder.path(), 64 << 20).unwrap();
    assert!(Arc::ptr_eq(&again, &world.store.0.cache));
    let World { folder, store, .. } = world;
    drop((store, again));
    let reopened = DiskCache::open(folder.path(), 64 << 20).unwrap();
    assert!(reopened.stats().bytes > PART_BYTES);
}

#[tokio::test]
async fn one_process_uses_a_folder() {
    let folder = tempfile::tempdir().unwrap();
    let _other = partita_rt::data_dir::Lock::take(folder.path()).unwrap();
    let refused = DiskCache::open(folder.path(), 64 << 20);
    assert!(matches!(
        refused,
        Err(partita_rt::data_dir::Error::Locked { .. })
    ));
}

#[tokio::test]
async fn a_damaged_part_is_fetched_again() {
    let world = World::new(64 << 20).await;
    world.check(0..10, 1).await;
    let file = &world.files()[0];
    let mut content = fs::read(file).unwrap();
    content[8] ^= 1;
    fs::write(file, content).unwrap();
    world.check(0..10, 1).await;
    // The read that found the damage did not store the part.
    world.check(0..10, 1).await;
    world.check(0..10, 0).await;
    fs::remove_file(&world.files()[0]).unwrap();
    world.check(0..10, 1).await;
}

/// A reader of a part that was evicted meanwhile does not delete the file of the part that was fetched again.
#[tokio::test]
async fn the_end_of_an_old_reader_leaves_the_new_file() {
    let world = World::new(64 << 20).await;
    world.check(0..10, 1).await;
    let cache = &world.store.0.cache;
    let key = PartKey {
        file: FILE.rsplit('/').next().unwrap().to_owned(),
        number: 0,
    };
    let old = cache
        .find(&key)
        .await
        .unwrap_or_else(|_| panic!("it is there"));
    cache.remove(&key);
    world.check(0..10, 1).await;
    assert_eq!(old.read(0..10).await.unwrap(), world.content[..10]);
    world.check(0..10, 0).await;
    assert_eq!(world.files().len(), 1);
}

#[tokio::test]
async fn a_repeated_read_asks_the_store() {
    let world = World::new(64 << 20).await;
    world.check(0..10, 1).await;
    let retry = Some(RetryReason::CrcMismatch);
    let found = read(&world.store, 0..10, TableStoreKind::Main, retry).await;
    assert!(found.unwrap() == world.content[0..10]);
    assert_eq!(world.gets(), 2);
    world.check(0..10, 0).await;
}

#[tokio::test]
async fn long_reads_and_compactions_pass_the_cache() {
    let world = World::new(64 << 20).await;
    world.check(0..READ_BYTES_MAX + 1, 1).await;
    read(&world.store, 0..10, TableStoreKind::Compactor, None)
        .await
        .unwrap();
    world.store.get_range(&FILE.into(), 0..10).await.unwrap();
    assert_eq!((world.gets(), world.files().len()), (3, 0));
}

#[tokio::test]
async fn the_size_of_the_folder_is_bounded() {
    let bytes_max = PART_BYTES * 2 + 1_000;
    let mut world = World::new(bytes_max).await;
    for begin in [0, PART_BYTES, 2 * PART_BYTES] {
        world.check(begin..begin + 10, 1).await;
    }
    let stored = |world: &World| -> u64 {
        let sizes = world
            .files()
            .into_iter()
            .map(|file| fs::metadata(file).unwrap().len());
        sizes.sum()
    };
    assert!(stored(&world) <= bytes_max);
    world.restart(PART_BYTES * 3 / 2);
    assert!(stored(&world) <= PART_BYTES * 3 / 2);
}

#[tokio::test]
async fn reads_go_on_when_the_folder_is_gone() {
    let world = World::new(64 << 20).await;
    fs::remove_dir_all(world.folder.path()).unwrap();
    world.check(0..10, 1).await;
    world.check(0..10, 1).await;
}
