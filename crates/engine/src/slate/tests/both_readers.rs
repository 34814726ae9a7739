//! Partita's reader against SlateDB's, on the same database: random writes, deletions, flushes, compactions, splits,
//! merges, pins and restarts, rows larger than a block, and snapshots of SlateDB, for which files keep older versions of
//! rows. Every row that one reader returns, the other must return, too.
//!
//! `READER_SEEDS=from..to` runs other seeds than the usual ones, for a long comparison.

use std::ops::Range;

use fastrand::Rng;
use futures::StreamExt;
use slatedb::DbSnapshot;

use super::*;
use crate::slate::database::Database;
use crate::slate::scan;
use crate::{Batch, Pinned, PinnedRows, Scan};

/// Keys are numbers below this, so that scripts overwrite and delete rows often.
const KEYS: u32 = 3_000;

/// Stages of a script: in each, rows are written, the database is changed, and the readers are compared.
const STAGES: usize = 8;

const SEEDS: Range<u64> = 1..3;

/// How many scripts run at the same time. A script waits for compactions most of its time.
const WORLDS_AT_ONCE: usize = 8;

/// A key like that of an entity, with a long common part. Some keys are prefixes of the next ones.
fn key_of(number: u32) -> Bytes {
    let mut key = format!(" account\0\0table-{:02}\0partition", number / 1_000).into_bytes();
    key.extend((number / 7).to_be_bytes());
    key.extend(std::iter::repeat_n(b'r', number as usize % 7));
    key.into()
}

struct World {
    seed: u64,
    directory: tempfile::TempDir,
    rng: Rng,
    set: SlateEngineSet,
    /// The open range and its engine.
    range: RangeId,
    engine: Arc<dyn Engine>,
    /// Ids are never used again.
    last_range: u64,
    /// As long as it can be read, flushes and compactions keep older versions of rows.
    snapshot: Option<Arc<DbSnapshot>>,
    compared: usize,
}

impl World {
    async fn new(seed: u64) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let set = lazy_set(directory.path(), seed).await;
        let range = RangeId(1);
        let engine = set.open(range).await.unwrap();
        Self {
            seed,
            directory,
            rng: Rng::with_seed(seed),
            set,
            range,
            engine,
            last_range: 1,
            snapshot: None,
            compared: 0,
        }
    }

    fn new_range(&mut self) -> RangeId {
        self.last_range += 1;
        RangeId(self.last_range)
    }

    async fn write(&mut self) {
        let base = self.rng.u32(0..KEYS);
        let is_dense = self.rng.bool();
        for _ in 0..self.rng.u32(1..12) {
            let mut batch = Batch::new();
            for place in 0..self.rng.u32(1..60) {
                let number = match is_dense {
                    true => (base + place) % KEYS,
                    false => self.rng.u32(0..KEYS),
                };
                if self.rng.u8(0..4) == 0 {
                    batch.delete(key_of(number));
                } else {
                    let bytes = match self.rng.u8(0..200) {
                        // Larger than a block.
                        0 => self.rng.usize(16_000..50_000),
                        _ => self.rng.usize(0..600),
                    };
                    let value: Bytes = std::iter::repeat_with(|| self.rng.u8(..))
                        .take(bytes)
                        .collect();
                    batch.put(key_of(number), value);
                }
            }
            commit(&*self.engine, batch).await.unwrap();
        }
    }

    async fn change(&mut self) {
        match self.rng.u8(0..8) {
            0..3 => self.engine.flush().await.unwrap(),
            3 => self.compact().await,
            4 => self.split().await,
            5 | 6 => self.restart().await,
            _ => {}
        }
        if self.rng.bool() {
            let is_held = self.rng.bool();
            self.snapshot = is_held.then(|| self.database().db.snapshot().unwrap());
        }
    }

    fn database(&self) -> Arc<Database> {
        let open = self.set.core.open_range(self.range).unwrap();
        open.database().unwrap()
    }

    /// Rewrites all files, and waits until the reader reads the new ones.
    async fn compact(&mut self) {
        self.engine.flush().await.unwrap();
        self.engine.detach().await.unwrap();
        let deadline = Instant::now() + Duration::from_secs(20);
        while self.engine.file_layout().files > 1 && Instant::now() < deadline {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// Splits the range into two, writes to both, and merges them again.
    async fn split(&mut self) {
        self.snapshot = None;
        let cut = key_of(self.rng.u32(0..KEYS));
        let below = KeyRange {
            start: Bound::Unbounded,
            end: Bound::Excluded(cut.clone()),
        };
        let above = KeyRange {
            start: Bound::Included(cut.clone()),
            end: Bound::Unbounded,
        };
        let children = [self.new_range(), self.new_range()];
        for (child, range) in children.into_iter().zip([&below, &above]) {
            let source = self.range;
            let part = KeyPart {
                source,
                range: range.clone(),
            };
            self.set.clone_parts(child, &[part]).await.unwrap();
        }
        self.engine.close().await;
        let mut parts = Vec::new();
        for (child, range) in children.into_iter().zip([below, above]) {
            let engine = self.set.open(child).await.unwrap();
            let mut batch = Batch::new();
            for number in (0..KEYS).step_by(self.rng.usize(20..90)) {
                let key = key_of(number);
                if (key < cut) == (range.start == Bound::Unbounded) {
                    batch.put(key, "written to a child".into());
                }
            }
            commit(&*engine, batch).await.unwrap();
            (self.range, self.engine) = (child, engine);
            self.compare().await;
            parts.push(KeyPart {
                source: child,
                range,
            });
        }
        let merged = self.new_range();
        self.set.clone_parts(merged, &parts).await.unwrap();
        self.range = merged;
        self.engine = self.set.open(merged).await.unwrap();
    }

    /// Opens the directory again. A close does not flush, so the rows in memory are replayed.
    async fn restart(&mut self) {
        self.snapshot = None;
        self.set.close().await;
        // The directory is locked for as long as anything uses it, so another engine set takes the place of this one.
        let empty = tempfile::tempdir().unwrap();
        let other = lazy_set(empty.path(), self.seed).await;
        self.engine = other.open(RangeId(1)).await.unwrap();
        drop(std::mem::replace(&mut self.set, other));
        let set = lazy_set(self.directory.path(), self.seed).await;
        self.engine = set.open(self.range).await.unwrap();
        std::mem::replace(&mut self.set, set).close().await;
    }

    /// Compares both readers: the rows of some ranges, single rows, and a pin.
    async fn compare(&mut self) {
        let (database, seed) = (self.database(), self.seed);
        for round in 0..6 {
            let mut bounds = [self.rng.u32(0..KEYS), self.rng.u32(0..KEYS)].map(key_of);
            bounds.sort();
            let [start, end] = bounds;
            let range = match round {
                0 => KeyRange::all(),
                1 => KeyRange {
                    start: Bound::Excluded(start),
                    end: Bound::Included(end),
                },
                2 => KeyRange {
                    start: Bound::Included(start),
                    end: Bound::Unbounded,
                },
                _ => KeyRange::half_open(start, end),
            };
            let hint = match self.rng.bool() {
                true => ScanHint::page(50),
                false => ScanHint::walk(),
            };
            let mut own = database.reader.scan(&range, hint);
            let mut other = scan::start(&database.db, range.clone(), hint)
                .await
                .unwrap();
            let rows_max = self.rng.usize(1..400);
            let rows = all(&mut *own, rows_max).await;
            let other = all(&mut *other, 1_000).await;
            assert!(
                rows == other,
                "seed {seed}, {range:?}: {}",
                first_difference(&rows, &other)
            );
            self.compared += rows.len();
        }
        for _ in 0..300 {
            let mut key = key_of(self.rng.u32(0..KEYS)).to_vec();
            if self.rng.u8(0..4) == 0 {
                key.push(b'?');
            }
            let own = database.reader.get(&key).await.unwrap();
            let other = database.db.get(&key).await.unwrap();
            assert_eq!(own, other, "seed {seed}, {key:?}");
            self.compared += 1;
        }
    }

    /// Pins the range. The pause of the commit loop for a pin has a short deadline, which a busy machine may miss.
    async fn pin(&self) -> Pinned {
        let deadline = Instant::now() + Duration::from_secs(20);
        loop {
            match self.set.pin(&[self.range]).await {
                Err(ChangeError::Late) if Instant::now() < deadline => {}
                pinned => return pinned.unwrap(),
            }
        }
    }

    async fn compare_pin(&mut self) {
        let pinned = self.pin().await;
        let all_rows = rows(&*self.engine, KeyRange::all(), 500).await;
        self.write().await;
        let pin = self
            .set
            .open_pin(self.range, &pinned.pins[0])
            .await
            .unwrap();
        let mut scan = PinnedRows::scan(&*pin, KeyRange::all(), ScanHint::walk())
            .await
            .unwrap();
        let pinned_rows = all(&mut *scan, 333).await;
        assert!(pinned_rows == all_rows, "seed {}, a pin", self.seed);
        self.compared += all_rows.len();
        self.set.unpin(self.range, &pinned.pins[0]).await.unwrap();
    }
}

/// An engine set that does not sync, because the test never cuts the power. Its segments are small, because each start
/// writes some of them. With every second seed, its cache has no room for the filters and indexes of all files.
async fn lazy_set(directory: &Path, seed: u64) -> SlateEngineSet {
    let mut settings = Settings::default();
    if seed % 2 == 1 {
        settings.cache_bytes = 16 << 10;
    }
    let data = Arc::new(DataDir::open(directory).unwrap());
    let disk = Arc::new(FaultyDisk::lazy());
    let options = Options {
        segment_bytes: 1 << 20,
        ..Options::default()
    };
    let wal = LocalStorage::with_disk(data.log_path(), disk, options);
    let home = Home {
        wal: Arc::new(wal),
        ..Home::in_directory(data)
    };
    let set = SlateEngineSet::in_home(home, settings).await;
    set.unwrap()
}

async fn all(scan: &mut dyn Scan, rows_max: usize) -> Vec<(Bytes, Bytes)> {
    let mut all = Vec::new();
    loop {
        let page = scan.next(rows_max, 20_000).await.unwrap();
        assert!(page.len() <= rows_max);
        if page.is_empty() {
            return all;
        }
        all.extend(page);
    }
}

/// The first row that is not the same in two lists.
fn first_difference(own: &[(Bytes, Bytes)], other: &[(Bytes, Bytes)]) -> String {
    let same = own
        .iter()
        .zip(other)
        .take_while(|(own, other)| own == other);
    let place = same.count();
    format!(
        "row {place} is {:?}, SlateDB's is {:?}",
        own.get(place),
        other.get(place)
    )
}

/// Runs a script, and returns the number of compared rows.
async fn run(seed: u64) -> usize {
    let mut world = World::new(seed).await;
    for _ in 0..STAGES {
        world.write().await;
        world.compare().await;
        world.change().await;
        world.compare().await;
    }
    world.compare_pin().await;
    world.set.close().await;
    println!("seed {seed}: {} rows compared", world.compared);
    world.compared
}

#[test]
fn both_readers_return_the_same_rows() {
    let seeds = match std::env::var("READER_SEEDS") {
        Ok(seeds) => {
            let (from, to) = seeds.split_once("..").expect("READER_SEEDS=from..to");
            from.parse().unwrap()..to.parse().unwrap()
        }
        Err(_) => SEEDS,
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_time()
        .build()
        .unwrap();
    let worlds = futures::stream::iter(seeds).map(|seed| Box::pin(run(seed)));
    let compared = worlds.buffer_unordered(WORLDS_AT_ONCE);
    let compared = compared.fold(0, async |sum, compared| sum + compared);
    let compared = runtime.block_on(compared);
    println!("{compared} rows compared");
    assert!(compared > 10_000);
}
