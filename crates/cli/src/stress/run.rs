//! A run: prepares its table, loads rows, runs the operations, and writes the report.

use super::live::LivePage;
use super::report;
use super::run_args::{ResultArgs, RunCommand, SampleSource};
use super::run_table::RunTable;
use crate::new_file;
use crate::output::Format;
use crate::prelude::*;
use crate::screen::{self, Screen};
use crate::signals::{interruptible, stop_requested};
use partita_client::{AttemptEvent, Guid, RetryBudget, RetryObserver, RetryPolicy, TableClient};
use partita_tools::source::Traffic;
use partita_tools::stress::{
    FillMetrics, Keys, Pattern, Recorder, Report, SAMPLE_ROWS_MAX, Sample, Settings, State,
    TableTarget, Test, fill, html, run_test,
};
use std::fs::File;
use std::io::BufReader;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Parallel requests while a table is filled.
const LOAD_JOBS: usize = 16;
/// The retries of loading wait for a busy server for two to three minutes in total.
const LOAD_RETRY: RetryPolicy = RetryPolicy::Exponential {
    retries: 20,
    wait: Duration::from_millis(200),
    min: Duration::from_millis(50),
    max: Duration::from_secs(10),
};
/// How often the screen is refreshed.
const REFRESH: Duration = Duration::from_millis(250);

/// Counts requests for the last line, and records them for the report.
#[derive(Debug)]
struct TrafficAndRecorder(Arc<Traffic>, Arc<Recorder>);

impl RetryObserver for TrafficAndRecorder {
    fn attempt(&self, event: &AttemptEvent<'_>) {
        self.0.attempt(event);
        self.1.attempt(event);
    }
}

impl Command for RunCommand {
    fn run(self) -> CommandResult {
        let traffic = Arc::new(Traffic::default());
        // Two clients: the retries of the load do not count against the run's retry budget.
        let loading = Connection::tuned(&self.connection, &traffic, |options| {
            options.retry = LOAD_RETRY;
            options.retry_budget = RetryBudget::UNBOUNDED;
        })?;
        let profile = loading.profile.clone();
        let ended = block_on(run(self, &traffic, loading));
        ended.map_err(|error| error.on_profiles([profile]))
    }
}

/// A run whose rows are written by `loading`.
async fn run(args: RunCommand, traffic: &Arc<Traffic>, loading: Connection) -> CommandResult {
    let run = Guid(fastrand::u128(..).to_be_bytes());
    let (mut settings, sample) = args.settings(run)?;
    let mut progress = Progress::new(traffic);
    for path in [&args.result.report, &args.result.html] {
        new_file::check_writable(path.as_ref(), &args.result.confirm, &mut progress)?;
    }
    settings.endpoint = loading.service.endpoint().to_string();
    let recorder = Arc::new(Recorder::new(settings.schedule.ramp()));
    let observer: Arc<dyn RetryObserver> = Arc::new(TrafficAndRecorder(
        Arc::clone(traffic),
        Arc::clone(&recorder),
    ));
    let running = Connection::tuned(&args.connection, traffic, |options| {
        options.observer = Some(observer);
        options.idle_connections_max = usize::try_from(settings.workers).unwrap_or(usize::MAX);
    })?;
    let sample = match &sample {
        Some(source) => sampled_keys(source, &mut settings, &loading).await?,
        None => Vec::new(),
    };
    let prefix: String = settings.run.chars().take(8).collect();
    let keys = Keys::new(settings.pattern.clone(), settings.seed, &prefix, sample);
    let table = RunTable::prepare(
        loading.service.table_client(&args.table),
        args.keys.use_existing,
        args.keys.keep,
    );
    let table = table.await?;
    let prepared = PreparedRun {
        settings,
        keys,
        run,
        recorder,
        format: args.output.format(),
    };
    let (ended, rows) = prepared.execute(&table, &running, progress).await;
    table.finish(run, rows).await;
    let (report, progress) = ended?;
    finish(&args.result, args.output, &report, progress)
}

/// A sample of the PartitionKeys of the source. Records the source and the number of keys in the pattern.
async fn sampled_keys(
    source: &SampleSource,
    settings: &mut Settings,
    connection: &Connection,
) -> Result<Vec<String>, CommandError> {
    let (sample, source) = match source {
        SampleSource::File(path) => {
            let source = path.display().to_string();
            let file = File::open(path).because(format!("cannot read {source}"))?;
            let sample = Sample::of_lines(BufReader::new(file), settings.seed)?;
            (sample, source)
        }
        SampleSource::Table(name) => {
            let table = connection.service.table_client(name);
            let reading = Sample::of_table(table, settings.seed);
            let sample = interruptible(&mut pin!(stop_requested()), reading).await??;
            if sample.met >= SAMPLE_ROWS_MAX {
                let rows = count(sample.met);
                message(&format!(
                    "the sample covers the first {rows} rows read from table {name}: a sample reads no more"
                ));
            }
            (sample, format!("table {name}"))
        }
    };
    if sample.met == 0 {
        return Err(CommandError::usage(format!("{source} has no keys")));
    }
    let keys = sample.keys;
    settings.pattern = Pattern::Sampled {
        source,
        keys: keys.len() as u64,
    };
    Ok(keys)
}

/// A run whose table is not filled yet.
struct PreparedRun {
    settings: Settings,
    keys: Keys,
    run: Guid,
    recorder: Arc<Recorder>,
    format: Format,
}

impl PreparedRun {
    /// Fills the table and runs the operations. Returns the report or an error, and the maximum number of rows that the
    /// run has added to the table.
    async fn execute(
        self,
        table: &RunTable,
        running: &Connection,
        progress: Progress,
    ) -> (Result<(Report, Progress), CommandError>, u64) {
        let written = AtomicU64::new(0);
        let load = match self.load(table, &progress, &written).await {
            Ok(load) => load,
            Err(error) => return (Err(error), written.into_inner()),
        };
        let rows = written.into_inner();
        if let Some(error) = self.aimed_at_nothing(rows) {
            return (Err(error), rows);
        }
        let target = self.target(running.service.table_client(table.client.name()), rows);
        let Self {
            settings,
            keys,
            recorder,
            format,
            ..
        } = self;
        let test = Test {
            settings,
            target,
            keys,
            load,
        };
        match watched(test, recorder, format, &progress).await {
            Ok(report) => {
                let rows = rows + report.new_rows;
                (Ok((report, progress)), rows)
            }
            Err(error) => (Err(error), rows),
        }
    }

    fn target(&self, table: TableClient, scan_entities: u64) -> TableTarget {
        TableTarget {
            table,
            run: self.run,
            row_bytes: usize::try_from(self.settings.row_bytes).unwrap_or(usize::MAX),
            range_rows: u32::try_from(self.settings.range_rows).unwrap_or(u32::MAX),
            scan_entities,
        }
    }

    /// Fills the table; counts the rows in `written`.
    async fn load(
        &self,
        table: &RunTable,
        progress: &Progress,
        written: &AtomicU64,
    ) -> Result<Option<FillMetrics>, CommandError> {
        let rows = self.settings.rows;
        if rows == 0 {
            return Ok(None);
        }
        let begin = Instant::now();
        progress.start_bar("rows loaded", Some(rows), false);
        let target = self.target(table.client.clone(), 0);
        let bar = progress.bar.clone();
        let loading = fill(&target, &self.keys, rows, LOAD_JOBS, |more| {
            bar.set_position(written.fetch_add(more, Ordering::Relaxed) + more);
        });
        let loaded = interruptible(&mut pin!(stop_requested()), loading).await;
        progress.bar.hide();
        loaded??;
        let seconds = begin.elapsed().as_secs_f64();
        let retries = progress.bar.traffic().retries;
        message(&format!(
            "{} loaded in {seconds:.1} s",
            many(rows, "row", "rows")
        ));
        Ok(Some(FillMetrics {
            rows,
            seconds,
            retries,
        }))
    }

    /// An error if `--aim` names a partition without rows, and the mix has operations that need existing rows.
    fn aimed_at_nothing(&self, rows: u64) -> Option<CommandError> {
        let aim = self.settings.aim.as_ref()?;
        let reads = self.settings.mix.has(|kind| kind.needs_rows());
        let has_rows = (0..rows).any(|number| self.keys.partition_key(number) == *aim);
        (reads && !has_rows).then(|| {
            let example = self.keys.partition_key(0);
            CommandError::usage(format!(
                "--aim: partition {aim:?} has no rows; {example:?} has some"
            ))
        })
    }
}

/// Runs the test, with its progress on the terminal.
async fn watched(
    test: Test,
    recorder: Arc<Recorder>,
    format: Format,
    progress: &Progress,
) -> Result<Report, CommandError> {
    let has_screen = format == Format::Table && screen::size().is_some();
    let page = LivePage::new(&test.settings);
    let watched = Arc::clone(&recorder);
    let is_announced = AtomicBool::new(false);
    let bar = progress.bar.clone();
    let stop = async || {
        stop_requested().await;
        if !is_announced.swap(true, Ordering::Relaxed) && !has_screen {
            bar.hide();
            message("stopping; press Ctrl-C again to stop without waiting for open requests");
        }
    };
    let mut running = pin!(run_test(test, recorder, stop));
    let screen = Screen::enter_if(has_screen)?;
    if screen.is_none() {
        progress.start_bar("operations", page.operations, false);
    }
    let mut refreshes = tokio::time::interval(REFRESH);
    refreshes.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let report = loop {
        tokio::select! {
            biased;
            report = &mut running => break report,
            _ = refreshes.tick() => {}
        }
        let live = watched.live();
        match &screen {
            Some(screen) => screen.show(&page.text(&live, screen::size()))?,
            None => progress.bar.set_position(live.done + live.failed),
        }
    };
    drop(screen);
    progress.bar.hide();
    Ok(report)
}

/// Writes the report to its files and to stdout, and the last line to stderr.
fn finish(
    args: &ResultArgs,
    output: OutputArgs,
    report: &Report,
    progress: Progress,
) -> CommandResult {
    new_file::write(args.report.as_ref(), || report.to_json())?;
    new_file::write(args.html.as_ref(), || html(report))?;
    report::print(output, report)?;
    if report.is_interrupted {
        message("the run was interrupted before its end");
    }
    if report.seconds < 1.0 {
        message("the run took less than a second: its rates are not significant");
    }
    let outcome = match report.verdict.state {
        State::Over => Outcome::OverTarget,
        State::Within | State::Near => Outcome::Done,
    };
    let operations = many(report.all.done, "operation", "operations");
    progress.finish(&operations, outcome)
}
