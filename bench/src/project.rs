//! Where the project is, and building its programs.
//!
//! For the project's own commands (`cargo xtask`, `cargo harness`), which run from a checkout.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, ensure};

/// The project's folder.
///
/// # Panics
/// Never: this crate lies in a folder of the project.
#[must_use]
pub fn root() -> PathBuf {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    manifest
        .parent()
        .expect("this crate lies in a folder of the project")
        .to_owned()
}

/// Cargo, started in the project's folder.
///
/// The variables by which the calling cargo describes the running package are removed: build scripts of the cryptography
/// libraries depend on them, so they and everything above them would be rebuilt here and again by the next build by hand.
#[must_use]
pub fn cargo() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root());
    for (name, _) in std::env::vars_os() {
        let describes_package = name.to_str().is_some_and(|name| {
            ["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_BIN_"]
                .iter()
                .any(|prefix| name.starts_with(prefix))
        });
        if describes_package {
            command.env_remove(name);
        }
    }
    command
}

/// Builds a binary of a workspace crate in release mode, and returns its path.
///
/// # Errors
/// When cargo cannot be started or the build fails.
pub fn build(package: &str, binary: &str) -> anyhow::Result<PathBuf> {
    let status = cargo()
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
    Ok(root().join("target/release").join(binary))
}
