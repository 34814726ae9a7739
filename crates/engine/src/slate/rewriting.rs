//! Rewriting all files of a database into files of its own.
//!
//! It is a compaction that the database's own compactor proposes to itself when asked. Entered from outside, as SlateDB's
//! administration does it, it could be entered between a job of the compactor being timed and entered: jobs must be entered in
//! the order of their times, so the compactor would give up then, and close the database.

use std::sync::Arc;

use parking_lot::Mutex;
use slatedb::VersionedManifest;
use slatedb::compactor::{
    CompactionScheduler, CompactionSchedulerSupplier, CompactionSpec, CompactorStateView,
    SizeTieredCompactionSchedulerSupplier, SourceId,
};
use slatedb::config::CompactorOptions;

/// Whether a database is to be rewritten. Shared with its compactor, which looks once a second.
#[derive(Clone, Default)]
pub(super) struct Rewriting {
    state: Arc<Mutex<State>>,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum State {
    #[default]
    Idle,
    /// The next job is to be a rewrite; where `shared`, only if the database still shares files with others by then.
    Asked { shared: bool },
    /// It was proposed, and has not ended as far as is known.
    UnderWay,
}

impl Rewriting {
    /// Asks for it, unless nothing would come of it or it is under way. Forgotten when the database is closed.
    pub(super) fn ask(&self, manifest: &VersionedManifest) {
        let mut state = self.state.lock();
        if *state == State::Idle && whole(manifest).is_some() {
            // What is seen here may be some seconds old, and a rewrite have just ended.
            let shared = shares(manifest);
            *state = State::Asked { shared };
        }
    }
}

impl CompactionSchedulerSupplier for Rewriting {
    fn compaction_scheduler(
        &self,
        options: &CompactorOptions,
    ) -> Box<dyn CompactionScheduler + Send + Sync> {
        Box::new(Scheduler {
            rewriting: self.clone(),
            usual: SizeTieredCompactionSchedulerSupplier.compaction_scheduler(options),
        })
    }
}

/// Proposes what SlateDB usually does, and a rewrite when asked.
struct Scheduler {
    rewriting: Rewriting,
    usual: Box<dyn CompactionScheduler + Send + Sync>,
}

impl CompactionScheduler for Scheduler {
    fn propose(&self, state: &CompactorStateView) -> Vec<CompactionSpec> {
        let jobs = state.compactions().into_iter();
        let busy = jobs
            .flat_map(|jobs| jobs.recent_compactions())
            .any(|job| job.active());
        let mut rewriting = self.rewriting.state.lock();
        match *rewriting {
            // A file is in one job at a time. No other job begins meanwhile, or the rewrite's turn might never come.
            State::Asked { .. } if busy => return Vec::new(),
            State::Asked { shared } => {
                let manifest = state.manifest();
                let rewrite = whole(manifest).filter(|_| !shared || shares(manifest));
                if let Some(rewrite) = rewrite {
                    *rewriting = State::UnderWay;
                    return vec![rewrite];
                }
                *rewriting = State::Idle;
            }
            State::UnderWay if !busy => *rewriting = State::Idle,
            State::UnderWay | State::Idle => {}
        }
        drop(rewriting);
        self.usual.propose(state)
    }

    fn validate(
        &self,
        state: &CompactorStateView,
        spec: &CompactionSpec,
    ) -> Result<(), slatedb::Error> {
        self.usual.validate(state, spec)
    }
}

/// All files merged into files of its own; `None` for one file, and its own: nothing would come of it but garbage.
fn whole(manifest: &VersionedManifest) -> Option<CompactionSpec> {
    let level0 = manifest.l0().iter().map(|view| SourceId::SstView(view.id));
    let runs = manifest.compacted().iter();
    let lowest = runs.clone().map(|run| run.id).min().unwrap_or_default();
    let sources: Vec<SourceId> = level0
        .chain(runs.map(|run| SourceId::SortedRun(run.id)))
        .collect();
    (shares(manifest) || sources.len() > 1).then(|| CompactionSpec::new(sources, lowest))
}

/// Whether files of other databases are in it. A source stays listed, without files, until no checkpoint from before a rewrite is
/// left.
fn shares(manifest: &VersionedManifest) -> bool {
    let mut sources = manifest.external_dbs().iter();
    sources.any(|source| !source.sst_ids.is_empty())
}
