//! Detaching: a full compaction of a database, so that it reads no files of its sources.
//!
//! The database's own compactor proposes the compaction to itself on request. SlateDB's administration would submit it from outside, where
//! it can fall between a job of the compactor being timed and being entered. Jobs must be entered in the order of their times, so the
//! compactor would then give up and close the database.
//!
//! A large database is compacted in two jobs, level 0 first and then the sorted runs. Files leave level 0 in the order of their age, so a
//! job that includes some of it keeps all newer ones waiting. A job over gigabytes takes minutes, in which level 0 would fill up and
//! writes be refused. So level 0 is compacted beside the runs.

use std::sync::Arc;

use parking_lot::Mutex;
use slatedb::VersionedManifest;
use slatedb::compactor::{
    CompactionScheduler, CompactionSchedulerSupplier, CompactionSpec, CompactorStateView,
    SizeTieredCompactionSchedulerSupplier, SourceId,
};
use slatedb::config::CompactorOptions;

/// How many files of level 0 are worth a job while other jobs run, as in SlateDB's own policy.
const LEVEL0_COUNT_MIN: usize = 4;

/// Whether a database is to be detached. Shared with its compactor, which looks once a second.
#[derive(Clone)]
pub(super) struct DetachRequest {
    state: Arc<Mutex<State>>,
    at_once_bytes: u64,
}

impl DetachRequest {
    /// For a database that is compacted in one job if it has no more than so many bytes.
    pub(super) fn new(at_once_bytes: u64) -> Self {
        Self {
            state: Arc::default(),
            at_once_bytes,
        }
    }

    /// Requests it, unless it would change nothing or is running. A request ends with the open database.
    pub(super) fn request(&self, manifest: &VersionedManifest) {
        let mut state = self.state.lock();
        let files = Files::of(manifest, self.at_once_bytes);
        if *state == State::Idle && files.whole().is_some() {
            // This manifest may be some seconds old, and a compaction may have ended since.
            let shared = files.shared;
            *state = State::Requested { shared };
        }
    }
}

impl CompactionSchedulerSupplier for DetachRequest {
    fn compaction_scheduler(
        &self,
        options: &CompactorOptions,
    ) -> Box<dyn CompactionScheduler + Send + Sync> {
        Box::new(DetachScheduler {
            request: self.clone(),
            default: SizeTieredCompactionSchedulerSupplier.compaction_scheduler(options),
        })
    }
}

/// Proposes what SlateDB does by default, and a full compaction on request.
struct DetachScheduler {
    request: DetachRequest,
    default: Box<dyn CompactionScheduler + Send + Sync>,
}

impl CompactionScheduler for DetachScheduler {
    fn propose(&self, state: &CompactorStateView) -> Vec<CompactionSpec> {
        let mut files = Files::of(state.manifest(), self.request.at_once_bytes);
        let jobs = state.compactions().into_iter();
        let jobs = jobs.flat_map(|jobs| jobs.recent_compactions());
        let jobs = jobs.filter(|job| job.active());
        files.jobs.extend(jobs.map(|job| job.spec().clone()));
        match self.request.state.lock().next(&files) {
            Next::Default => self.default.propose(state),
            Next::Job(job) => vec![job],
            Next::Wait => Vec::new(),
        }
    }

    fn validate(
        &self,
        state: &CompactorStateView,
        spec: &CompactionSpec,
    ) -> Result<(), slatedb::Error> {
        self.default.validate(state, spec)
    }
}

/// The state of a request.
#[derive(Clone, Debug, Default, PartialEq)]
enum State {
    #[default]
    Idle,
    /// It is to begin; where `shared`, only if the database still shares files with others by then.
    Requested { shared: bool },
    /// The files of level 0 are becoming a run. The runs are next, under the same condition.
    Runs { shared: bool },
    /// This job was proposed, and is not known to have ended.
    Running(CompactionSpec),
}

/// The next step of the compactor.
#[derive(Debug, PartialEq)]
enum Next {
    /// The job that SlateDB would begin by default, if any.
    Default,
    Job(CompactionSpec),
    /// Nothing.
    Wait,
}

impl State {
    /// What to begin, given the present files and jobs. A file is in one job at a time, so while a request waits no other runs are
    /// merged, or it might never begin.
    fn next(&mut self, files: &Files) -> Next {
        match self {
            Self::Idle => Next::Default,
            Self::Requested { shared } | Self::Runs { shared } if *shared && !files.shared => {
                self.end()
            }
            Self::Requested { .. } if files.are_few => {
                if files.jobs.is_empty() {
                    self.begin(files.whole())
                } else {
                    Next::Wait
                }
            }
            Self::Requested { shared } => {
                if files.level0_is_busy() {
                    return Next::Wait;
                }
                *self = Self::Runs { shared: *shared };
                match files.level0_job() {
                    Some(job) => Next::Job(job),
                    None => self.next(files),
                }
            }
            Self::Runs { .. } if files.level0_is_busy() => Next::Wait,
            Self::Runs { .. } if files.runs_are_busy() => files.level0_alone(),
            Self::Runs { .. } => self.begin(files.runs_job()),
            Self::Running(job) if !files.jobs.contains(job) => self.end(),
            Self::Running(job) if job.has_l0_sources() => Next::Default,
            // SlateDB's default policy would merge new runs with the second job, or nothing of level 0 where there are many runs.
            Self::Running(_) if files.level0_is_busy() => Next::Wait,
            Self::Running(_) => files.level0_alone(),
        }
    }

    fn begin(&mut self, job: Option<CompactionSpec>) -> Next {
        let Some(job) = job else {
            return self.end();
        };
        *self = Self::Running(job.clone());
        Next::Job(job)
    }

    fn end(&mut self) -> Next {
        *self = Self::Idle;
        Next::Default
    }
}

/// The files and running jobs of a database, as the scheduler sees them.
#[derive(Debug)]
struct Files {
    /// Newest first.
    level0: Vec<SourceId>,
    /// Numbers of the sorted runs, newest first.
    runs: Vec<u32>,
    /// Whether they are so small that one job does not delay others.
    are_few: bool,
    /// Whether it reads files of other databases. A source stays listed, without files, until the last checkpoint from before the
    /// compaction is gone.
    shared: bool,
    jobs: Vec<CompactionSpec>,
}

impl Files {
    /// Without jobs.
    fn of(manifest: &VersionedManifest, at_once_bytes: u64) -> Self {
        let level0_bytes = manifest.l0().iter().map(|view| view.estimate_size());
        let run_bytes = manifest.compacted().iter().map(|run| run.estimate_size());
        // Whole files, also where this database sees only a part.
        let bytes: u64 = level0_bytes.chain(run_bytes).sum();
        let mut sources = manifest.external_dbs().iter();
        Self {
            level0: (manifest.l0().iter())
                .map(|view| SourceId::SstView(view.id))
                .collect(),
            runs: manifest.compacted().iter().map(|run| run.id).collect(),
            are_few: bytes <= at_once_bytes,
            shared: sources.any(|source| !source.sst_ids.is_empty()),
            jobs: Vec::new(),
        }
    }

    /// All files merged into one run; `None` for a single file of its own, where that would only make garbage.
    fn whole(&self) -> Option<CompactionSpec> {
        self.merged(self.level0.iter().copied())
    }

    /// All runs merged into one, with the same exception.
    fn runs_job(&self) -> Option<CompactionSpec> {
        self.merged(std::iter::empty())
    }

    fn merged(&self, level0: impl Iterator<Item = SourceId>) -> Option<CompactionSpec> {
        let lowest = self.runs.iter().copied().min().unwrap_or_default();
        let runs = self.runs.iter().map(|run| SourceId::SortedRun(*run));
        let sources: Vec<SourceId> = level0.chain(runs).collect();
        let enough = if self.shared { 1 } else { 2 };
        (sources.len() >= enough).then(|| CompactionSpec::new(sources, lowest))
    }

    /// Level 0 merged into a run above all others; `None` when it is empty.
    fn level0_job(&self) -> Option<CompactionSpec> {
        let planned = self.jobs.iter().filter_map(CompactionSpec::destination);
        let highest = self.runs.iter().copied().chain(planned).max();
        let above = highest.map_or(0, |highest| highest + 1);
        (!self.level0.is_empty()).then(|| CompactionSpec::new(self.level0.clone(), above))
    }

    /// Level 0 alone, once it is worth a job.
    fn level0_alone(&self) -> Next {
        let worth_it = self.level0.len() >= LEVEL0_COUNT_MIN;
        let job = self.level0_job().filter(|_| worth_it);
        job.map_or(Next::Wait, Next::Job)
    }

    fn level0_is_busy(&self) -> bool {
        self.jobs.iter().any(CompactionSpec::has_l0_sources)
    }

    fn runs_are_busy(&self) -> bool {
        self.jobs.iter().any(CompactionSpec::has_sr_sources)
    }
}

#[cfg(test)]
mod tests;
