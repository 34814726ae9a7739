//! Runs the tests of `cargo harness` under `cargo xtask` too, such as `cargo xtask crash`.

use std::ffi::OsString;

use anyhow::{Context, bail, ensure};
use partita_bench::project;

/// The tests.
const TESTS: [&str; 7] = [
    "bugs",
    "crash",
    "diskfull",
    "fairness",
    "footprint",
    "pauses",
    "pressure",
];

/// Runs the test with the same arguments.
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
