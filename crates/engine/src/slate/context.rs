//! The state that all databases of a process share, open or closed.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use partita_rt::store_layer::Layered;
use slatedb::object_store::ObjectStore;

use super::Settings;
use super::cache::BlockCache;
use super::checked_store::CheckedStore;
use super::compared::ComparisonCounts;
use super::damage::Damage;
use super::data_files::{CountedFiles, DataFiles};
use super::disk_cache::CachedFiles;
use super::home::Home;
use super::manifest_store::ManifestStore;
use super::polls::{OwnWrites, PolledStore, Polls};
use super::read::{Files, KeptFiles, ReadCache};
use super::settings::Reads;
use super::space::SpaceCounts;
use super::store_clock::StoreClock;
use crate::RangeId;

/// The bytes of the cache that compactions use.
const COMPACTION_CACHE_BYTES: u64 = 8 << 20;

pub(super) struct Context {
    pub(super) home: Home,
    pub(super) settings: Settings,
    /// The cache of SlateDB's reads. Small when only Partita's reader reads: then only compactions use it.
    pub(super) cache: Arc<BlockCache>,
    /// The cache of Partita's reader.
    pub(super) read_cache: Arc<ReadCache>,
    /// The files that Partita's reader reads.
    pub(super) files: Arc<Files>,
    /// The clock of all databases. With a separate clock for each, the clock of a clone could be behind that of its
    /// source.
    pub(super) clock: Arc<StoreClock>,
    /// The sizes of all data files.
    pub(super) data_files: Arc<DataFiles>,
    /// The damaged files that reads and scrubs found.
    pub(super) damage: Arc<Damage>,
    /// The number of compactions that were requested to return space.
    pub(super) space_counts: SpaceCounts,
    /// The number of reads that both readers answered.
    pub(super) comparisons: ComparisonCounts,
    /// What open databases need not ask the store for.
    pub(super) polls: Arc<Polls>,
    /// The ranges that were opened or cloned in this process, and not handed over to another one.
    pub(super) known: Mutex<BTreeSet<RangeId>>,
}

impl Context {
    pub(super) fn new(mut home: Home, settings: Settings) -> Self {
        let (own, slatedb) = match settings.reads {
            Reads::Own => {
                let compactions = COMPACTION_CACHE_BYTES.min(settings.cache_bytes / 4);
                (settings.cache_bytes - compactions, compactions)
            }
            Reads::SlateDb => (0, settings.cache_bytes),
            Reads::Compared => (settings.cache_bytes / 2, settings.cache_bytes / 2),
        };
        let read_cache = Arc::new(ReadCache::new(own));
        let files = Arc::new(Files::new(Arc::clone(&read_cache)));
        let data_files = Arc::new(match home.shared() {
            Some(_) => DataFiles::in_shared_store(),
            None => DataFiles::default(),
        });
        if let Some(cache) = &home.disk_cache {
            home.store = Arc::new(Layered(CachedFiles::new(home.store, Arc::clone(cache))));
        }
        let counted = CountedFiles::new(home.store, Arc::clone(&data_files));
        home.store = Arc::new(Layered(counted));
        home.store = Arc::new(Layered(ManifestStore::new(home.store)));
        let polls = Arc::new(Polls::new(Arc::clone(&home.clock)));
        home.store = Arc::new(Layered(OwnWrites::new(home.store, Arc::clone(&polls))));
        home.store = Arc::new(Layered(KeptFiles::new(home.store, Arc::clone(&files))));
        Self {
            clock: Arc::new(StoreClock::new(Arc::clone(&home.clock))),
            damage: Arc::new(Damage::new(Arc::clone(&home.clock))),
            home,
            space_counts: SpaceCounts::default(),
            comparisons: ComparisonCounts::default(),
            cache: Arc::new(BlockCache::new(slatedb)),
            read_cache,
            files,
            data_files,
            settings,
            polls,
            known: Mutex::default(),
        }
    }

    /// The store of the database of `range`. It records damaged files in `damage`.
    pub(super) fn store_of(&self, range: RangeId) -> Arc<dyn ObjectStore> {
        let (store, damage) = (Arc::clone(&self.home.store), Arc::clone(&self.damage));
        Arc::new(Layered(CheckedStore::new(store, damage, range)))
    }

    /// The store for the database of `range` while it is open. Where another process may open it at any moment, each look for
    /// a manifest reads the store.
    pub(super) fn store_of_open(&self, range: RangeId) -> Arc<dyn ObjectStore> {
        let age = match self.home.is_exclusive() {
            true => self.settings.foreign_age(),
            false => Duration::ZERO,
        };
        self.polled_store(range, age)
    }

    /// The store for the compactor of an open database. Looks of the database itself count as its own.
    pub(super) fn store_of_compactor(&self, range: RangeId) -> Arc<dyn ObjectStore> {
        self.polled_store(range, self.settings.foreign_age())
    }

    fn polled_store(&self, range: RangeId, manifest_age: Duration) -> Arc<dyn ObjectStore> {
        Arc::new(Layered(PolledStore {
            store: self.store_of(range),
            polls: Arc::clone(&self.polls),
            manifest_age,
            compactions_age: self.settings.foreign_age(),
        }))
    }
}
