//! `cargo xtask crash` and the like: the tests moved to `cargo harness`, and their old spelling still works.

use std::ffi::OsString;
use std::process::ExitCode;

use anyhow::{Context, bail};
use partita_bench::project;

/// The tests that were tasks of this program.
const TESTS: [&str; 7] = [
    "bugs",
    "crash",
    "diskfull",
    "fairness",
    "footprint",
    "pauses",
    "pressure",
];

/// Runs the test with the same words; its exit status is this program's.
pub(crate) fn run(words: &[OsString]) -> anyhow::Result<ExitCode> {
    let name = words.first().and_then(|name| name.to_str());
    if !name.is_some_and(|name| TESTS.contains(&name)) {
        let name = name.unwrap_or_default();
        bail!("unknown task {name:?}; see `cargo xtask --help` and `cargo harness --help`");
    }
    let status = project::cargo()
        .args(["run", "--quiet", "--release", "--package"])
        .args(["partita-harness", "--"])
        .args(words)
        .status()
        .context("starting cargo")?;
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    Ok(code.map_or(ExitCode::FAILURE, ExitCode::from))
}
