//! Each stored data file, damaged in each of its parts: a read that needs the damaged part is an error that names the
//! file, and all other reads return the right rows. `../damage.rs` tests what the engine does about a damaged file.

use std::collections::BTreeSet;

use slatedb::object_store::ObjectStoreExt;

use super::store::{Store, StoredFile, StoredRange};
use super::*;
use crate::NoMeter;
use crate::slate::checked_store::Unreadable;
use crate::slate::context::Context;
use crate::slate::damage::path_in_directory;
use crate::slate::read::Reader;
use crate::slate::verify::data_file::{self, FileState};

/// Bytes at the end of a file: the place of the metadata (u64) and the version of the format (u16).
const FOOTER_BYTES: usize = 10;

/// A get is tried of one in so many keys, and of all keys of a damaged block.
const ONE_KEY_OF: usize = 23;

/// What is done to a file.
#[derive(Debug, Clone, Copy)]
enum Change {
    /// Only this many bytes are left.
    Cut(usize),
    /// A byte is added at the end.
    Append,
    /// One bit of the byte at this place is flipped.
    Flip(usize),
    /// The version of the format is replaced.
    Version(u16),
}

impl Change {
    fn apply(self, content: &[u8]) -> Vec<u8> {
        let mut content = content.to_vec();
        match self {
            Self::Cut(bytes) => content.truncate(bytes),
            Self::Append => content.push(0),
            Self::Flip(place) => content[place] ^= 0x10,
            Self::Version(version) => {
                let place = content.len() - 2;
                content[place..].copy_from_slice(&version.to_be_bytes());
            }
        }
        content
    }
}

/// What cannot be read after a change.
#[derive(Debug, Clone, Copy)]
enum Lost {
    /// The whole file.
    File,
    /// The filter, which gets use.
    Filter,
    /// The index. A get whose key is not in the file may be answered by the filter.
    Index,
    /// A block.
    Block(usize),
    /// Nothing: reads do not use this part of the file.
    Nothing,
}

/// Where the parts after the blocks begin.
struct Places {
    /// `None` if the file has no filter.
    filter: Option<usize>,
    index: usize,
    statistics: usize,
    metadata: usize,
    footer: usize,
    end: usize,
}

fn place(offset: u64) -> usize {
    usize::try_from(offset).unwrap()
}

impl Places {
    fn of(file: &StoredFile, bytes: usize) -> Self {
        let info = &file.info;
        let places = Self {
            filter: (info.filter_len > 0).then(|| place(info.filter_offset)),
            index: place(info.index_offset),
            statistics: place(info.stats_offset),
            metadata: place(info.stats_offset + info.stats_len),
            footer: bytes - FOOTER_BYTES,
            end: bytes,
        };
        let (index, statistics) = (places.index, places.statistics);
        assert!(index < statistics && statistics < places.metadata);
        assert!(places.metadata < places.footer);
        places
    }

    /// Other lengths of the file. The last bytes are read before any row, so not even a shorter end goes unnoticed.
    fn lengths(&self) -> Vec<(&'static str, Change)> {
        let mut cuts = vec![
            ("empty", 0),
            ("cut to less than a footer", 5),
            ("cut in half", self.end / 2),
            ("cut in the index", self.index + 5),
            ("cut in the statistics", self.statistics + 1),
            ("cut in the metadata", self.metadata + 1),
            ("cut before the footer", self.footer),
            ("cut in the footer", self.footer + 4),
            ("one byte short", self.end - 1),
        ];
        let filter = self.filter.map(|filter| ("cut in the filter", filter + 3));
        cuts.extend(filter);
        let cuts = cuts.into_iter();
        let cuts = cuts.map(|(title, bytes)| (title, Change::Cut(bytes)));
        cuts.chain([("one byte long", Change::Append)]).collect()
    }

    /// Bits in the filter and in the index.
    fn metadata_bits(&self) -> Vec<(&'static str, Change, Lost)> {
        let flip = |title, at, lost| (title, Change::Flip(at), lost);
        let mut bits = vec![
            flip("a bit of the index", self.index + 9, Lost::Index),
            flip(
                "a bit of the checksum of the index",
                self.statistics - 1,
                Lost::Index,
            ),
        ];
        if let Some(filter) = self.filter {
            bits.push(flip(
                "a bit of the name of the filter",
                filter + 5,
                Lost::Filter,
            ));
            bits.push(flip("a bit of the filter", self.index - 9, Lost::Filter));
        }
        bits
    }

    /// Bits in the parts that no read needs: the manifest has a copy of the metadata.
    fn other_bits(&self) -> [(&'static str, Change); 3] {
        [
            ("a bit of the statistics", self.statistics),
            ("a bit of the metadata", self.metadata + 2),
            ("a bit of the place of the metadata", self.footer + 7),
        ]
        .map(|(title, at)| (title, Change::Flip(at)))
    }
}

/// Bits in the first, a middle and the last block, and in their checksums.
fn block_bits(file: &StoredFile) -> Vec<(&'static str, Change, Lost)> {
    let last = file.blocks.len() - 1;
    let blocks = BTreeSet::from([0, last / 2, last]).into_iter();
    let bits = blocks.flat_map(|number| {
        let block = &file.blocks[number].bytes;
        let (start, end) = (place(block.start), place(block.end));
        let flip = |title, at| (title, Change::Flip(at), Lost::Block(number));
        [
            flip("a bit of a block", start.midpoint(end)),
            flip("a bit of the checksum of a block", end - 2),
        ]
    });
    bits.collect()
}

/// All changes of a file of `bytes` bytes, and what cannot be read after each.
fn changes(file: &StoredFile, bytes: usize) -> Vec<(&'static str, Change, Lost)> {
    let places = Places::of(file, bytes);
    // SlateDB 0.18 reads version 1, too, but does not write it.
    let versions = [1, 3, 258].map(|version| ("another version", Change::Version(version)));
    let of_file = places.lengths().into_iter();
    let of_file = of_file.chain(versions);
    let of_file = of_file.map(|(title, change)| (title, change, Lost::File));
    let other = places.other_bits().into_iter();
    let other = other.map(|(title, change)| (title, change, Lost::Nothing));
    let metadata = places.metadata_bits();
    let changes = of_file.chain(other).chain(metadata);
    changes.chain(block_bits(file)).collect()
}

/// Whether a read needs what is lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Needs {
    No,
    /// Depends on the filter, or on whether the search for the row begins one block earlier.
    Maybe,
    Yes,
}

/// A damaged file.
struct Damaged<'s> {
    store: &'s Store,
    file: &'s StoredFile,
    lost: Lost,
}

impl Damaged<'_> {
    fn is_in_lost_block(&self, key: &Bytes) -> bool {
        let block = self.file.block_of.get(key);
        matches!((self.lost, block), (Lost::Block(lost), Some(block)) if lost == *block)
    }

    /// Whether a get of a key needs what is lost.
    fn is_needed_by_get(&self, range: &StoredRange, key: &Bytes) -> Needs {
        let mut needs = Needs::No;
        for run in &range.runs {
            let Some(part) = run.iter().find(|part| part.contains(key)) else {
                continue;
            };
            let file = &self.store.files[&part.path];
            let found = file.block_of.get(key).copied();
            if file.path == self.file.path {
                let of_file = match (self.lost, found) {
                    (Lost::File | Lost::Filter, _) | (Lost::Index, Some(_)) => Needs::Yes,
                    (Lost::Index, None) => Needs::Maybe,
                    (Lost::Nothing, _) => Needs::No,
                    (Lost::Block(lost), Some(block)) if lost == block => Needs::Yes,
                    (Lost::Block(lost), Some(block)) if lost + 1 == block => Needs::Maybe,
                    (Lost::Block(_), Some(_)) => Needs::No,
                    (Lost::Block(_), None) => Needs::Maybe,
                };
                if of_file == Needs::Yes {
                    return Needs::Yes;
                }
                if of_file == Needs::Maybe {
                    needs = Needs::Maybe;
                }
            }
            if found.is_some() {
                return needs;
            }
        }
        needs
    }

    /// Whether a scan of all rows needs what is lost.
    fn is_needed_by_scan(&self, range: &StoredRange) -> Needs {
        let parts = range.runs.iter().flatten();
        let mut parts = parts.filter(|part| part.path == self.file.path).peekable();
        if parts.peek().is_none() {
            return Needs::No;
        }
        match self.lost {
            Lost::Nothing | Lost::Filter => Needs::No,
            Lost::File | Lost::Index => Needs::Yes,
            Lost::Block(lost) => {
                let rows = &self.file.blocks[lost].rows;
                let is_visible = parts.any(|part| rows.iter().any(|row| part.contains(&row.key)));
                if is_visible { Needs::Yes } else { Needs::Maybe }
            }
        }
    }

    /// Checks the result of a read. Returns whether the read failed.
    fn check<T: PartialEq + std::fmt::Debug>(
        &self,
        needs: Needs,
        read: Result<T, ReadError>,
        wanted: &T,
    ) -> bool {
        match read {
            Ok(found) => {
                assert!(needs != Needs::Yes, "a read that needs it succeeded");
                assert!(found == *wanted, "a read returned other rows");
                false
            }
            Err(error) => {
                assert!(
                    needs != Needs::No,
                    "a read that does not need it: {error:?}"
                );
                let ReadError::Corrupt(cause) = &error else {
                    panic!("not an error of stored data: {error:?}");
                };
                let named = Unreadable::find(&**cause);
                let named = named.unwrap_or_else(|| panic!("no file in {error:?}"));
                assert_eq!(named.file, path_in_directory(&self.file.path));
                true
            }
        }
    }

    /// Checks all reads of a range. Returns whether one failed.
    async fn check_range(&self, context: &Context, id: RangeId, range: &StoredRange) -> bool {
        let rows = &range.rows;
        let reader = Reader::of_manifest(context, id, &range.manifest);
        let mut has_failed = false;
        for (place, (key, value)) in rows.iter().enumerate() {
            if place % ONE_KEY_OF != 0 && !self.is_in_lost_block(key) {
                continue;
            }
            let needs = self.is_needed_by_get(range, key);
            has_failed |= self.check(needs, reader.get(key).await, value);
        }
        let live = rows.iter();
        let live = live.filter_map(|(key, value)| Some((key.clone(), value.clone()?)));
        let live: Vec<(Bytes, Bytes)> = live.collect();
        let needs = self.is_needed_by_scan(range);
        for hint in [ScanHint::page(100), ScanHint::walk()] {
            let mut scan = reader.scan(&KeyRange::all(), hint);
            let read = self.check_scan(&mut *scan, &live).await;
            has_failed |= self.check(needs, read, &live.len());
        }
        // The rows before and after those of the file.
        let (first, _) = self.file.block_of.first_key_value().unwrap();
        let (last, _) = self.file.block_of.last_key_value().unwrap();
        let after = Bytes::from([&last[..], b"\0"].concat());
        let below = live.partition_point(|(key, _)| key < first);
        let above = live.partition_point(|(key, _)| *key < after);
        let before = (Bound::Unbounded, Bound::Excluded(first.clone()));
        let after = (Bound::Included(after), Bound::Unbounded);
        for ((start, end), others) in [(before, &live[..below]), (after, &live[above..])] {
            let mut scan = reader.scan(&KeyRange { start, end }, ScanHint::page(100));
            let read = self.check_scan(&mut *scan, others).await;
            self.check(Needs::No, read, &others.len());
        }
        has_failed
    }

    /// Reads to the end, and returns the number of rows. All rows before the end or an error must be `wanted`.
    async fn check_scan(
        &self,
        scan: &mut dyn crate::Scan,
        wanted: &[(Bytes, Bytes)],
    ) -> Result<usize, ReadError> {
        let mut count = 0;
        loop {
            let page = scan.next(100, usize::MAX).await?;
            if page.is_empty() {
                return Ok(count);
            }
            for row in page {
                assert!(wanted.get(count) == Some(&row), "row {count} is {row:?}");
                count += 1;
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn damage_of_any_part_of_a_file_is_an_error_that_names_it() {
    for name in ARCHIVES {
        let directory = unpacked(name);
        let store = Store::open(directory.path()).await;
        for file in store.files.values() {
            let path = directory.path().join(path_in_directory(&file.path));
            let whole = std::fs::read(&path).unwrap();
            for (title, change, lost) in changes(file, whole.len()) {
                println!("{name}, {}: {title}, {change:?}", file.path);
                std::fs::write(&path, change.apply(&whole)).unwrap();
                // Without a cache of what was read before the change.
                let context = Context::new(store.home.clone(), Settings::default());
                // Closes the open file, whose length was another one.
                context.home.store.head(&file.path).await.unwrap();
                let damaged = Damaged {
                    store: &store,
                    file,
                    lost,
                };
                let mut failed = BTreeSet::new();
                for (id, range) in &store.ranges {
                    if damaged.check_range(&context, *id, range).await {
                        failed.insert((*id, path_in_directory(&file.path)));
                    }
                }
                let listed = context.damage.list(|_| false);
                let listed = listed.into_iter().map(|it| (it.range, it.file));
                assert_eq!(listed.collect::<BTreeSet<_>>(), failed, "the list");
                assert_eq!(failed.is_empty(), matches!(lost, Lost::Nothing));
                // The scrub and the check of a backup also find what no read needs.
                let objects = &context.home.store;
                let state = data_file::verify(objects, &file.path, &file.view, &NoMeter).await;
                assert!(matches!(state, FileState::Damaged(_)), "{state:?}");
            }
            std::fs::write(&path, whole).unwrap();
        }
    }
}
