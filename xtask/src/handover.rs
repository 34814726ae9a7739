//! Runs a test of `cargo harness` if `cargo xtask` is called with the name of one of [`TESTS`], such as `cargo xtask
//! crash`.

use std::ffi::OsString;

use anyhow::{Context, bail, ensure};
use partita_bench::project;

/// The names of tests that `cargo xtask` accepts. `cargo harness` has more. `pauses` is an alias of
/// `latency-under-change`.
const TESTS: [&str; 7] = [
    "bugs",
    "crash",
    "diskfull",
    "fairness",
    "footprint",
    "pauses",
    "pressure",
];

/// Runs the test with these arguments, of which the first is its name.
pub(crate) fn run(words: &[OsString]) -> anyhow::Result<()> {
    let name = words.first().and_then(|name| name.to_str());
    let name = name.unwrap_or_default();
    if !TESTS.contains(&name) {
        bail!("unknown task {name:?}; see `cargo xtask --help` and `cargo harness --help`");
    }
    let status = project::cargo()
        .args(["run", "--quiet", "--release", "--package"])
        .args(["partita-harness", "--"])
        .args(words)
        .status()
        .context("starting cargo")?;
    ensure!(status.success(), "{name} failed: {status}");
    Ok(())
}
