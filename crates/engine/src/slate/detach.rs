//! Rewriting all files of a database into files of its own.
//!
//! It is a compaction that the database's own compactor proposes to itself when asked. Entered from outside, as SlateDB's
//! administration does it, it could be entered between a job of the compactor being timed and entered: jobs must be entered in
//! the order of their times, so the compactor would give up then, and close the database.
//!
//! A large database is rewritten in two jobs, level 0 first and then the sorted runs. Files leave level 0 in the order of their age,
//! so a job that has some of it keeps all newer ones waiting; one over gigabytes takes minutes, in which level 0 would fill up and
//! writes be refused. While runs are rewritten level 0 is compacted beside them.

use std::sync::Arc;

use parking_lot::Mutex;
use slatedb::VersionedManifest;
use slatedb::compactor::{
    CompactionScheduler, CompactionSchedulerSupplier, CompactionSpec, CompactorStateView,
    SizeTieredCompactionSchedulerSupplier, SourceId,
};
use slatedb::config::CompactorOptions;

/// Files of level 0 that are worth a job while others wait, as in SlateDB's own policy.
const LEVEL0_COUNT_MIN: usize = 4;

/// Whether a database is to be rewritten. Shared with its compactor, which looks once a second.
#[derive(Clone)]
pub(super) struct Rewriting {
    state: Arc<Mutex<State>>,
    at_once_bytes: u64,
}

impl Rewriting {
    /// Of a database that is rewritten in one job where it has no more than so many bytes.
    pub(super) fn new(at_once_bytes: u64) -> Self {
        Self {
            state: Arc::default(),
            at_once_bytes,
        }
    }

    /// Asks for it, unless nothing would come of it or it is under way. Forgotten when the database is closed.
    pub(super) fn ask(&self, manifest: &VersionedManifest) {
        let mut state = self.state.lock();
        let files = Files::of(manifest, self.at_once_bytes);
        if *state == State::Idle && files.whole().is_some() {
            // What is seen here may be some seconds old, and a rewrite have just ended.
            let shared = files.shared;
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
        let mut files = Files::of(state.manifest(), self.rewriting.at_once_bytes);
        let jobs = state.compactions().into_iter();
        let jobs = jobs.flat_map(|jobs| jobs.recent_compactions());
        let jobs = jobs.filter(|job| job.active());
        files.jobs.extend(jobs.map(|job| job.spec().clone()));
        match self.rewriting.state.lock().next(&files) {
            Next::Usual => self.usual.propose(state),
            Next::Job(job) => vec![job],
            Next::Wait => Vec::new(),
        }
    }

    fn validate(
        &self,
        state: &CompactorStateView,
        spec: &CompactionSpec,
    ) -> Result<(), slatedb::Error> {
        self.usual.validate(state, spec)
    }
}

/// How far a rewrite is.
#[derive(Clone, Debug, Default, PartialEq)]
enum State {
    #[default]
    Idle,
    /// It is to begin; where `shared`, only if the database still shares files with others by then.
    Asked { shared: bool },
    /// What level 0 held is becoming a run. The runs are next, with the same exception.
    Runs { shared: bool },
    /// This job was proposed, and has not ended as far as is known.
    UnderWay(CompactionSpec),
}

/// What the compactor is to begin.
#[derive(Debug, PartialEq)]
enum Next {
    /// What it would begin without us.
    Usual,
    Job(CompactionSpec),
    /// Nothing.
    Wait,
}

impl State {
    /// What to begin, given the files and jobs of now. A file is in one job at a time, so while a rewrite's turn is awaited no
    /// other runs are merged, or it might never come.
    fn next(&mut self, files: &Files) -> Next {
        match self {
            Self::Idle => Next::Usual,
            Self::Asked { shared } | Self::Runs { shared } if *shared && !files.shared => {
                self.end()
            }
            Self::Asked { .. } if files.are_few => {
                if files.jobs.is_empty() {
                    self.begin(files.whole())
                } else {
                    Next::Wait
                }
            }
            Self::Asked { shared } => {
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
            Self::UnderWay(job) if !files.jobs.contains(job) => self.end(),
            Self::UnderWay(job) if job.has_l0_sources() => Next::Usual,
            // SlateDB's own policy would merge new runs with the second job, or none of level 0 where there are many runs.
            Self::UnderWay(_) if files.level0_is_busy() => Next::Wait,
            Self::UnderWay(_) => files.level0_alone(),
        }
    }

    fn begin(&mut self, job: Option<CompactionSpec>) -> Next {
        let Some(job) = job else {
            return self.end();
        };
        *self = Self::UnderWay(job.clone());
        Next::Job(job)
    }

    fn end(&mut self) -> Next {
        *self = Self::Idle;
        Next::Usual
    }
}

/// The files of a database and the jobs under way, as far as it matters here.
#[derive(Debug)]
struct Files {
    /// Newest first.
    level0: Vec<SourceId>,
    /// Numbers of the sorted runs, newest first.
    runs: Vec<u32>,
    /// Whether they are so small that one job does not keep others waiting.
    are_few: bool,
    /// Whether files of other databases are in it. A source stays listed, without files, until no checkpoint from before a rewrite
    /// is left.
    shared: bool,
    jobs: Vec<CompactionSpec>,
}

impl Files {
    /// Without jobs.
    fn of(manifest: &VersionedManifest, at_once_bytes: u64) -> Self {
        let level0_bytes = manifest.l0().iter().map(|view| view.estimate_size());
        let run_bytes = manifest.compacted().iter().map(|run| run.estimate_size());
        // Also those of what is in the files and belongs to others.
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

    /// All files merged into files of its own; `None` for one file, and its own: nothing would come of it but garbage.
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

    /// Level 0 merged into a run above all others; `None` where nothing is in it.
    fn level0_job(&self) -> Option<CompactionSpec> {
        let to_be = self.jobs.iter().filter_map(CompactionSpec::destination);
        let highest = self.runs.iter().copied().chain(to_be).max();
        let above = highest.map_or(0, |highest| highest + 1);
        (!self.level0.is_empty()).then(|| CompactionSpec::new(self.level0.clone(), above))
    }

    /// Level 0 once it is worth a job, and nothing else.
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
mod tests {
    use super::*;

    fn file(number: u128) -> SourceId {
        SourceId::SstView(number.into())
    }

    fn run(number: u32) -> SourceId {
        SourceId::SortedRun(number)
    }

    fn files(level0: &[u128], runs: &[u32], are_few: bool) -> Files {
        Files {
            level0: level0.iter().copied().map(file).collect(),
            runs: runs.to_vec(),
            are_few,
            shared: true,
            jobs: Vec::new(),
        }
    }

    fn with(mut files: Files, jobs: &[&CompactionSpec]) -> Files {
        files.jobs.extend(jobs.iter().copied().cloned());
        files
    }

    fn asked() -> State {
        State::Asked { shared: true }
    }

    #[test]
    fn a_small_database_is_rewritten_at_once() {
        let mut state = asked();
        let whole = CompactionSpec::new(vec![file(2), file(1), run(3), run(0)], 0);
        let now = files(&[2, 1], &[3, 0], true);
        let other = CompactionSpec::new(vec![file(1)], 4);
        assert_eq!(
            state.next(&with(files(&[1], &[3, 0], true), &[&other])),
            Next::Wait
        );
        assert_eq!(state.next(&now), Next::Job(whole.clone()));
        assert_eq!(state.next(&with(now, &[&whole])), Next::Usual);
        assert_ne!(state, State::Idle);
        assert_eq!(state.next(&files(&[], &[0], true)), Next::Usual);
        assert_eq!(state, State::Idle);
    }

    #[test]
    fn level_0_of_a_large_one_goes_first_and_is_compacted_beside_the_runs() {
        let mut state = asked();
        let level0 = CompactionSpec::new(vec![file(2), file(1)], 4);
        assert_eq!(
            state.next(&files(&[2, 1], &[3, 0], false)),
            Next::Job(level0.clone())
        );
        let meanwhile = with(files(&[4, 3, 2, 1], &[3, 0], false), &[&level0]);
        assert_eq!(state.next(&meanwhile), Next::Wait);
        let runs = CompactionSpec::new(vec![run(4), run(3), run(0)], 0);
        let now = files(&[4, 3], &[4, 3, 0], false);
        assert_eq!(state.next(&now), Next::Job(runs.clone()));
        let meanwhile = with(files(&[5, 4, 3], &[4, 3, 0], false), &[&runs]);
        assert_eq!(state.next(&meanwhile), Next::Wait, "not worth a job");
        let meanwhile = with(files(&[6, 5, 4, 3], &[4, 3, 0], false), &[&runs]);
        let level0 = CompactionSpec::new(vec![file(6), file(5), file(4), file(3)], 5);
        assert_eq!(state.next(&meanwhile), Next::Job(level0.clone()));
        let meanwhile = with(meanwhile, &[&level0]);
        assert_eq!(state.next(&meanwhile), Next::Wait);
        assert_eq!(state.next(&files(&[], &[5, 0], false)), Next::Usual);
        assert_eq!(state, State::Idle);
    }

    #[test]
    fn level_0_of_a_large_one_does_not_wait_for_runs_that_are_being_merged() {
        let merging = CompactionSpec::new(vec![run(2), run(1)], 1);
        let mut state = asked();
        let first = CompactionSpec::new(vec![file(1)], 3);
        let now = with(files(&[1], &[2, 1], false), &[&merging]);
        assert_eq!(state.next(&now), Next::Job(first));
        let now = with(files(&[3, 2], &[3, 2, 1], false), &[&merging]);
        assert_eq!(state.next(&now), Next::Wait, "not worth a job");
        let now = with(files(&[5, 4, 3, 2], &[3, 2, 1], false), &[&merging]);
        let second = CompactionSpec::new(vec![file(5), file(4), file(3), file(2)], 4);
        assert_eq!(state.next(&now), Next::Job(second));
        let now = files(&[], &[4, 3, 1], false);
        let runs = CompactionSpec::new(vec![run(4), run(3), run(1)], 1);
        assert_eq!(state.next(&now), Next::Job(runs));
    }

    /// As after a restart, when SlateDB goes on with the job of before.
    #[test]
    fn runs_that_another_job_has_rewritten_are_not_rewritten_again() {
        let mut state = asked();
        let merging = CompactionSpec::new(vec![run(2), run(1)], 1);
        let now = with(files(&[], &[2, 1], false), &[&merging]);
        assert_eq!(state.next(&now), Next::Wait);
        let mut own = files(&[], &[3, 1], false);
        own.shared = false;
        assert_eq!(state.next(&own), Next::Usual);
        assert_eq!(state, State::Idle);
    }

    #[test]
    fn what_nothing_would_come_of_is_not_begun() {
        let mut own = files(&[], &[1], true);
        own.shared = false;
        let mut state = asked();
        assert_eq!(state.next(&own), Next::Usual, "it shares nothing any more");
        assert_eq!(state, State::Idle);
        let mut state = State::Asked { shared: false };
        assert_eq!(state.next(&own), Next::Usual, "it is one run");
        assert_eq!(state, State::Idle);
        assert_eq!(own.whole(), None);
        assert_eq!(files(&[], &[], true).whole(), None);
    }
}
