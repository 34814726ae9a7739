//! The usual compactions of a database: level 0 at once, its sorted runs when nothing is written.
//!
//! Merging runs of some gigabytes takes half a minute. While rows are written, the merge takes the processor from the
//! flushes, and writes wait for flushes. So runs are merged later, unless there are many of them.
//!
//! SlateDB has one limit for the sources of a compaction. That of level 0 has a lower one here.

use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use partita_rt::Clock;
use slatedb::compactor::{
    CompactionScheduler, CompactionSchedulerSupplier, CompactionSpec, CompactorStateView,
    SizeTieredCompactionSchedulerSupplier, SourceId,
};
use slatedb::config::CompactorOptions;

use super::settings::{LEVEL0_SOURCES_MAX, RUNS_MAX_WHILE_WRITING};

/// A database is written to if level 0 got a file within this time: at full load it gets four a second.
const WRITING: Duration = Duration::from_secs(2);

/// SlateDB's size-tiered scheduler, without its merges of runs while rows are written.
pub(super) struct RunsLater {
    size_tiered: Box<dyn CompactionScheduler + Send + Sync>,
    clock: Arc<dyn Clock>,
    level0: Mutex<Level0>,
}

/// The newest file of level 0, and since when it has been seen.
#[derive(Debug, Default)]
struct Level0 {
    newest: Option<SourceId>,
    since: Option<Instant>,
}

impl Level0 {
    /// Whether a file was added within [`WRITING`], if this is the newest one at `now`. A compaction that takes all files
    /// adds none.
    fn is_written(&mut self, newest: Option<SourceId>, now: Instant) -> bool {
        if newest.is_some() && newest != self.newest {
            self.since = self.newest.is_some().then_some(now);
            self.newest = newest;
        }
        self.since
            .is_some_and(|since| now.saturating_duration_since(since) < WRITING)
    }
}

impl RunsLater {
    pub(super) fn new(options: &CompactorOptions, clock: Arc<dyn Clock>) -> Self {
        Self {
            size_tiered: SizeTieredCompactionSchedulerSupplier.compaction_scheduler(options),
            clock,
            level0: Mutex::default(),
        }
    }
}

impl CompactionScheduler for RunsLater {
    fn propose(&self, state: &CompactorStateView) -> Vec<CompactionSpec> {
        let mut jobs = self.size_tiered.propose(state);
        let manifest = state.manifest();
        let newest = manifest.l0().front().map(|file| SourceId::SstView(file.id));
        let is_written = self
            .level0
            .lock()
            .is_written(newest, self.clock.monotonic());
        if is_written && manifest.compacted().len() < RUNS_MAX_WHILE_WRITING {
            jobs.retain(CompactionSpec::has_l0_sources);
        }
        jobs.into_iter().map(with_oldest_of_level0).collect()
    }

    fn validate(
        &self,
        state: &CompactorStateView,
        spec: &CompactionSpec,
    ) -> Result<(), slatedb::Error> {
        self.size_tiered.validate(state, spec)
    }
}

/// A job with level 0 without its newest files, if it has more than [`LEVEL0_SOURCES_MAX`].
fn with_oldest_of_level0(job: CompactionSpec) -> CompactionSpec {
    let too_many = job.sources().len().saturating_sub(LEVEL0_SOURCES_MAX);
    match (job.destination(), job.has_sr_sources()) {
        (Some(run), false) if too_many > 0 => {
            let oldest = job.sources().iter().skip(too_many);
            CompactionSpec::new(oldest.copied().collect(), run)
        }
        _ => job,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_of_level_0_takes_its_oldest_files() {
        let files = |numbers: std::ops::Range<u128>| {
            let files = numbers.rev().map(|number| SourceId::SstView(number.into()));
            files.collect::<Vec<_>>()
        };
        let max = LEVEL0_SOURCES_MAX as u128;
        let job = |sources| with_oldest_of_level0(CompactionSpec::new(sources, 7));
        assert_eq!(
            job(files(0..max + 5)),
            CompactionSpec::new(files(0..max), 7)
        );
        assert_eq!(job(files(0..max)), CompactionSpec::new(files(0..max), 7));
        let runs: Vec<_> = (0..32).rev().map(SourceId::SortedRun).collect();
        assert_eq!(job(runs.clone()), CompactionSpec::new(runs, 7));
    }

    #[test]
    fn a_database_is_written_to_for_some_seconds_after_each_file() {
        let file = |number: u128| Some(SourceId::SstView(number.into()));
        let start = Instant::now();
        let mut level0 = Level0::default();
        let mut at =
            |newest, seconds| level0.is_written(newest, start + Duration::from_secs(seconds));
        assert!(!at(None, 0));
        assert!(!at(file(1), 1), "the file may be old");
        assert!(at(file(2), 2));
        assert!(at(file(2), 3));
        assert!(!at(file(2), 4));
        assert!(at(file(3), 100));
        assert!(at(None, 101), "a compaction took the file");
        assert!(!at(None, 102));
        assert!(at(file(4), 103));
    }
}
