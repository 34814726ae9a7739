//! Where the project is, and building its programs.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, ensure};
use tempfile::TempDir;

/// The project's folder.
pub(crate) fn root() -> PathBuf {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    manifest
        .parent()
        .expect("this crate lies in a folder of the project")
        .to_owned()
}

/// A folder on the project's disk that goes away with the value.
pub(crate) fn scratch(name: &str) -> anyhow::Result<TempDir> {
    let parent = root().join("target").join(name);
    std::fs::create_dir_all(&parent)?;
    let prefix = format!("{name}-");
    Ok(tempfile::Builder::new()
        .prefix(&prefix)
        .tempdir_in(parent)?)
}

/// Which server is tried.
#[derive(Debug, clap::Args)]
pub(crate) struct Server {
    /// The server, when it is not the one built from this tree
    #[arg(long, value_name = "FILE")]
    program: Option<PathBuf>,
}

impl Server {
    /// The program, built where it is this tree's.
    pub(crate) fn program(&self) -> anyhow::Result<PathBuf> {
        if let Some(program) = &self.program {
            return Ok(program.clone());
        }
        build("partita", "partita")?;
        Ok(root().join("target/release/partita"))
    }
}

/// Cargo, in the project's folder, with nothing of what the cargo that runs us has told us about ourselves: build scripts of the
/// cryptography libraries ask for it, so that everything above them would be built anew, here and again for the next build by hand.
pub(crate) fn command() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root());
    for (name, _) in std::env::vars_os() {
        let is_about_us = name.to_str().is_some_and(|name| {
            ["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_BIN_"]
                .iter()
                .any(|prefix| name.starts_with(prefix))
        });
        if is_about_us {
            command.env_remove(name);
        }
    }
    command
}

/// Builds a binary of a workspace crate in release mode; it then lies in `target/release`.
pub(crate) fn build(package: &str, binary: &str) -> anyhow::Result<()> {
    let status = command()
        .args([
            "build",
            "--release",
            "--quiet",
            "--package",
            package,
            "--bin",
            binary,
        ])
        .status()
        .context("starting cargo")?;
    ensure!(status.success(), "building {binary} failed");
    Ok(())
}
