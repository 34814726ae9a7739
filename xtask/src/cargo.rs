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
