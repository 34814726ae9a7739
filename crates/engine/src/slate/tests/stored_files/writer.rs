//! Writes a directory with every kind of data file, the same rows each time.

use super::*;
use crate::Batch;
use crate::slate::database::Database;
use crate::slate::settings::COMPACTION_SOURCES_MIN;

/// The first key of range 3, and the end of range 2: within a block of each file.
const CUT: &str = "many/0605";

/// A value that can be compressed.
fn text(number: u32, bytes: usize) -> Vec<u8> {
    let words = format!("value of row {number}, ").into_bytes();
    words.into_iter().cycle().take(bytes).collect()
}

/// A value that cannot be compressed.
fn noise(number: u32, bytes: usize) -> Vec<u8> {
    let words = (0..).flat_map(|place: u32| {
        let bytes = [number.to_be_bytes(), place.to_be_bytes()].concat();
        crc32fast::hash(&bytes).to_be_bytes()
    });
    words.take(bytes).collect()
}

fn many(number: u32) -> String {
    format!("many/{number:04}")
}

/// A key with a long prefix, which is longer than a length of one byte.
fn long(number: u32) -> String {
    format!("long/{}/{number:02}", "p".repeat(200))
}

type Change = (String, Option<Vec<u8>>);

struct Writer {
    set: SlateEngineSet,
    engines: BTreeMap<RangeId, Arc<dyn Engine>>,
    expected: ExpectedRows,
}

impl Writer {
    async fn open(&mut self, range: RangeId) {
        let engine = self.set.open(range).await.unwrap();
        self.engines.insert(range, engine);
    }

    fn database(&self, range: RangeId) -> Arc<Database> {
        let open = self.set.core.open_range(range).unwrap();
        open.database().unwrap()
    }

    /// Writes one batch: a value for each key, or a deletion.
    async fn write(&mut self, range: RangeId, changes: impl IntoIterator<Item = Change>) {
        let mut batch = Batch::new();
        let rows = self.expected.of_mut(range);
        for (key, value) in changes {
            let key = Bytes::from(key);
            rows.insert(key.clone(), value.as_deref().map(Digest::of));
            match value {
                Some(value) => batch.put(key, value.into()),
                None => batch.delete(key),
            }
        }
        commit(&*self.engines[&range], batch).await.unwrap();
    }

    /// Writes the rows in memory to a file of level 0.
    async fn flush(&self, range: RangeId) {
        self.engines[&range].flush().await.unwrap();
    }

    /// Waits until a compaction has emptied level 0 and the database has this many sorted runs.
    async fn wait_for_runs(&self, range: RangeId, count: usize) {
        let deadline = Instant::now() + Duration::from_secs(20);
        loop {
            let manifest = self.database(range).db.manifest();
            if manifest.l0().is_empty() && manifest.compacted().len() == count {
                return;
            }
            assert!(Instant::now() < deadline, "{count} runs");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    async fn clone_parts(&mut self, target: RangeId, parts: &[KeyPart]) {
        self.set.clone_parts(target, parts).await.unwrap();
        for part in parts {
            let bounds = (part.range.start.clone(), part.range.end.clone());
            let rows = self.expected.of(part.source).range(bounds);
            let rows: Vec<_> = rows.map(|(key, row)| (key.clone(), *row)).collect();
            self.expected.of_mut(target).extend(rows);
        }
        self.open(target).await;
    }

    /// The older run: several blocks, a filter, large rows, long keys, versions of a row, and deletions.
    async fn write_first_run(&mut self, range: RangeId) {
        let rows = (0..1_200).map(|n| (many(n), Some(text(n, 20 + n as usize % 100))));
        self.write(range, rows).await;
        let rows = (0..40).map(|n| (long(n), Some(text(n, 400))));
        self.write(range, rows).await;
        let rows = (0..12).map(|n| (format!("über/{n:02}"), Some(text(n, 10))));
        self.write(range, rows).await;
        let rows = [
            ("large/compressed", text(1, 40_000)),
            ("large/noise", noise(2, 17_000)),
            ("empty", vec![]),
            ("versions/run", text(3, 9_000)),
        ];
        let rows = rows.map(|(key, value)| (key.to_owned(), Some(value)));
        self.write(range, rows).await;
        self.flush(range).await;
        for version in 4..6 {
            let row = ("versions/run".to_owned(), Some(text(version, 9_000)));
            self.write(range, [row]).await;
        }
        let numbers = (0..1_200).step_by(5);
        self.write(range, numbers.map(|n| (many(n), Some(text(n + 1, 30)))))
            .await;
        let numbers = (0..1_200).step_by(70);
        self.write(range, numbers.map(|n| (many(n), None))).await;
        self.flush(range).await;
        self.engines[&range].detach().await.unwrap();
        self.wait_for_runs(range, 1).await;
    }

    /// The newer run, of so many small files of level 0 that the usual compaction merges them. Some files have the rows of
    /// earlier ones, because a compaction took only eight files when the stored directories were written.
    async fn write_second_run(&mut self, range: RangeId) {
        for file in (0..8).cycle().take(COMPACTION_SOURCES_MIN) {
            let numbers = (file * 140..file * 140 + 60).step_by(3);
            self.write(range, numbers.map(|n| (many(n), Some(noise(n, 40)))))
                .await;
            let rows = [
                (format!("once/{file}"), Some(text(file, 50))),
                (long(file * 3), Some(text(file, 20))),
                (many(file * 150 + 1), None),
            ];
            self.write(range, rows).await;
            self.flush(range).await;
        }
        self.wait_for_runs(range, 2).await;
    }

    /// A file of level 0 with a filter, because it has more than 1,000 keys.
    async fn write_file_with_filter(&mut self, range: RangeId) {
        let rows = (0..600).map(|n| (format!("more/{n:03}"), Some(text(n, n as usize % 30))));
        self.write(range, rows).await;
        let numbers = (1..1_200).step_by(2);
        self.write(range, numbers.map(|n| (many(n), Some(text(n + 2, 15)))))
            .await;
        self.flush(range).await;
    }

    /// A file of level 0 without a filter: versions of a row in several blocks, deletions, and a large row.
    async fn write_file_without_filter(&mut self, range: RangeId) {
        for version in 6..10 {
            let rows = [
                ("versions/level-0".to_owned(), Some(text(version, 6_000))),
                ("versions/run".to_owned(), Some(noise(version, 100))),
            ];
            self.write(range, rows).await;
        }
        let numbers = (50..1_200).step_by(50);
        self.write(range, numbers.map(|n| (many(n), None))).await;
        let rows = [
            ("large/level-0".to_owned(), Some(text(10, 50_000))),
            ("more/100".to_owned(), None),
            (long(6), None),
        ];
        self.write(range, rows).await;
        self.flush(range).await;
    }

    /// Splits range 1 into 2 and 3, and merges these into 4.
    async fn split_and_merge(&mut self) {
        let cut = Bytes::from(CUT);
        let below = KeyRange {
            start: Bound::Unbounded,
            end: Bound::Excluded(cut.clone()),
        };
        let above = KeyRange {
            start: Bound::Included(cut),
            end: Bound::Unbounded,
        };
        let part = |source, range: &KeyRange| KeyPart {
            source: RangeId(source),
            range: range.clone(),
        };
        self.clone_parts(RangeId(2), &[part(1, &below)]).await;
        self.clone_parts(RangeId(3), &[part(1, &above)]).await;
        let rows = (100..130).map(|n| (many(n), (n % 4 > 0).then(|| text(n + 3, 25))));
        self.write(RangeId(2), rows).await;
        self.flush(RangeId(2)).await;
        let parts = [part(2, &below), part(3, &above)];
        self.clone_parts(RangeId(4), &parts).await;
    }

    /// Rows that are not flushed.
    async fn write_log(&mut self) {
        for range in RANGES {
            let first = if range == RangeId(3) { 700 } else { 200 };
            let numbers = first..first + 12;
            let value = |n| (n % 3 > 0).then(|| text(n + range.0 as u32, 35));
            let rows = numbers.map(|n| (many(n), value(n)));
            self.write(range, rows).await;
        }
    }
}

/// Writes the directory, and returns its rows.
pub(super) async fn write(directory: &Path) -> ExpectedRows {
    let mut writer = Writer {
        set: set_of(directory, Reads::default()).await,
        engines: BTreeMap::new(),
        expected: ExpectedRows::default(),
    };
    let range = RangeId(1);
    writer.open(range).await;
    // As long as a snapshot can be read, flushes and compactions keep the versions of rows that are newer than it.
    let row = ("first".to_owned(), Some(text(0, 5)));
    writer.write(range, [row]).await;
    let snapshot = writer.database(range).db.snapshot().unwrap();
    writer.write_first_run(range).await;
    writer.write_second_run(range).await;
    writer.write_file_with_filter(range).await;
    writer.write_file_without_filter(range).await;
    drop(snapshot);
    writer.split_and_merge().await;
    writer.write_log().await;
    writer.set.close().await;
    writer.expected
}
