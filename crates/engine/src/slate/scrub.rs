//! The scrub: reads all files of open databases and of the WAL (in the folder `log`), except for the WAL's current
//! segment. So damage is found before a client or a start needs the rows.
//!
//! It verifies the same checksums as the check of a closed store ([`super::verify`]), and does not use the block cache.
//! A damaged file is added to the same list as one that a client's read finds ([`super::damage`]), so that status and
//! log name it. A damaged file of the WAL is in the result only: its rows are in memory too, and no read fails.

use std::collections::HashMap;
use std::sync::Arc;

use slatedb::PathResolver;
use slatedb::object_store::path::Path;

use super::admin;
use super::checked_store::Unreadable;
use super::core::Core;
use super::damage::version_of;
use super::damage_watch;
use super::names::database_path;
use super::newest_manifest::newest_manifest;
use super::verify::data_file::{self, FileState};
use crate::{LogFault, Meter, RangeId, ScrubPass};

/// Reads all files of the databases that are open, and of the WAL. Cancel safe.
pub(super) async fn run(core: Arc<Core>, meter: Arc<dyn Meter>) -> ScrubPass {
    let mut scrub = Scrub {
        core,
        meter,
        problems: HashMap::new(),
        pass: ScrubPass::default(),
    };
    let ranges: Vec<RangeId> = scrub.core.open_ranges().iter().map(|it| it.range).collect();
    for range in ranges {
        scrub.manifest(range).await;
        scrub.data_files(range).await;
    }
    scrub.log().await;
    scrub.pass
}

struct Scrub {
    core: Arc<Core>,
    meter: Arc<dyn Meter>,
    /// For each data file that was read, what is wrong with it, if anything. Ranges share files after a split; each is
    /// read once.
    problems: HashMap<Path, Option<String>>,
    pass: ScrubPass,
}

impl Scrub {
    /// Verifies the stored manifest: the database works with a copy in memory, but could not be opened again without
    /// the stored one.
    async fn manifest(&mut self, range: RangeId) {
        let context = &self.core.context;
        let (store, clock) = (&context.home.store, admin::clock(&self.core));
        let found = newest_manifest(store, &clock, &database_path(range)).await;
        self.pass.files += 1;
        context.damage.clear_manifests(range);
        let Err(error) = found else { return };
        // Only errors that name a damaged file count; other failures may be temporary.
        let Some(Unreadable { file, problem }) = Unreadable::find(&error) else {
            return;
        };
        self.pass.damaged += 1;
        let path = Path::from(file.strip_prefix("store/").unwrap_or(file));
        let version = version_of(&**store, &path).await;
        context.damage.note(range, &path, problem.clone(), version);
    }

    /// Verifies the head of the WAL and its full segments, but not the current segment, which is being written.
    async fn log(&mut self) {
        let Some(wal) = self.core.wal() else { return };
        let mut last = None;
        while let Some(file) = wal.wal.verify_next(last).await {
            last = Some(file.number);
            self.meter.read(file.bytes).await;
            self.pass.files += 1;
            if let Some(problem) = file.problem {
                let file = format!("log/{}", file.name);
                self.pass.log.push(LogFault { file, problem });
            }
        }
    }

    async fn data_files(&mut self, range: RangeId) {
        let database = self.core.open_range(range).and_then(|open| open.database());
        let Some(manifest) = database.map(|database| database.db.manifest()) else {
            return;
        };
        let paths = PathResolver::new(database_path(range), &manifest);
        for view in manifest.all_sst_views() {
            let path = paths.sst_path(&view.sst.id);
            if !self.problems.contains_key(&path) {
                let store = &self.core.context.home.store;
                let state = data_file::verify(store, &path, view, &*self.meter).await;
                self.pass.files += 1;
                let problem = match state {
                    FileState::Sound | FileState::Unread(_) => None,
                    FileState::Missing => Some("it is missing".to_owned()),
                    FileState::Damaged(problem) => Some(problem),
                };
                self.problems.insert(path.clone(), problem);
            }
            if let Some(Some(problem)) = self.problems.get(&path).cloned() {
                self.note(range, &path, problem).await;
            }
        }
    }

    /// Adds a damaged file to the list, unless the range no longer reads it.
    async fn note(&mut self, range: RangeId, path: &Path, problem: String) {
        let database = self.core.open_range(range).and_then(|open| open.database());
        if database.is_some_and(|database| damage_watch::reads(&database, path)) {
            self.pass.damaged += 1;
            let context = &self.core.context;
            let version = version_of(&*context.home.store, path).await;
            context.damage.note(range, path, problem, version);
        }
    }
}
