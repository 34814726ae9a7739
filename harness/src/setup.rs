//! The server program under test, and a folder for its data.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context;
use partita_bench::{ServerProcess, partita_command, project};
use partita_load::Random;
use tempfile::TempDir;

/// Longest time from the start of a server to its ready line.
const START_DEADLINE: Duration = Duration::from_secs(30);

/// The server under test.
#[derive(Debug, clap::Args)]
pub(crate) struct ServerProgram {
    /// The server program; built from this tree by default
    #[arg(long, value_name = "FILE")]
    program: Option<PathBuf>,
}

impl ServerProgram {
    /// The path of the program, which is built unless it is given.
    pub(crate) fn path(&self) -> anyhow::Result<PathBuf> {
        match &self.program {
            Some(program) => Ok(program.clone()),
            None => project::build("partita", "partita"),
        }
    }
}

/// Options of a test whose steps a seed determines.
#[derive(Debug, clap::Args)]
pub(crate) struct SeededTest {
    /// Seed of the test's steps; random by default, and printed
    #[arg(long)]
    seed: Option<u64>,
    #[command(flatten)]
    pub(crate) server: ServerProgram,
}

impl SeededTest {
    /// The seed: the given one, or the id of this process.
    pub(crate) fn seed(&self) -> u64 {
        self.seed.unwrap_or_else(|| u64::from(std::process::id()))
    }

    /// Runs a test on an empty folder, which is kept when the test fails.
    pub(crate) fn in_scratch(
        &self,
        name: &str,
        test: impl FnOnce(&Path, Random) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let seed = self.seed();
        let directory = scratch(name)?;
        let outcome = test(directory.path(), Random::new(seed));
        if outcome.is_err() {
            let kept = directory.keep();
            eprintln!("{name}: the data is kept in {}", kept.display());
        }
        outcome.with_context(|| format!("--seed {seed}"))
    }
}

/// A folder below the project's `target`, on the project's disk. Deleted when dropped.
pub(crate) fn scratch(name: &str) -> anyhow::Result<TempDir> {
    let parent = project::root().join("target").join(name);
    std::fs::create_dir_all(&parent)?;
    let prefix = format!("{name}-");
    Ok(tempfile::Builder::new()
        .prefix(&prefix)
        .tempdir_in(parent)?)
}

/// Starts a server without admin port on a directory.
pub(crate) fn start(program: &Path, directory: &Path) -> anyhow::Result<ServerProcess> {
    start_command(partita_command(program, directory))
}

/// Starts a server.
pub(crate) fn start_command(command: std::process::Command) -> anyhow::Result<ServerProcess> {
    ServerProcess::start(command, START_DEADLINE)
}
