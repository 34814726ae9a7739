//! `cargo xtask fuzz`: builds the fuzz targets on stable Rust, and runs each for a while.
//!
//! It replaces `cargo fuzz run --sanitizer none`, without nightly: flags that stable accepts switch on the compiler's
//! coverage pass, and the crate `libfuzzer-sys` contains libFuzzer.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use anyhow::{Context, ensure};
use partita_bench::project;

/// The flags of `cargo fuzz`: counters of edges and comparisons, which guide libFuzzer, and the customary
/// `cfg(fuzzing)`.
const COVERAGE_FLAGS: &str = "--cfg fuzzing -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
     -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
     -Cllvm-args=-sanitizer-coverage-trace-compares -Ccodegen-units=1";

/// Maximum size of an input in bytes, enough for the whole grammar of every parser.
const INPUT_BYTES_MAX: usize = 4_096;

/// Seconds one input may take before the target fails.
const INPUT_SECONDS_MAX: u64 = 5;

/// Number of targets that run at the same time.
const PARALLEL: usize = 2;

/// Build the fuzz targets and run each for a while
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Targets to run [default: all]
    targets: Vec<String>,
    /// Time for each target, seconds
    #[arg(long, default_value_t = 5)]
    seconds: u64,
    /// Only build them
    #[arg(long)]
    no_run: bool,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let root = project::root().join("fuzz");
    let known = targets(&root)?;
    for target in &arguments.targets {
        ensure!(
            known.contains(target),
            "no fuzz target {target:?}; there are {}",
            known.join(", ")
        );
    }
    let chosen = if arguments.targets.is_empty() {
        &known
    } else {
        &arguments.targets
    };
    let programs = build(&root)?;
    if arguments.no_run {
        return Ok(());
    }
    let mut failed = Vec::new();
    for group in chosen.chunks(PARALLEL) {
        let running = group
            .iter()
            .map(|target| Ok((target, start(&root, &programs, target, arguments.seconds)?)))
            .collect::<anyhow::Result<Vec<_>>>()?;
        for (target, child) in running {
            let output = child
                .wait_with_output()
                .with_context(|| format!("running {target}"))?;
            if !report(target, &output) {
                failed.push(target.as_str());
            }
        }
    }
    ensure!(
        failed.is_empty(),
        "fuzz: {} failed; the inputs are in fuzz/artifacts",
        failed.join(", ")
    );
    println!(
        "fuzz: {} targets, {} s each, nothing found",
        chosen.len(),
        arguments.seconds
    );
    Ok(())
}

/// The names of the targets: those of their files.
fn targets(root: &Path) -> anyhow::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(root.join("fuzz_targets"))? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "rs") {
            let stem = path.file_stem().and_then(|stem| stem.to_str());
            names.push(stem.context("a target's name is not UTF-8")?.to_owned());
        }
    }
    names.sort();
    Ok(names)
}

/// Builds all targets; returns the folder of the programs.
fn build(root: &Path) -> anyhow::Result<PathBuf> {
    let triple = host_triple()?;
    // Naming the platform keeps the flags away from build scripts and procedural macros.
    let status = project::cargo()
        .current_dir(root)
        .args(["build", "--release", "--quiet", "--locked"])
        .args(["--target", &triple, "--target-dir", "target"])
        .env("RUSTFLAGS", COVERAGE_FLAGS)
        .env_remove("CARGO_ENCODED_RUSTFLAGS")
        .status()
        .context("starting cargo")?;
    ensure!(status.success(), "building the fuzz targets failed");
    Ok(root.join("target").join(triple).join("release"))
}

fn host_triple() -> anyhow::Result<String> {
    let output = Command::new("rustc")
        .arg("-vV")
        .output()
        .context("starting rustc")?;
    let text = String::from_utf8(output.stdout)?;
    let line = text.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(line.context("rustc did not print its host")?.to_owned())
}

fn start(root: &Path, programs: &Path, target: &str, seconds: u64) -> anyhow::Result<Child> {
    let corpus = root.join("corpus").join(target);
    let artifacts = root.join("artifacts").join(target);
    let seeds = root.join("corpus-seed").join(target);
    for folder in [&corpus, &artifacts] {
        std::fs::create_dir_all(folder)?;
    }
    ensure!(seeds.is_dir(), "{target} has no seeds in fuzz/corpus-seed");
    Command::new(programs.join(target))
        .current_dir(root)
        .arg(format!("-max_total_time={seconds}"))
        .arg(format!("-max_len={INPUT_BYTES_MAX}"))
        .arg(format!("-timeout={INPUT_SECONDS_MAX}"))
        .arg("-print_final_stats=1")
        .arg(format!("-artifact_prefix={}/", artifacts.display()))
        .args([&corpus, &seeds])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .with_context(|| format!("starting {target}"))
}

/// Prints the outcome of a target; false when it failed.
fn report(target: &str, output: &Output) -> bool {
    let log = String::from_utf8_lossy(&output.stderr);
    if output.status.success() {
        let inputs = executed(&log).unwrap_or("?");
        println!("fuzz: {target:<14} ok, {inputs} inputs");
        return true;
    }
    println!("fuzz: {target:<14} FAILED");
    let tail: Vec<&str> = log.lines().rev().take(40).collect();
    for line in tail.iter().rev() {
        eprintln!("{line}");
    }
    false
}

/// The number of inputs that ran, from libFuzzer's last lines.
fn executed(log: &str) -> Option<&str> {
    let mut lines = log.lines();
    let count = lines.find_map(|line| line.strip_prefix("stat::number_of_executed_units:"));
    count.map(str::trim)
}
