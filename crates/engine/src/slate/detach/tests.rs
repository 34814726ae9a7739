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

fn requested() -> State {
    State::Requested { shared: true }
}

#[test]
fn a_small_database_is_compacted_in_one_job() {
    let mut state = requested();
    let whole = CompactionSpec::new(vec![file(2), file(1), run(3), run(0)], 0);
    let now = files(&[2, 1], &[3, 0], true);
    let other = CompactionSpec::new(vec![file(1)], 4);
    assert_eq!(
        state.next(&with(files(&[1], &[3, 0], true), &[&other])),
        Next::Wait
    );
    assert_eq!(state.next(&now), Next::Job(whole.clone()));
    assert_eq!(state.next(&with(now, &[&whole])), Next::Default);
    assert_ne!(state, State::Idle);
    assert_eq!(state.next(&files(&[], &[0], true)), Next::Default);
    assert_eq!(state, State::Idle);
}

#[test]
fn a_large_database_compacts_level_0_before_and_during_its_runs() {
    let mut state = requested();
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
    assert_eq!(state.next(&files(&[], &[5, 0], false)), Next::Default);
    assert_eq!(state, State::Idle);
}

#[test]
fn level_0_of_a_large_database_does_not_wait_for_a_running_merge() {
    let merging = CompactionSpec::new(vec![run(2), run(1)], 1);
    let mut state = requested();
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

/// Another job can compact the runs after a restart, when SlateDB resumes it.
#[test]
fn runs_compacted_by_another_job_are_not_compacted_again() {
    let mut state = requested();
    let merging = CompactionSpec::new(vec![run(2), run(1)], 1);
    let now = with(files(&[], &[2, 1], false), &[&merging]);
    assert_eq!(state.next(&now), Next::Wait);
    let mut own = files(&[], &[3, 1], false);
    own.shared = false;
    assert_eq!(state.next(&own), Next::Default);
    assert_eq!(state, State::Idle);
}

#[test]
fn a_compaction_without_effect_is_not_started() {
    let mut own = files(&[], &[1], true);
    own.shared = false;
    let mut state = requested();
    assert_eq!(state.next(&own), Next::Default, "it no longer shares files");
    assert_eq!(state, State::Idle);
    let mut state = State::Requested { shared: false };
    assert_eq!(state.next(&own), Next::Default, "it is one run");
    assert_eq!(state, State::Idle);
    assert_eq!(own.whole(), None);
    assert_eq!(files(&[], &[], true).whole(), None);
}
