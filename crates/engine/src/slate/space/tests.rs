//! Tests that the space of deleted and overwritten rows is returned without a request.

use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use partita_rt::{DataDir, ShiftedClock};

use super::counts::Counts;
use super::*;
use crate::conformance::{FIRST, commit, rows};
use crate::slate::{Home, Settings, SlateEngineSet, SpaceSettings, admin};
use crate::{Batch, Collected, Engine, EngineSet, KeyRange, WriteError};

/// Time between two maintenance rounds.
const PERIOD: Duration = Duration::from_secs(10);

/// The longest wait for a compaction, in real time.
const DEADLINE: Duration = Duration::from_secs(60);

/// An engine set with one open range, on a machine whose clock the test moves.
struct World {
    directory: tempfile::TempDir,
    clock: ShiftedClock,
    set: SlateEngineSet,
    engine: Arc<dyn Engine>,
}

impl World {
    async fn open(settings: Settings) -> Self {
        let directory = tempfile::tempdir().unwrap();
        Self::open_in(directory, settings).await
    }

    /// Closes the engine set without a flush, as a kill would, and opens it again.
    async fn reopen(self, settings: Settings) -> Self {
        let Self {
            directory,
            set,
            engine,
            ..
        } = self;
        set.close().await;
        drop((engine, set));
        Self::open_in(directory, settings).await
    }

    async fn open_in(directory: tempfile::TempDir, settings: Settings) -> Self {
        let clock = ShiftedClock::default();
        let data = Arc::new(DataDir::open(directory.path()).unwrap());
        let home = Home {
            clock: Arc::new(clock.clone()),
            ..Home::in_directory(data)
        };
        let set = SlateEngineSet::in_home(home, settings).await.unwrap();
        let engine = set.open(FIRST).await.unwrap();
        Self {
            directory,
            clock,
            set,
            engine,
        }
    }

    fn database(&self) -> Arc<Database> {
        let open = self.set.core.open_range(FIRST).unwrap();
        open.database().unwrap()
    }

    /// The numbers of rows and of deletions in the files.
    async fn stored(&self) -> (u64, u64) {
        let admin = admin::admin(&self.set.core, FIRST);
        let manifest = admin.read_manifest(None).await.unwrap().unwrap();
        let mut counts = Counts::default();
        let reader = reader(&self.set.core, FIRST);
        counts.update(&reader, &manifest).await.unwrap();
        let sources = counts.sources(&manifest);
        let sum = |count: fn(&need::Source) -> u64| sources.iter().map(count).sum::<u64>();
        (sum(|it| it.rows), sum(|it| it.deletes))
    }

    /// The numbers of requested compactions, by reason.
    fn requested(&self) -> Vec<f64> {
        let counts = self.set.core.context.space_counts.metrics();
        counts.map(|metric| metric.value).collect()
    }

    /// Waits for the end of a requested compaction, and until the database has loaded its result.
    async fn settle(&self) {
        let (database, until) = (self.database(), tokio::time::Instant::now() + DEADLINE);
        while !database.detach.is_idle() {
            assert!(tokio::time::Instant::now() < until, "still compacting");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        let admin = admin::admin(&self.set.core, FIRST);
        let newest = admin.read_manifest(None).await.unwrap().unwrap().id();
        while database.db.manifest().id() < newest {
            assert!(
                tokio::time::Instant::now() < until,
                "the result is loaded in time"
            );
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    async fn write(&self, numbers: std::ops::Range<u32>, value: impl Fn(u32) -> Option<Bytes>) {
        for chunk in numbers.collect::<Vec<_>>().chunks(100) {
            let mut batch = Batch::new();
            for number in chunk {
                let key = Bytes::copy_from_slice(&number.to_be_bytes());
                match value(*number) {
                    Some(value) => batch.put(key, value),
                    None => batch.delete(key),
                }
            }
            commit(&*self.engine, batch).await.unwrap();
        }
    }

    /// Writes 5,000 rows, flushes them, and deletes all but the last ten.
    async fn delete_most_rows(&self) {
        self.write(0..5_000, |_| Some("value".into())).await;
        self.engine.flush().await.unwrap();
        self.write(0..4_990, |_| None).await;
    }

    /// Expects that one round compacts the deleted rows, and leaves the ten others.
    async fn expect_a_compaction(&self) {
        self.engine.reclaim().await.unwrap();
        self.settle().await;
        assert_eq!(self.stored().await, (10, 0));
        assert_eq!(self.requested(), [1.0, 0.0]);
        let left = rows(&*self.engine, KeyRange::all(), 100).await;
        assert_eq!(left.len(), 10);
        assert_eq!(left[0].0, 4_990_u32.to_be_bytes().as_slice());
    }
}

fn settings() -> Settings {
    Settings {
        space: SpaceSettings {
            stretch_rows_min: 1_000,
            unused_bytes_min: 0,
            ..SpaceSettings::default()
        },
        ..Settings::default()
    }
}

/// A value of this length that does not compress, different for each row and version.
fn noise(number: u32, version: u32, length: usize) -> Bytes {
    let mut state = (u64::from(number) << 32) + u64::from(version) + 1;
    let next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()
    };
    let bytes = std::iter::repeat_with(next).flatten().take(length);
    bytes.collect()
}

/// The bytes of all files below a folder. Files may be deleted meanwhile.
fn bytes(folder: &Path) -> u64 {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let sizes = entries.map(|entry| match entry.metadata() {
        Ok(meta) if meta.is_dir() => bytes(&entry.path()),
        Ok(meta) => meta.len(),
        Err(_) => 0,
    });
    sizes.sum()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn deleted_rows_are_compacted_in_the_next_round() {
    let world = World::open(settings()).await;
    world.delete_most_rows().await;
    assert_eq!(world.stored().await, (5_000, 0));
    world.expect_a_compaction().await;
    world.set.close().await;
}

/// Deletions that a start replays from the WAL count like newly written ones, before any flush.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn deletions_before_a_restart_are_compacted_in_the_first_round() {
    let world = World::open(settings()).await;
    world.delete_most_rows().await;
    let world = world.reopen(settings()).await;
    assert_eq!(world.stored().await, (5_000, 0), "nothing was flushed");
    world.expect_a_compaction().await;
    world.set.close().await;
}

/// Rows that were written and deleted before the first flush leave only deletions, in one file.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_single_file_of_deletions_is_compacted() {
    let world = World::open(settings()).await;
    world.write(0..2_000, |_| Some("value".into())).await;
    world.write(0..2_000, |_| None).await;
    world.engine.flush().await.unwrap();
    assert_eq!(world.stored().await.1, 2_000);
    world.engine.reclaim().await.unwrap();
    world.settle().await;
    assert_eq!(world.stored().await, (0, 0));
    let left = rows(&*world.engine, KeyRange::all(), 100).await;
    assert!(left.is_empty(), "{left:?}");
    world.set.close().await;
}

/// A database at rest is flushed once and compacted once. After that the rounds change nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_at_rest_causes_no_work() {
    let world = World::open(settings()).await;
    // These files and that of the flush at rest are too few for SlateDB's own compaction.
    for version in 0..2 {
        world
            .write(0..500, |number| Some(noise(number, version, 100)))
            .await;
        world.engine.flush().await.unwrap();
    }
    world.write(0..10, |_| Some("in memory".into())).await;
    let last = || {
        let wal = world.set.core.wal().unwrap();
        wal.wal.last_of(FIRST).unwrap()
    };
    let written = last();
    assert!(world.database().flushed_up_to() < written);
    let round = async || {
        world.engine.reclaim().await.unwrap();
        world.settle().await;
        world.clock.advance(PERIOD);
    };
    let rest = SpaceSettings::default().rest.as_secs() / PERIOD.as_secs();
    for _ in 0..rest {
        round().await;
    }
    assert!(
        world.database().flushed_up_to() < written,
        "not at rest yet"
    );
    assert_eq!(world.requested(), [0.0, 0.0]);
    for _ in 0..=rest + 2 {
        round().await;
    }
    assert_eq!(world.database().flushed_up_to(), written);
    assert_eq!(world.requested(), [0.0, 1.0]);
    assert_eq!(world.stored().await, (500, 0));

    let manifest = world.database().db.manifest().id();
    for _ in 0..10 {
        round().await;
    }
    assert_eq!(world.requested(), [0.0, 1.0]);
    assert_eq!(world.database().db.manifest().id(), manifest);
    assert_eq!(last(), written);
    world.set.close().await;
}

/// A pause follows each compaction, so that compactions take only a part of the time.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_next_compaction_waits() {
    let mut settings = settings();
    settings.space.stretch_rows_min = 100;
    let world = World::open(settings).await;
    let delete = async |numbers| {
        world.write(numbers, |_| None).await;
        world.engine.reclaim().await.unwrap();
        world.settle().await;
    };
    world.write(0..20_000, |_| Some("value".into())).await;
    delete(0..100).await;
    assert_eq!(world.requested(), [1.0, 0.0]);
    delete(100..200).await;
    assert_eq!(world.requested(), [1.0, 0.0], "one row in 200");
    world.clock.advance(Duration::from_secs(250));
    world.engine.reclaim().await.unwrap();
    world.settle().await;
    assert_eq!(world.requested(), [2.0, 0.0]);
    assert_eq!(world.stored().await, (19_800, 0));
    world.set.close().await;
}

/// A flush marker, as the ranges write it.
async fn flush_marker(engine: &dyn Engine) -> Result<(), WriteError> {
    let mut batch = Batch::new();
    batch.delete(Bytes::from_static(b"\0mark"));
    commit(engine, batch).await?;
    engine.flush().await
}

/// Uses the real clock and short periods, because garbage collection compares the modification times of files.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn overwritten_and_deleted_rows_free_their_space() {
    const LENGTH: usize = 4_000;
    let settings = Settings {
        garbage_age: Duration::from_secs(2),
        space: SpaceSettings {
            rest: Duration::from_secs(1),
            // Disables compactions because of deleted stretches.
            stretch_rows_min: u64::MAX,
            ..settings().space
        },
        ..Settings::default()
    };
    let world = World::open(settings).await;
    for version in 0..5 {
        world
            .write(0..1_000, |number| Some(noise(number, version, LENGTH)))
            .await;
        world.engine.flush().await.unwrap();
    }
    world.write(0..500, |_| None).await;
    let (live, store) = (500 * LENGTH as u64, world.directory.path().join("store"));
    assert!(bytes(&store) > 3 * live);
    let until = tokio::time::Instant::now() + DEADLINE;
    while bytes(&store) * 2 > live * 3 {
        assert!(
            tokio::time::Instant::now() < until,
            "{} bytes of {live}, {:?}",
            bytes(&store),
            world.engine.file_layout()
        );
        world.engine.reclaim().await.unwrap();
        if world.engine.collect().await.unwrap() == Collected::UntilFlush {
            flush_marker(&*world.engine).await.unwrap();
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    let left = rows(&*world.engine, KeyRange::all(), 100).await;
    assert_eq!(left.len(), 500);
    world.set.close().await;
}

/// Checks the calculation in the module's documentation, with two minutes for the compaction.
#[test]
fn the_space_returns_within_six_minutes() {
    let settings = Settings::default();
    let rest = settings.space.rest + 2 * PERIOD;
    let compaction = Duration::from_secs(120);
    let garbage = settings.data_age() + settings.garbage_interval;
    assert!(2 * rest + compaction + garbage <= Duration::from_secs(360));
}
