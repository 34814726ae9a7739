//! Where the project is, and building its programs.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, ensure};

/// The project's folder.
pub(crate) fn root() -> PathBuf {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    manifest
        .parent()
        .expect("this crate lies in a folder of the project")
        .to_owned()
}

/// Builds a binary of a workspace crate in release mode; it then lies in `target/release`.
pub(crate) fn build(package: &str, binary: &str) -> anyhow::Result<()> {
    let status = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .current_dir(root())
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
