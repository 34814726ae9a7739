//! The garbage collector of a database, which keeps files that are younger than they look.
//!
//! SlateDB deletes unread files that look older than the garbage age. Their age is the store clock's time minus:
//! - for data files, the time in the file name, which is from the store's clock;
//! - for manifests and compaction states, the modification time of the file, which is from the wall clock.
//!
//! If the wall clock is behind the store's clock, all manifests look old at once. But a manifest must not be deleted
//! within seconds: a task that has loaded manifest N looks for N + 1, and if that was deleted, treats N as the newest.
//! And after a step of the clock every file looks older than it is.
//!
//! So [`YoungFiles`] keeps each file of this process until it really has the age:
//! - After a step of either clock nothing is deleted until the age has passed.
//! - Otherwise the wall clock has run evenly, for at least the age or since the start. A file that was modified more
//!   than the age ago is really that old, or older than the process, so nothing in the process has loaded it. A file
//!   with a modification time in the future was written before the wall clock was set back, which is more than the age
//!   ago.
//!
//! Every unread file is deleted in the end, because the store's clock always advances and is never behind the wall
//! clock.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use async_trait::async_trait;
use slatedb::{GarbageCollectorBuilder, GcFilter, ObjectMetadata};

use super::context::Context;
use super::settings;
use super::store_clock::StoreClock;

/// Largest difference for which a modification time in the future can be the skew of a network file system's clock. A
/// file with a later time was written while the wall clock was wrong.
const SKEW_MAX: Duration = Duration::from_secs(24 * 3600);

/// The garbage collector of a database.
pub(super) fn collector(context: &Context, database: String) -> GarbageCollectorBuilder<String> {
    let young_files = YoungFiles {
        clock: Arc::clone(&context.clock),
        age: context.settings.garbage_age,
        data_age: context.settings.data_age(),
    };
    let store = Arc::clone(&context.home.store);
    GarbageCollectorBuilder::new(database, store)
        .with_system_clock(Arc::clone(&context.clock) as _)
        .with_options(settings::garbage_collection(&context.settings))
        .with_gc_filter(Arc::new(young_files))
}

/// Keeps files from deletion that are younger than they look; see the module.
struct YoungFiles {
    clock: Arc<StoreClock>,
    /// The age of manifests and of states of compactions.
    age: Duration,
    /// The age of data files.
    data_age: Duration,
}

impl YoungFiles {
    fn is_old(&self, file: &ObjectMetadata, wall: SystemTime) -> bool {
        let wanted = match file.location.extension() {
            Some("sst") => self.data_age,
            _ => self.age,
        };
        match wall.duration_since(file.last_modified.into()) {
            Ok(age) => age > wanted,
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
