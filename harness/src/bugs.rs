//! `cargo harness bugs`: activates each planted bug and shows that its test catches it: the fleet test those of fleets, the
//! simulation of a cluster those of clusters, the pressure test all others.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use partita_bench::project;

/// The planted bugs, by the names of their fail points; `docs/reliability.md` describes them.
const BUGS: [&str; 26] = [
    "ack-before-durable",
    "etag-outside-lock",
    "token-off-by-one",
    "stale-map",
    "half-batch",
    "scan-skips-last",
    "split-drops-tail",
    "read-not-durable",
    "cache-keeps-old",
    "reader-older-row-wins",
    "reader-ignores-deletions",
    "reader-skips-last-block",
    "reader-shows-hidden-rows",
    "reader-drops-memtable",
    "queue-receipt-unchecked",
    "queue-visibility-in-memory",
    "queue-count-too-low",
    "queue-forgets-hidden",
    "fleet-blind-commit",
    "fleet-late-follow-ups",
    "cluster-gate-open",
    "cluster-repeats-write",
    "cluster-no-replay",
    "cluster-finalizes-early",
    "cluster-serves-unflushed",
    "cluster-no-seal",
];

/// The pressure test divides the time of a bug between so many seeds: with some, what shows the bug does not happen for minutes.
const PRESSURE_SEEDS: f64 = 3.0;

/// How the names of the bugs of clusters begin.
const CLUSTER: &str = "cluster-";

/// Activate each planted bug in turn and check that its test catches it
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Maximum duration of the test of each bug, minutes
    #[arg(long, default_value_t = 3.0)]
    minutes: f64,
    /// First seed of the tests
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Test only these bugs
    #[arg(long, value_delimiter = ',', value_name = "NAMES")]
    only: Vec<String>,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let is_wanted =
        |name: &&str| arguments.only.is_empty() || arguments.only.iter().any(|only| only == name);
    let (of_clusters, others): (Vec<&str>, Vec<&str>) = BUGS
        .into_iter()
        .filter(is_wanted)
        .partition(|name| name.starts_with(CLUSTER));
    println!("| bug | caught after | by |");
    println!("| --- | ---: | --- |");
    let mut missed = Vec::new();
    for (package, bugs) in [("partita", others), ("partita-sim", of_clusters)] {
        if bugs.is_empty() {
            continue;
        }
        let program = build(package)?;
        for name in bugs {
            let (caught, took, why) = hunt(&program, name, arguments)?;
            if caught {
                println!("| `{name}` | {:.0} s | {why} |", took.as_secs_f64());
            } else {
                println!("| `{name}` | not in {:.0} s | |", took.as_secs_f64());
                missed.push(name);
            }
        }
    }
    ensure!(missed.is_empty(), "not caught: {}", missed.join(", "));
    Ok(())
}

/// Builds a program with the planted bugs, and moves it to `target/planted`.
fn build(package: &str) -> anyhow::Result<PathBuf> {
    let status = project::cargo()
        .args(["build", "--release", "--package", package])
        .args(["--features", "planted-bugs"])
        .status()?;
    ensure!(status.success(), "building {package} with bugs failed");
    let built = project::root().join("target/release").join(package);
    let folder = project::root().join("target/planted");
    std::fs::create_dir_all(&folder)?;
    let program = folder.join(package);
    // Moved, because other tests run the program in the build's folder, and must not run one with bugs.
    std::fs::rename(built, &program)?;
    Ok(program)
}

/// Runs the test of a bug while the bug is active: whether it was caught, when, and by what.
fn hunt(
    program: &Path,
    bug: &str,
    arguments: &Arguments,
) -> anyhow::Result<(bool, Duration, String)> {
    let (began, time) = (
        Instant::now(),
        Duration::from_secs_f64(arguments.minutes * 60.0),
    );
    let mut seed = arguments.seed;
    loop {
        let mut test = test_of(bug, program, seed, arguments)?;
        test.env("FAILPOINTS", format!("{bug}=return"));
        let (caught, why) = outcome(&mut test)?;
        if caught || began.elapsed() >= time {
            return Ok((caught, began.elapsed(), why));
        }
        seed += 1;
    }
}

/// The test of a bug with a seed.
fn test_of(bug: &str, program: &Path, seed: u64, arguments: &Arguments) -> anyhow::Result<Command> {
    let seed = seed.to_string();
    if bug.starts_with(CLUSTER) {
        let mut test = Command::new(program);
        test.args(["--servers", "3", "--operations", "4000", "--seed", &seed]);
        return Ok(test);
    }
    let mut test = Command::new(std::env::current_exe()?);
    match bug.starts_with("fleet-") {
        true => test.arg("fleet"),
        false => {
            let minutes = arguments.minutes / PRESSURE_SEEDS;
            test.args(["pressure", "--minutes", &minutes.to_string()])
        }
    };
    test.args(["--seed", &seed, "--program"]).arg(program);
    Ok(test)
}

/// Whether a test has failed, and why.
fn outcome(test: &mut Command) -> anyhow::Result<(bool, String)> {
    let ended = test
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .output()
        .context("running a test")?;
    let errors = String::from_utf8_lossy(&ended.stderr);
    // A test prints its first faults, and in its last line the step that failed.
    let fault = errors.lines().find_map(|line| line.strip_prefix("fault: "));
    let last = errors.lines().last().unwrap_or_default();
    let why: String = fault.unwrap_or(last).chars().take(120).collect();
    Ok((!ended.status.success(), why.replace('|', "/")))
}
