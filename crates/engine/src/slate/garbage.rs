//! Garbage collection: removes the unread files of a database, on request and in the background.
//!
//! SlateDB compares times of the store's clock with two other times, and deletes what looks older than the garbage age:
//! - Data files by the time in their names, which is of the store's clock.
//! - Manifests and compaction states by the modification time of the file, which is of the wall clock.
//!
//! If the wall clock is behind, all manifests look old at once. That must not delete a manifest of the last seconds: a
//! task of the database that has loaded the one before it probes for the next number, finds none, and takes the one
//! that it has for the newest. And after a step of the clock every file looks older than it is.
//!
//! So [`YoungFiles`] keeps each file of this process until it really has the age:
//! - After a step of either clock nothing is deleted until the age has passed.
//! - Otherwise the wall clock has run evenly, for at least the age or since the start. A file that was modified more
//!   than the age ago is as old as it looks, or older than the process: nothing in the process has loaded it. A file of
//!   the future was written before the wall clock was set back, which is that long ago too.
//!
//! SlateDB selects every unread file in the end: the store's clock runs on, and is not before the wall clock.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use async_trait::async_trait;
use futures::TryStreamExt;
use slatedb::object_store::path::Path;
use slatedb::{GarbageCollectorBuilder, GcFilter, ObjectMetadata};

use super::context::Context;
use super::core::Core;
use super::database::{Database, database_path};
use super::store_clock::StoreClock;
use super::{file_layout, settings, store_error};
use crate::{ChangeError, Collected, RangeId};

/// The clock of a file system in the network may be ahead of ours by less than this. A file further in the future was
/// written under a wrong clock.
const SKEW_MAX: Duration = Duration::from_secs(24 * 3600);

/// The garbage collector of a database.
pub(super) fn collector(context: &Context, range: RangeId) -> GarbageCollectorBuilder<String> {
    let age = context.settings.garbage_age;
    let young_files = YoungFiles {
        clock: Arc::clone(&context.clock),
        age,
    };
    let store = Arc::clone(&context.home.store);
    GarbageCollectorBuilder::new(database_path(range), store)
        .with_system_clock(Arc::clone(&context.clock) as _)
        .with_options(settings::garbage_collection(age))
        .with_gc_filter(Arc::new(young_files))
}

/// Keeps files from deletion that are younger than they look; see the module.
struct YoungFiles {
    clock: Arc<StoreClock>,
    age: Duration,
}

impl YoungFiles {
    fn is_old(&self, file: &ObjectMetadata, wall: SystemTime) -> bool {
        match wall.duration_since(file.last_modified.into()) {
            Ok(age) => age > self.age,
            Err(ahead) => ahead.duration() > SKEW_MAX,
        }
    }
}

#[async_trait]
impl GcFilter for YoungFiles {
    async fn filter(&self, mut candidates: HashSet<ObjectMetadata>) -> HashSet<ObjectMetadata> {
        if !self.clock.has_run_evenly_for(self.age) {
            return HashSet::new();
        }
        let wall = self.clock.wall();
        candidates.retain(|file| self.is_old(file, wall));
        candidates
    }
}

/// Runs one pass of the database's garbage collection, which also detaches it from sources it no longer reads, and
/// checks for garbage that no pass will remove before the next flush.
pub(super) async fn collect(core: &Core, database: &Database) -> Result<Collected, ChangeError> {
    let collector = collector(&core.context, database.range).build();
    collector.run_gc_once().await;
    let manifest = database.db.manifest();
    let flushed = file_layout::newest_flushed(&manifest);
    let used: HashSet<String> = manifest
        .all_sst_views()
        .map(|view| view.sst.id.value().to_string())
        .collect();
    let folder = Path::from(database_path(database.range)).join("compacted");
    let mut files = core.context.home.store.list(Some(&folder));
    while let Some(file) = files.try_next().await.map_err(store_error)? {
        let name = file.location.filename().unwrap_or_default();
        let name = name.strip_suffix(".sst").unwrap_or(name);
        if flushed.as_deref().is_none_or(|flushed| name > flushed) && !used.contains(name) {
            return Ok(Collected::UntilFlush);
        }
    }
    Ok(Collected::All)
}
