//! `cargo harness damage`: damaged files of a store are refused, reported, repaired or harmless, and never silently
//! wrong.
//!
//! A real server fills a store: ranges that were split and merged, snapshots, a dropped table, overwritten and deleted
//! rows, rows that are only in the log. It is killed. Each case damages one file of a copy in one way. Then:
//!
//! 1. `partita check` says what is damaged.
//! 2. The server starts, and everything is read: all pages of the table, and each row by its key.
//!
//! A case passes if the server refuses to start and names the file, if it answers 500 for the rows of the file and
//! names it in its status, or if all rows are right. In the first two cases `partita check` must find damage.

mod store;
mod ways;

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use anyhow::{Context, bail, ensure};
use partita_bench::client::{Client, NO_METADATA, Request};
use partita_bench::{Account, admin, open_admin_port, partita_command};
use partita_load::Random;
use serde_json::Value;

use self::store::{DROPPED, Store, TABLE, entity};
use self::ways::{Damage, Kind};
use crate::setup::{self, SeededTest, scratch};

/// Damage files of a store, and check that each is refused, reported, repaired or harmless
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Damaged files
    #[arg(long, default_value_t = 1_000)]
    cases: usize,
    /// Cases at the same time
    #[arg(long, default_value_t = 2)]
    threads: usize,
    #[command(flatten)]
    test: SeededTest,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let seed = arguments.test.seed();
    let directory = scratch("damage")?;
    let outcome = run_in(arguments, seed, directory.path());
    if outcome.is_err() {
        let kept = directory.keep();
        eprintln!("damage: the data is kept in {}", kept.display());
    }
    outcome.with_context(|| format!("--seed {seed}"))
}

fn run_in(arguments: &Arguments, seed: u64, parent: &Path) -> anyhow::Result<()> {
    let (program, account) = (arguments.test.server.path()?, Account::well_known());
    let mut random = Random::new(seed);
    let began = Instant::now();
    let store = Store::build(&program, parent, &account, &mut random)?;
    let built = began.elapsed();
    let kinds = ways::by_kind(&store)?;
    let test = Test {
        program,
        account,
        store,
    };
    let intact = test.case(&parent.join("intact"), None)?;
    ensure!(
        intact.verdict == Verdict::Right && intact.check == Some(0),
        "the undamaged copy: {intact}"
    );
    let order: Vec<Kind> = kinds.keys().copied().collect();
    // Chosen before the threads start, so that the cases depend on the seed only.
    let mut damages = Vec::new();
    for case in 0..arguments.cases {
        let kind = *order.get(case % order.len()).context("no files")?;
        let seed = random.next_u64();
        damages.push((kind, seed));
    }
    let outcomes = test.run_all(&damages, &kinds, parent, arguments.threads)?;
    report(&outcomes);
    println!(
        "damage: {} cases in {:.0} s, after {:.0} s for the store",
        outcomes.len(),
        (began.elapsed() - built).as_secs_f64(),
        built.as_secs_f64()
    );
    let wrong: Vec<_> = outcomes.iter().filter(|it| it.is_fault()).collect();
    ensure!(wrong.is_empty(), "{} cases failed", wrong.len());
    Ok(())
}

/// What a damage led to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Verdict {
    /// The server does not start, and names the file.
    Refused,
    /// The server answers 500 for some rows, and names the file.
    Reported,
    /// All rows are right.
    Right,
    /// The server does not start, or answers 500, without naming the file; or hangs.
    Unclear,
    /// A read returned other rows, and nothing was reported.
    Wrong,
}

/// The outcome of a case.
struct Outcome {
    damage: String,
    kind: Option<Kind>,
    verdict: Verdict,
    /// The exit code of `partita check`.
    check: Option<i32>,
    /// Whether `partita check` names the file.
    is_named: bool,
    details: String,
}

impl Outcome {
    fn is_fault(&self) -> bool {
        match self.verdict {
            Verdict::Refused | Verdict::Reported => self.check == Some(0) || !self.is_named,
            Verdict::Right => self.check.is_none(),
            Verdict::Unclear | Verdict::Wrong => true,
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            damage,
            verdict,
            check,
            details,
            ..
        } = self;
        write!(
            f,
            "{damage}: {verdict:?}; check ended with {check:?}; {details}"
        )
    }
}

/// Prints the number of cases of each kind and verdict, and the cases that failed.
fn report(outcomes: &[Outcome]) {
    let mut counts: BTreeMap<Kind, BTreeMap<Verdict, u64>> = BTreeMap::new();
    for outcome in outcomes {
        let Some(kind) = outcome.kind else { continue };
        *counts
            .entry(kind)
            .or_default()
            .entry(outcome.verdict)
            .or_default() += 1;
    }
    println!("| File | Refused | Reported | All rows right | Wrong |");
    println!("| --- | ---: | ---: | ---: | ---: |");
    for (kind, verdicts) in counts {
        let count = |verdict| verdicts.get(&verdict).copied().unwrap_or_default();
        let [refused, reported, right] =
            [Verdict::Refused, Verdict::Reported, Verdict::Right].map(count);
        let wrong = count(Verdict::Wrong) + count(Verdict::Unclear);
        println!("| {kind} | {refused} | {reported} | {right} | {wrong} |");
    }
    for outcome in outcomes.iter().filter(|outcome| outcome.is_fault()) {
        println!("damage: {outcome}");
    }
}

struct Test {
    program: std::path::PathBuf,
    account: Account,
    store: Store,
}

impl Test {
    fn run_all(
        &self,
        damages: &[(Kind, u64)],
        kinds: &BTreeMap<Kind, Vec<std::path::PathBuf>>,
        parent: &Path,
        threads: usize,
    ) -> anyhow::Result<Vec<Outcome>> {
        let (next, outcomes) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
        let work = || -> anyhow::Result<()> {
            while let Some((kind, seed)) = damages.get(next.fetch_add(1, Ordering::Relaxed)) {
                let files = kinds.get(kind).context("a kind without files")?;
                let damage = ways::choose(&self.store, *kind, files, &mut Random::new(*seed))?;
                let directory = parent.join(format!("case-{seed:016x}"));
                let outcome = self.case(&directory, Some(&damage))?;
                if outcome.is_fault() {
                    eprintln!("damage: {} {outcome}", directory.display());
                } else {
                    std::fs::remove_dir_all(&directory)?;
                }
                let mut outcomes = outcomes
                    .lock()
                    .unwrap_or_else(std::sync::PoisonError::into_inner);
                outcomes.push(outcome);
            }
            Ok(())
        };
        std::thread::scope(|scope| {
            let workers: Vec<_> = (0..threads.max(1)).map(|_| scope.spawn(work)).collect();
            for worker in workers {
                let ended = worker.join();
                ended.map_err(|_| anyhow::anyhow!("a worker panicked"))??;
            }
            anyhow::Ok(())
        })?;
        let outcomes = outcomes.into_inner();
        Ok(outcomes.unwrap_or_else(std::sync::PoisonError::into_inner))
    }

    /// Damages a copy of the store, checks it, starts a server on it, and reads everything.
    fn case(&self, directory: &Path, damage: Option<&Damage>) -> anyhow::Result<Outcome> {
        store::copy_linked(&self.store.directory, directory)?;
        let mut title = "intact".to_owned();
        if let Some(Damage {
            file, content, way, ..
        }) = damage
        {
            title = format!("{} {way}", file.display());
            let path = directory.join(file);
            match content {
                None => std::fs::remove_file(path)?,
                Some(content) => store::replace(&path, content)?,
            }
        }
        let names = damage.map(names).unwrap_or_default();
        let mut command = Command::new(&self.program);
        command
            .args(["check", "--output", "jsonl", "--data"])
            .arg(directory);
        let checked = command.output()?;
        let found = String::from_utf8_lossy(&checked.stdout).into_owned()
            + &String::from_utf8_lossy(&checked.stderr);
        let (verdict, details) = match self.serve(directory, &names) {
            Ok(verdict) => (verdict, String::new()),
            Err(error) => (Verdict::Unclear, format!("{error:#}")),
        };
        let shown = if verdict == Verdict::Right {
            ""
        } else {
            &found
        };
        Ok(Outcome {
            damage: title,
            kind: damage.map(|damage| damage.kind),
            verdict,
            check: checked.status.code(),
            is_named: names.iter().any(|name| found.contains(name)),
            details: format!("{details} {shown}"),
        })
    }

    fn serve(&self, directory: &Path, names: &[String]) -> anyhow::Result<Verdict> {
        let mut command = partita_command(&self.program, directory);
        let admin = open_admin_port(&mut command)?;
        command.args(["--balance", "off"]);
        let server = match setup::start_command(command) {
            Ok(server) => server,
            Err(error) => {
                let text = format!("{error:#}");
                let is_named = names.iter().any(|name| text.contains(name));
                ensure!(is_named, "refused without naming the file: {text}");
                return Ok(Verdict::Refused);
            }
        };
        let mut client = Client::connect(server.addr(), self.account.clone())?;
        let mut reads = Reads::default();
        reads.scan(&mut client, &self.store)?;
        reads.gets(&mut client, &self.store)?;
        reads.dropped(&mut client)?;
        if let Some(wrong) = reads.wrong {
            eprintln!("{wrong}; the server's log:\n{}", server.log());
            return Ok(Verdict::Wrong);
        }
        if reads.failed == 0 {
            return Ok(Verdict::Right);
        }
        let status = admin::status(admin)?;
        let is_named = names.iter().any(|name| status.contains(name));
        ensure!(
            is_named,
            "reads failed, and the status does not name the file: {status}"
        );
        Ok(Verdict::Reported)
    }
}

/// Texts that count as the name of a damaged file: its path, and for some kinds its folder.
fn names(damage: &Damage) -> Vec<String> {
    let file = damage.file.display().to_string();
    let object = file.strip_prefix("store/").unwrap_or(&file).to_owned();
    let mut names = vec![object];
    match damage.kind {
        // If the newest version of the map or a part of the log is lost, the server may name another file.
        Kind::MapNewest => names.extend(["map/".to_owned(), "served/".to_owned()]),
        Kind::LogHead | Kind::LogSegment => names.push("/log/".to_owned()),
        Kind::ManifestNewest => {
            let folder = damage.file.iter().nth(1);
            names.extend(folder.map(|folder| folder.to_string_lossy().into_owned()));
        }
        _ => {}
    }
    names
}

/// The results of the reads of a case.
#[derive(Default)]
struct Reads {
    /// Reads that were answered with an error.
    failed: u64,
    /// The first read that returned a wrong result.
    wrong: Option<String>,
}

impl Reads {
    fn note(&mut self, wrong: String) {
        self.wrong.get_or_insert(wrong);
    }

    /// Reads all pages, until one fails.
    fn scan(&mut self, client: &mut Client, store: &Store) -> anyhow::Result<()> {
        let mut expected = store.rows.iter();
        let mut query = format!("{NO_METADATA}&$top=100");
        loop {
            let path = format!("/{TABLE}()");
            let page = client.send(&Request {
                query: &query,
                ..Request::new("GET", &path)
            })?;
            match page.status {
                200 => {}
                500 => {
                    self.failed += 1;
                    return Ok(());
                }
                status => bail!("a page was answered with {status}: {}", page.text()),
            }
            for row in page.entities()? {
                let text = |name: &str| row.get(name).and_then(Value::as_str).unwrap_or_default();
                let found = (text("PartitionKey"), text("RowKey"), text("V"));
                match expected.next() {
                    Some(((partition, key), value)) if found == (partition, key, value) => {}
                    other => {
                        let expected = other.map(|(key, _)| key);
                        let (partition, key, _) = found;
                        self.note(format!(
                            "a page has {partition} {key} instead of {expected:?}"
                        ));
                        return Ok(());
                    }
                }
            }
            match page.next_page() {
                Some(token) => query = format!("{NO_METADATA}&$top=100&{token}"),
                None => break,
            }
        }
        if let Some((key, _)) = expected.next() {
            self.note(format!("the pages end before {key:?}"));
        }
        Ok(())
    }

    /// Reads each row by its key.
    fn gets(&mut self, client: &mut Client, store: &Store) -> anyhow::Result<()> {
        for (key, value) in &store.rows {
            let answer = client.get(&entity(key))?;
            match answer.status {
                200 if answer.text().contains(&format!("\"{value}\"")) => {}
                500 => self.failed += 1,
                200 | 404 => self.note(format!("{key:?} was answered with {}", answer.status)),
                status => bail!("a get was answered with {status}: {}", answer.text()),
            }
        }
        Ok(())
    }

    /// Checks that the dropped table does not exist.
    fn dropped(&mut self, client: &mut Client) -> anyhow::Result<()> {
        let answer = client.get(&format!("/{DROPPED}(PartitionKey='p',RowKey='r')"))?;
        match answer.status {
            404 => Ok(()),
            500 => {
                self.failed += 1;
                Ok(())
            }
            status => {
                self.note(format!("the dropped table was answered with {status}"));
                Ok(())
            }
        }
    }
}
