//! The state that all databases of a process share, open or closed.

use std::collections::BTreeSet;
use std::sync::Arc;

use parking_lot::Mutex;
use slatedb::object_store::ObjectStore;
use slatedb_common::{DefaultSystemClock, SystemClock};

use super::Settings;
use super::cache::BlockCache;
use super::checked_store::CheckedStore;
use super::damage::Damage;
use super::home::Home;
use crate::RangeId;

pub(super) struct Context {
    pub(super) home: Home,
    pub(super) settings: Settings,
    pub(super) cache: Arc<BlockCache>,
    /// The clock of all databases, which advances evenly from the start of the process. By default each database has a
    /// separate clock, which starts at the wall time when the database is opened. If the wall clock were set back, the
    /// clock of a clone would be behind that of its source, and the clone would refuse to read.
    pub(super) clock: Arc<dyn SystemClock>,
    /// The damaged files that reads met.
    pub(super) damage: Arc<Damage>,
    /// The ranges that were opened or cloned in this process.
    pub(super) known: Mutex<BTreeSet<RangeId>>,
}

impl Context {
    pub(super) fn new(home: Home, settings: Settings) -> Self {
        Self {
            home,
            cache: Arc::new(BlockCache::new(settings.cache_bytes)),
            settings,
            clock: Arc::new(DefaultSystemClock::new()),
            damage: Arc::default(),
            known: Mutex::default(),
        }
    }

    /// The store as the database of `range` sees it, which notes damaged files.
    pub(super) fn store_of(&self, range: RangeId) -> Arc<dyn ObjectStore> {
        let (store, damage) = (Arc::clone(&self.home.store), Arc::clone(&self.damage));
        Arc::new(CheckedStore::new(store, damage, range))
    }
}
