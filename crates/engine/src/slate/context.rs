//! The state that all databases of a process share, open or closed.

use std::collections::BTreeSet;
use std::sync::Arc;

use parking_lot::Mutex;
use slatedb_common::{DefaultSystemClock, SystemClock};

use super::Settings;
use super::cache::BlockCache;
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
            known: Mutex::default(),
        }
    }
}
