//! Detaching: a full compaction of a database, after which it reads no files of its sources. It also removes deletions
//! and overwritten rows ([`super::space`]).
//!
//! On request, the database's compactor schedules the compaction itself. A job that SlateDB's administration submits
//! from outside can arrive after the compactor has given its own next job a timestamp and before it has stored that
//! job. Jobs must be stored in the order of their timestamps, so the compactor would then fail and close the database.
//!
//! A large database is compacted in two jobs, level 0 first and then the sorted runs. Files leave level 0 in the order
//! of their age, so a running job with level 0 files blocks all newer files. A job over gigabytes takes minutes;
//! meanwhile level 0 would fill up and writes would be refused. So level 0 is compacted separately from the runs.

use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use partita_rt::Clock;
use slatedb::VersionedManifest;
use slatedb::compactor::{
    CompactionScheduler, CompactionSchedulerSupplier, CompactionSpec, CompactorStateView, SourceId,
};
use slatedb::config::CompactorOptions;

use super::runs_later::RunsLater;

/// While a job merges the sorted runs, level 0 is compacted on its own once it has this many files.
const LEVEL0_COUNT_MIN: usize = 4;

/// A request to detach a database. Shared with its compactor, which polls it once a second.
#[derive(Clone)]
pub(super) struct DetachRequest {
    progress: Arc<Mutex<Progress>>,
    at_once_bytes: u64,
    clock: Arc<dyn Clock>,
}

/// The state of the current request, and the times of requests.
#[derive(Debug, Default)]
struct Progress {
    state: State,
    /// When the current request was made; `None` without one.
    requested: Option<Instant>,
    last: Option<FullCompaction>,
}

/// A request for a full compaction that ended: its job succeeded or failed, or no job was needed.
#[derive(Clone, Copy, Debug)]
pub(super) struct FullCompaction {
    /// From the request to the end.
    pub(super) took: Duration,
    pub(super) ended: Instant,
}

impl DetachRequest {
    /// The state without a request. A database of at most `at_once_bytes` is compacted in one job.
    pub(super) fn new(at_once_bytes: u64, clock: Arc<dyn Clock>) -> Self {
        Self {
            progress: Arc::default(),
            at_once_bytes,
            clock,
        }
    }

    /// Requests a detach, unless it would change nothing or is running. Closing the database drops the request. Returns
    /// whether this call requested it.
    pub(super) fn request(&self, manifest: &VersionedManifest) -> bool {
        let mut progress = self.progress.lock();
        let files = Files::of(manifest, self.at_once_bytes);
        let is_new = progress.state == State::Idle && files.whole().is_some();
        if is_new {
            // This manifest may be some seconds old, so the compactor checks `shared` again with the current one.
            let shared = files.shared;
            progress.state = State::Requested { shared };
            progress.requested = Some(self.clock.monotonic());
        }
        is_new
    }

    /// Whether no request waits or runs.
    pub(super) fn is_idle(&self) -> bool {
        self.progress.lock().state == State::Idle
    }

    /// The last request that ended since the database was opened.
    pub(super) fn last(&self) -> Option<FullCompaction> {
        self.progress.lock().last
    }

    /// The next step of the compactor.
    fn next(&self, files: &Files) -> Next {
        let mut progress = self.progress.lock();
        let next = progress.state.next(files);
        if progress.state == State::Idle
            && let Some(requested) = progress.requested.take()
        {
            let ended = self.clock.monotonic();
            let took = ended.saturating_duration_since(requested);
            progress.last = Some(FullCompaction { took, ended });
        }
        next
    }
}

impl CompactionSchedulerSupplier for DetachRequest {
    fn compaction_scheduler(
        &self,
        options: &CompactorOptions,
    ) -> Box<dyn CompactionScheduler + Send + Sync> {
        Box::new(DetachScheduler {
            request: self.clone(),
            default: RunsLater::new(options, Arc::clone(&self.clock)),
        })
    }
}

/// Schedules the usual compactions, and a full compaction on request.
struct DetachScheduler {
    request: DetachRequest,
    default: RunsLater,
}

impl CompactionScheduler for DetachScheduler {
    fn propose(&self, state: &CompactorStateView) -> Vec<CompactionSpec> {
        let mut files = Files::of(state.manifest(), self.request.at_once_bytes);
        let jobs = state.compactions().into_iter();
        let jobs = jobs.flat_map(|jobs| jobs.recent_compactions());
        let jobs = jobs.filter(|job| job.active());
        files.jobs.extend(jobs.map(|job| job.spec().clone()));
        match self.request.next(&files) {
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
    /// Requested but not started; with `shared`, it starts only if the database still shares files.
    Requested { shared: bool },
    /// The files of level 0 are being merged into a run, and the runs are next. With `shared`, the runs are merged only
    /// if the database still shares files.
    Runs { shared: bool },
    /// This job was scheduled, and its end was not seen yet.
    Running(CompactionSpec),
}

/// The next step of the compactor.
#[derive(Debug, PartialEq)]
enum Next {
    /// The next job of SlateDB's default policy, if any.
    Default,
    Job(CompactionSpec),
    /// No job for now.
    Wait,
}

impl State {
    /// The next job for the current files and jobs. A file is in one job at a time, so while a request waits no other
    /// job merges runs; otherwise the request might never start.
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
            // SlateDB's default policy would merge new runs during the second job, or skip level 0 if there are many
            // runs.
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

/// The files and running jobs of a database.
#[derive(Debug)]
struct Files {
    /// The files of level 0, newest first.
    level0: Vec<SourceId>,
    /// Numbers of the sorted runs, newest first.
    runs: Vec<u32>,
    /// Whether the database is small enough for one job that does not delay others.
    are_few: bool,
    /// Whether the database reads files of other databases. A source stays listed, without files, until the last
    /// checkpoint from before the compaction is released.
    shared: bool,
    jobs: Vec<CompactionSpec>,
}

impl Files {
    /// The files of the manifest, without running jobs.
    fn of(manifest: &VersionedManifest, at_once_bytes: u64) -> Self {
        let level0_bytes = manifest.l0().iter().map(|view| view.estimate_size());
        let run_bytes = manifest.compacted().iter().map(|run| run.estimate_size());
        // Counts whole files, also if this database reads only a part of a file.
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

    /// A job that merges all files into one run; `None` without files, or for a single unshared run, which would only
    /// be copied.
    fn whole(&self) -> Option<CompactionSpec> {
        self.merged(self.level0.iter().copied())
    }

    /// A job that merges all runs into one; `None` without runs, or for a single unshared run, which would only be
    /// copied.
    fn runs_job(&self) -> Option<CompactionSpec> {
        self.merged(std::iter::empty())
    }

    fn merged(&self, level0: impl Iterator<Item = SourceId>) -> Option<CompactionSpec> {
        let lowest = self.runs.iter().copied().min().unwrap_or_default();
        let runs = self.runs.iter().map(|run| SourceId::SortedRun(*run));
        let sources: Vec<SourceId> = level0.chain(runs).collect();
        let is_one_run = matches!(*sources, [SourceId::SortedRun(_)]);
        (!sources.is_empty() && (self.shared || !is_one_run))
            .then(|| CompactionSpec::new(sources, lowest))
    }

    /// A job that merges level 0 into a new topmost run; `None` if level 0 is empty.
    fn level0_job(&self) -> Option<CompactionSpec> {
        let planned = self.jobs.iter().filter_map(CompactionSpec::destination);
        let highest = self.runs.iter().copied().chain(planned).max();
        let above = highest.map_or(0, |highest| highest + 1);
        (!self.level0.is_empty()).then(|| CompactionSpec::new(self.level0.clone(), above))
    }

    /// A job for level 0 alone, once it has enough files.
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
