//! What every test starts with: the server program under test, and a folder for its data.

use std::path::PathBuf;

use partita_bench::project;
use tempfile::TempDir;

/// Which server is tested.
#[derive(Debug, clap::Args)]
pub(crate) struct ServerProgram {
    /// The server program; built from this tree by default
    #[arg(long, value_name = "FILE")]
    program: Option<PathBuf>,
}

impl ServerProgram {
    /// The path of the program, which is built first when it is this tree's.
    pub(crate) fn path(&self) -> anyhow::Result<PathBuf> {
        match &self.program {
            Some(program) => Ok(program.clone()),
            None => project::build("partita", "partita"),
        }
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
