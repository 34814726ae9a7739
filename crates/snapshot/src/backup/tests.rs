//! Backups of a store with several ranges in a directory: writing, resuming, damage, restoring.

use std::collections::BTreeMap;
use std::path::Path as FilePath;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use object_store::ObjectStore;
use partita_cluster::Cluster;
use partita_cluster::test_world::rows;
use partita_engine::{Batch, RangeId};
use partita_model::{DateTime, TableId, TableSpace};
use partita_rt::{Clock as _, Place, SystemClock};

use super::write::write_parts;
use super::*;
use crate::SnapshotReader;
use crate::tests::world::{Opened, open_directory as open};

const ROWS: u32 = 600;
const PART_BYTES: usize = 128 << 10;

fn space() -> TableSpace {
    TableSpace::new("account", TableId(1))
}

fn key(number: u32) -> Bytes {
    space().entity(&format!("p{number:06}"), "r")
}

/// About 1 KiB that zstd compresses little.
fn value(number: u32) -> Bytes {
    let words =
        (0..125_u64).map(|at| (u64::from(number) << 32 | at).wrapping_mul(0x9E37_79B9_7F4A_7C15));
    words.flat_map(u64::to_le_bytes).collect::<Vec<_>>().into()
}

fn range_of(cluster: &Cluster, key: &[u8]) -> RangeId {
    cluster.map().route(key).unwrap().range.id()
}

async fn put(cluster: &Cluster, numbers: std::ops::Range<u32>) {
    for number in numbers.clone().step_by(50) {
        let keys: Vec<Bytes> = (number..(number + 50).min(numbers.end)).map(key).collect();
        for keys in keys.chunk_by(|a, b| range_of(cluster, a) == range_of(cluster, b)) {
            let locked = cluster.map().lock(keys).await.unwrap();
            let mut batch = Batch::new();
            for (at, key) in keys.iter().enumerate() {
                batch.put(key.clone(), value(u32::try_from(at).unwrap() + number));
            }
            locked.commit(batch).await.unwrap();
        }
    }
}

/// A store with three ranges and several parts of rows, a snapshot of it, and its rows.
struct World {
    directory: tempfile::TempDir,
    store: Opened,
    snapshot: SnapshotReader,
    before: BTreeMap<Bytes, Bytes>,
}

impl World {
    async fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let store = open(&directory.path().join("data")).await;
        for at in [ROWS / 3, ROWS / 2] {
            let cut = space().partition(&format!("p{at:06}"));
            // On a busy machine a change can time out and be rolled back.
            while store
                .cluster
                .split(range_of(&store.cluster, &cut), Some(cut.clone()))
                .await
                .is_err()
            {}
        }
        put(&store.cluster, 0..ROWS).await;
        let before = rows(&store.cluster).await;
        let snapshot = take(&store, "s").await;
        put(&store.cluster, ROWS..ROWS + 100).await;
        Self {
            directory,
            store,
            snapshot,
            before,
        }
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.directory.path().join(name)
    }

    fn store(&self, name: &str) -> Arc<dyn ObjectStore> {
        let place = Place::parse(self.path(name).to_str().unwrap()).unwrap();
        place.store().unwrap()
    }

    async fn write(&self, name: &str) -> Result<Written, BackupError> {
        write_parts(&self.snapshot, &self.store(name), PART_BYTES, &|_| {}).await
    }

    async fn verify(&self, name: &str) -> Verified {
        verify(&*self.store(name), &|_| {}).await.unwrap()
    }

    async fn close(self) {
        drop(self.snapshot);
        self.store.cluster.close().await;
    }
}

async fn take(store: &Opened, name: &str) -> SnapshotReader {
    let name: crate::SnapshotName = name.parse().unwrap();
    store
        .snapshots
        .create(name.clone(), DateTime::MIN)
        .await
        .unwrap();
    store.snapshots.read(&name).await.unwrap()
}

/// Checks the rows and the number of ranges of a restored directory, and that it accepts writes and snapshots.
async fn check(directory: &FilePath, before: &BTreeMap<Bytes, Bytes>) {
    let restored = open(directory).await;
    assert_eq!(restored.cluster.map().ranges().len(), 3);
    let found = rows(&restored.cluster).await;
    assert_eq!(found.len(), before.len());
    assert!(found == *before, "the restored rows are identical");
    // The restored store accepts writes.
    put(&restored.cluster, 0..60).await;
    restored
        .snapshots
        .create("again".parse().unwrap(), DateTime::MIN)
        .await
        .unwrap();
    restored.cluster.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_restored_backup_is_identical_byte_for_byte() {
    let world = World::new().await;
    let written = world.write("backup").await.unwrap();
    assert_eq!((written.rows, written.kept), (u64::from(ROWS), 0));
    assert!(written.parts >= 3, "{written:?}");
    let verified = world.verify("backup").await;
    assert_eq!(
        (verified.rows, &verified.findings),
        (u64::from(ROWS), &Vec::new())
    );
    assert!(verified.unexpected.is_empty());

    let backup = Backup::open(world.store("backup")).await.unwrap();
    let restored = restore(&backup, &world.path("restored"), &|_| {})
        .await
        .unwrap();
    assert_eq!(
        (restored.rows, restored.bytes),
        (written.rows, written.row_bytes)
    );
    check(&world.path("restored"), &world.before).await;
    let again = restore(&backup, &world.path("restored"), &|_| {}).await;
    assert!(matches!(again, Err(BackupError::Directory(_))), "{again:?}");

    unpack(&world.snapshot, &world.path("unpacked"), &|_| {})
        .await
        .unwrap();
    check(&world.path("unpacked"), &world.before).await;

    let other = take(&world.store, "other").await;
    let occupied = write(&other, &world.store("backup"), &|_| {}).await;
    assert!(
        matches!(occupied, Err(BackupError::Occupied(_))),
        "{occupied:?}"
    );
    drop(other);
    world.close().await;
}

/// New Timestamps continue after those of the backup, so that no ETag repeats.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_times_of_a_restored_store_continue_after_a_backup_from_the_future() {
    const DECADES: Duration = Duration::from_secs(74 * 365 * 86_400);
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    let source = open(&path("data")).await;
    let newest = DateTime::from_system(SystemClock.now() + DECADES);
    // Version 1, the Timestamp, no properties. The second row is older, and the third is not a readable entity.
    let entity = |at: DateTime| [&[1_u8][..], &at.ticks().to_le_bytes()].concat();
    let rows = [
        (key(1), entity(newest)),
        (key(2), entity(DateTime::UNIX_EPOCH)),
        (key(3), b"unreadable".to_vec()),
    ];
    for (key, row) in rows {
        let locked = source
            .cluster
            .map()
            .lock(std::slice::from_ref(&key))
            .await
            .unwrap();
        let mut batch = Batch::new();
        batch.put(key, row.into());
        locked.commit(batch).await.unwrap();
    }
    assert!(source.cluster.engines().newest_row_time() < newest.to_system());
    let snapshot = take(&source, "s").await;
    let place = Place::parse(path("backup").to_str().unwrap()).unwrap();
    write(&snapshot, &place.store().unwrap(), &|_| {})
        .await
        .unwrap();
    let backup = Backup::open(place.store().unwrap()).await.unwrap();
    restore(&backup, &path("restored"), &|_| {}).await.unwrap();
    unpack(&snapshot, &path("unpacked"), &|_| {}).await.unwrap();
    drop(snapshot);
    source.cluster.close().await;
    for name in ["restored", "unpacked"] {
        let restored = open(&path(name)).await;
        let engines = restored.cluster.engines();
        assert!(engines.newest_row_time() > newest.to_system(), "{name}");
        assert!(engines.wall_clock_lag() > DECADES / 2, "{name}");
        restored.cluster.close().await;
    }
}

/// After an interruption, the next attempt keeps complete parts and writes missing and truncated parts.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_interrupted_backup_resumes() {
    let world = World::new().await;
    let whole = world.write("whole").await.unwrap();
    let store = world.store("backup");
    // Interrupts the backup after the second part: dropping its future acts like a kill.
    let (told, mut telling) = tokio::sync::mpsc::channel(100);
    let stopped = std::sync::atomic::AtomicU64::new(0);
    let note = |progress: Progress| {
        stopped.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        told.try_send(progress).unwrap();
    };
    tokio::select! {
        biased;
        _ = async { telling.recv().await; telling.recv().await } => {}
        _ = write_parts(&world.snapshot, &store, PART_BYTES, &note) => panic!("more parts are left to write"),
    }
    let unfinished = verify(&*store, &|_| {}).await;
    assert!(matches!(unfinished, Err(BackupError::NotThere)));
    let unfinished = Backup::open(Arc::clone(&store)).await;
    assert!(matches!(unfinished, Err(BackupError::NotThere)));
    // Simulates a file that a kill truncated.
    let third = world.path("backup/rows/00000003.part");
    std::fs::write(
        &third,
        std::fs::read(world.path("whole/rows/00000003.part"))
            .unwrap()
            .split_at(999)
            .0,
    )
    .unwrap();
    let written = world.write("backup").await.unwrap();
    assert_eq!(
        written,
        Written {
            kept: written.kept,
            ..whole.clone()
        }
    );
    assert!(
        written.kept >= 2 && written.kept < written.parts,
        "{written:?}"
    );
    let list = |name: &str| std::fs::read(world.path(name).join("backup.json")).unwrap();
    assert!(
        list("whole") == list("backup"),
        "the resumed backup is identical"
    );

    // A further attempt keeps all parts. If a part is missing, the next attempt writes only that part.
    assert_eq!(world.write("backup").await.unwrap().kept, whole.parts);
    let second = world.path("backup/rows/00000002.part");
    std::fs::remove_file(&second).unwrap();
    assert_eq!(world.write("backup").await.unwrap().kept, whole.parts - 1);
    assert!(world.verify("backup").await.findings.is_empty());
    world.close().await;
}

/// Verification reports each missing, truncated or changed file. The restore fails if a file that it reads was changed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn damage_to_any_file_is_reported_by_name() {
    let world = World::new().await;
    world.write("backup").await.unwrap();
    let place = world.path("backup");
    let mut names = vec![
        "backup.json".to_owned(),
        "SHA256SUMS".to_owned(),
        "begun.json".to_owned(),
    ];
    for part in std::fs::read_dir(place.join("rows")).unwrap() {
        names.push(format!(
            "rows/{}",
            part.unwrap().file_name().to_str().unwrap()
        ));
    }
    for name in names {
        let file = place.join(&name);
        let good = std::fs::read(&file).unwrap();
        let is_part = name.starts_with("rows/");

        std::fs::remove_file(&file).unwrap();
        if name == MANIFEST {
            let missing = verify(&*world.store("backup"), &|_| {}).await;
            assert!(matches!(missing, Err(BackupError::NotThere)));
        } else {
            assert_eq!(
                world.verify("backup").await.findings,
                [Finding::Missing(name.clone())]
            );
        }

        std::fs::write(&file, &good[..good.len() - 1]).unwrap();
        let short = world.verify("backup").await.findings;
        if is_part {
            let (now, then) = (good.len() as u64 - 1, good.len() as u64);
            assert_eq!(short, [Finding::Short(name.clone(), now, then)]);
        } else {
            assert_eq!(short.len(), 1, "{name}: {short:?}");
        }
        for at in [0, good.len() / 2, good.len() - 1] {
            let mut changed = good.clone();
            changed[at] ^= 1;
            std::fs::write(&file, &changed).unwrap();
            let found = world.verify("backup").await.findings;
            assert_eq!(found.len(), 1, "{name} at {at}: {found:?}");
            assert!(matches!(&found[0], Finding::Changed(_)));
            if is_part {
                assert_eq!(found, [Finding::Changed(name.clone())]);
            }
            if name != BEGUN {
                let refused = match Backup::open(world.store("backup")).await {
                    Ok(backup) => restore(&backup, &world.path("refused"), &|_| {})
                        .await
                        .map(|_| ()),
                    Err(error) => Err(error),
                };
                assert!(
                    matches!(refused, Err(BackupError::Damaged(_))),
                    "{name} at {at}"
                );
                assert!(!world.path("refused").exists());
                assert!(
                    !world.path(".refused.restoring").exists(),
                    "nothing is left"
                );
            }
        }
        std::fs::write(&file, &good).unwrap();
    }
    std::fs::write(place.join("notes.txt"), "mine").unwrap();
    let verified = world.verify("backup").await;
    assert_eq!(
        (verified.findings.len(), verified.unexpected),
        (0, vec!["notes.txt".to_owned()])
    );
    world.close().await;
}
