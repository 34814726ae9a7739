//! [`run_test`]: runs the operations of a test on a filled table, and writes the report.

use super::recorder::Recorder;
use super::report::{FillMetrics, Report, Settings};
use super::requests::Requests;
use super::run::run;
use super::target::TableTarget;
use partita_client::now;
use partita_load::{Keys, RunOptions, Schedule};
use std::sync::Arc;
use std::time::Duration;

/// The input of a run.
#[derive(Debug, Clone)]
pub struct Test {
    /// The settings.
    pub settings: Settings,
    /// The table. The recorder must be the observer of its client.
    pub target: TableTarget,
    /// Computes the keys of the rows.
    pub keys: Keys,
    /// How the table was filled; `None` if it was not.
    pub load: Option<FillMetrics>,
}

/// Runs a test until its end, or until `stop` completes. If `stop` completes twice, running operations are cancelled.
pub async fn run_test(test: Test, recorder: Arc<Recorder>, stop: impl AsyncFn()) -> Report {
    let Test {
        settings,
        target,
        keys,
        load,
    } = test;
    let loaded = load.map_or(0, |load| load.rows);
    // The ends of the table must be known, so that growth is measured from the first second on. A sample of the filled
    // rows shows them approximately.
    let step = (loaded / ENDS_SEEN).max(1);
    for number in (0..loaded)
        .step_by(usize::try_from(step).unwrap_or(usize::MAX))
        .chain(loaded.checked_sub(1))
    {
        recorder.found(&keys.partition_key(number));
    }
    let Settings {
        seed, batch_rows, ..
    } = settings;
    let requests = Requests::new(
        keys,
        seed,
        settings.mix.clone(),
        batch_rows,
        loaded,
        settings.aim.clone(),
    );
    let requests = Arc::new(requests);
    let options = RunOptions {
        schedule: settings.schedule,
        workers: usize::try_from(settings.workers).unwrap_or(1),
        duration: settings.duration_seconds.map(Duration::from_secs_f64),
        operations: settings.operations,
    };
    let began = now().text().to_string();
    let end = run(
        target,
        Arc::clone(&requests),
        Arc::clone(&recorder),
        options,
        stop,
    )
    .await;
    let is_closed = matches!(settings.schedule, Schedule::Closed { .. });
    let measured = recorder.end(end.at, is_closed);
    let new_rows = requests.new_rows();
    Report::of(settings, load, (began, new_rows), end, measured)
}

/// Number of filled rows that are sampled to find the ends of the table.
const ENDS_SEEN: u64 = 10_000;
