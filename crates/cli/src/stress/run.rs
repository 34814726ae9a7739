//! A run: table, load, operations, report.

use super::flags::{SampleFrom, Wanted};
use super::live::LivePage;
use super::table::RunTable;
use super::{files, page, text as shown};
use crate::args::connection::Connection;
use crate::args::required;
use crate::error::{End, Failure};
use crate::output::Form;
use crate::progress::{Talk, count, many, say};
use crate::scan_session::signal;
use crate::screen::{self, Screen};
use clap::ArgMatches;
use partita_client::{AttemptEvent, Guid, RetryBudget, RetryObserver, RetryPolicy};
use partita_tools::source::Traffic;
use partita_tools::stress::{
    FillMetrics, Keys, Pattern, Recorder, Report, SAMPLE_ROWS_MAX, Sample, Settings, State,
    TableTarget, Test, fill, run_test,
};
use std::fs::File;
use std::io::BufReader;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Requests at the same time while a table is filled.
const LOAD_JOBS: usize = 16;
/// Loading waits for a server that is busy as long as it takes, within reason: 20 tries are some minutes.
const LOAD_RETRY: RetryPolicy = RetryPolicy::Exponential {
    retries: 20,
    wait: Duration::from_millis(200),
    min: Duration::from_millis(50),
    max: Duration::from_secs(10),
};
/// How often the screen changes.
const LOOK: Duration = Duration::from_millis(250);

/// Counts for the last line, and records for the report.
#[derive(Debug)]
struct Both(Arc<Traffic>, Arc<Recorder>);

impl RetryObserver for Both {
    fn attempt(&self, event: &AttemptEvent<'_>) {
        self.0.attempt(event);
        self.1.attempt(event);
    }
}

pub(crate) async fn run(matches: &ArgMatches) -> Result<End, Failure> {
    let mut wanted = Wanted::of(matches)?;
    files::check(matches, &["report", "html"])?;
    let traffic = Arc::new(Traffic::default());
    // Two clients: what the load has to wait for is no part of the run's retry budget.
    let loading = Connection::tuned(matches, &traffic, |options| {
        options.retry = LOAD_RETRY;
        options.retry_budget = RetryBudget::UNBOUNDED;
    })?;
    let recorder = Arc::new(Recorder::new(wanted.schedule.ramp()));
    let both: Arc<dyn RetryObserver> = Arc::new(Both(Arc::clone(&traffic), Arc::clone(&recorder)));
    let running = Connection::tuned(matches, &traffic, |options| {
        options.observer = Some(both);
        options.idle_connections_max = usize::try_from(wanted.workers).unwrap_or(usize::MAX);
    })?;
    let talk = Talk::new(&loading);
    let name = required(matches, "table")?;
    let sample = sampled(&mut wanted, &loading).await?;
    let run = Guid(fastrand::u128(..).to_be_bytes());
    let prefix: String = run.to_string().chars().take(8).collect();
    let keys = Keys::new(wanted.pattern.clone(), wanted.seed, &prefix, sample);
    let table = RunTable::prepare(
        loading.service.table_client(name),
        matches.get_flag("use-existing"),
        matches.get_flag("keep"),
    );
    let table = table.await?;
    let settings = settings(&wanted, matches, &loading, name, run);
    let prepared = Prepared {
        wanted,
        settings,
        keys,
        run,
        recorder,
    };
    let (outcome, rows) = prepared.run(matches, &table, &running, talk).await;
    table.finish(run, rows).await;
    let (report, talk) = outcome?;
    end(matches, &report, talk)
}

/// The keys to sample, and what the report says of them.
async fn sampled(wanted: &mut Wanted, connection: &Connection) -> Result<Vec<String>, Failure> {
    let (sample, from) = match &wanted.sample {
        None => return Ok(Vec::new()),
        Some(SampleFrom::File(path)) => {
            let file = File::open(path)
                .map_err(|error| Failure::usage(format!("{}: {error}", path.display())))?;
            (
                Sample::of_lines(BufReader::new(file), wanted.seed)?,
                path.display().to_string(),
            )
        }
        Some(SampleFrom::Table(name)) => {
            let table = connection.service.table_client(name);
            let sample = tokio::select! {
                biased;
                () = signal() => return Err(Failure::Interrupted),
                sample = Sample::of_table(table, wanted.seed) => sample?,
            };
            if sample.met() >= SAMPLE_ROWS_MAX {
                say(&format!(
                    "only {} rows of table {name} were looked at",
                    count(sample.met())
                ));
            }
            (sample, format!("table {name}"))
        }
    };
    if sample.met() == 0 {
        return Err(Failure::usage(format!("there are no keys in {from}")));
    }
    let keys = sample.into_keys();
    wanted.pattern = Pattern::Sampled {
        source: from,
        keys: keys.len() as u64,
    };
    Ok(keys)
}

fn settings(
    wanted: &Wanted,
    matches: &ArgMatches,
    connection: &Connection,
    table: &str,
    run: Guid,
) -> Settings {
    Settings {
        endpoint: connection.service.endpoint().to_string(),
        table: table.to_owned(),
        run: run.to_string(),
        pattern: wanted.pattern.clone(),
        seed: wanted.seed,
        rows: wanted.rows,
        row_bytes: wanted.row_bytes as u64,
        mix: wanted.mix.clone(),
        batch_rows: wanted.batch_rows,
        range_rows: wanted.range_rows.into(),
        aim: wanted.aim.clone(),
        schedule: wanted.schedule,
        workers: wanted.workers,
        duration_seconds: wanted.duration.map(|duration| duration.as_secs_f64()),
        operations: wanted.operations,
        retries: matches
            .get_one::<u32>("retries")
            .copied()
            .unwrap_or_default(),
        targets: wanted.targets,
    }
}

/// All that a run needs besides its table.
struct Prepared {
    wanted: Wanted,
    settings: Settings,
    keys: Keys,
    run: Guid,
    recorder: Arc<Recorder>,
}

impl Prepared {
    /// Loads and runs. Gives the report, and in any case how many rows may be in the table.
    async fn run(
        self,
        matches: &ArgMatches,
        table: &RunTable,
        running: &Connection,
        mut talk: Talk,
    ) -> (Result<(Report, Talk), Failure>, u64) {
        let written = AtomicU64::new(0);
        let load = match self.load(table, &mut talk, &written).await {
            Ok(load) => load,
            Err(failure) => return (Err(failure), written.into_inner()),
        };
        let rows = written.into_inner();
        if let Some(failure) = self.aimed_at_nothing(rows) {
            return (Err(failure), rows);
        }
        let target = self.target(running.service.table_client(table.client.name()), rows);
        let Self {
            settings,
            keys,
            recorder,
            ..
        } = self;
        let test = Test {
            settings,
            target,
            keys,
            load,
        };
        match watched(matches, test, recorder, &mut talk).await {
            Ok(report) => {
                let rows = rows + report.new_rows;
                (Ok((report, talk)), rows)
            }
            Err(failure) => (Err(failure), rows),
        }
    }

    fn target(&self, table: partita_client::TableClient, scan_entities: u64) -> TableTarget {
        TableTarget {
            table,
            run: self.run,
            row_bytes: self.wanted.row_bytes,
            range_rows: self.wanted.range_rows,
            scan_entities,
        }
    }

    /// Fills the table.
    async fn load(
        &self,
        table: &RunTable,
        talk: &mut Talk,
        written: &AtomicU64,
    ) -> Result<Option<FillMetrics>, Failure> {
        let rows = self.wanted.rows;
        if rows == 0 {
            return Ok(None);
        }
        let begin = Instant::now();
        talk.show_progress("rows loaded", Some(rows), false);
        let target = self.target(table.client.clone(), 0);
        let bar = talk.bar();
        let loading = fill(&target, &self.keys, rows, LOAD_JOBS, |more| {
            bar.progress(written.fetch_add(more, Ordering::Relaxed) + more);
        });
        let loaded = tokio::select! {
            biased;
            () = signal() => Err(Failure::Interrupted),
            loaded = loading => loaded.map_err(Failure::from),
        };
        talk.hide_progress();
        loaded?;
        let seconds = begin.elapsed().as_secs_f64();
        let retries = talk.retries();
        say(&format!(
            "{} loaded in {seconds:.1} s",
            many(rows, "row", "rows")
        ));
        Ok(Some(FillMetrics {
            rows,
            seconds,
            retries,
        }))
    }

    /// Why there is nothing to do at the partition that was aimed at, if so.
    fn aimed_at_nothing(&self, rows: u64) -> Option<Failure> {
        let aim = self.wanted.aim.as_ref()?;
        let reads = self.wanted.mix.has(|kind| kind.needs_rows());
        let is_there = (0..rows).any(|number| self.keys.partition_key(number) == *aim);
        (reads && !is_there).then(|| {
            let example = self.keys.partition_key(0);
            Failure::usage(format!("no row was loaded into partition {aim:?}: --aim takes one that has some, such as {example:?}"))
        })
    }
}

/// Runs, showing how it goes on the terminal.
async fn watched(
    matches: &ArgMatches,
    test: Test,
    recorder: Arc<Recorder>,
    talk: &mut Talk,
) -> Result<Report, Failure> {
    let is_screen = Form::of(matches) == Form::Table && screen::size().is_some();
    let page = LivePage::of(&test.settings);
    let looked_at = Arc::clone(&recorder);
    let told = AtomicBool::new(false);
    let bar = talk.bar();
    let stop = async || {
        signal().await;
        if !told.swap(true, Ordering::Relaxed) && !is_screen {
            bar.hide();
            say("stopping; once more does not wait for what is under way");
        }
    };
    let mut running = std::pin::pin!(run_test(test, recorder, stop));
    let screen = is_screen
        .then(Screen::enter)
        .transpose()
        .map_err(Failure::Output)?;
    if screen.is_none() {
        talk.show_progress("operations", page.operations(), false);
    }
    let mut looks = tokio::time::interval(LOOK);
    looks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let report = loop {
        tokio::select! {
            biased;
            report = &mut running => break report,
            _ = looks.tick() => {}
        }
        let live = looked_at.live();
        match &screen {
            Some(screen) => screen
                .show(&page.text(&live, screen::size()))
                .map_err(Failure::Output)?,
            None => talk.progress(live.done + live.failed),
        }
    };
    drop(screen);
    talk.hide_progress();
    Ok(report)
}

/// Files, data, and the last line.
fn end(matches: &ArgMatches, report: &Report, talk: Talk) -> Result<End, Failure> {
    files::write(matches, "report", || report.to_json())?;
    files::write(matches, "html", || page::html(report))?;
    shown::print(matches, report)?;
    if report.is_interrupted {
        say("the run was stopped before its end");
    }
    if report.seconds < 1.0 {
        say("less than a second says little about rates");
    }
    talk.end(&many(report.all.done, "operation", "operations"));
    Ok(match report.verdict.state {
        State::Over => End::OverTarget,
        State::Within | State::Near => End::Done,
    })
}
