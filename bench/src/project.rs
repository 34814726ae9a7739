//! The checkout that `cargo xtask` and `cargo harness` run from: its folder, building its programs, and how a command
//! ends.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context, ensure};

/// The project's folder.
///
/// # Panics
/// Never: this crate lies in a folder of the project.
pub fn root() -> PathBuf {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    manifest
        .parent()
        .expect("this crate lies in a folder of the project")
        .to_owned()
}

/// Cargo, started in the project's folder.
///
/// Removes the variables in which the calling cargo describes the running package. Build scripts of the cryptography
/// libraries depend on them: otherwise these libraries and all crates above them would be rebuilt here, and again by
/// the next `cargo build`.
pub fn cargo() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root());
    let of_package = ["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_BIN_"];
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if of_package.iter().any(|prefix| text.starts_with(prefix)) {
            command.env_remove(&name);
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
        .args(["build", "--release", "--quiet"])
        .args(["--package", package, "--bin", binary])
        .status()
        .context("starting cargo")?;
    ensure!(status.success(), "building {binary} failed");
    Ok(root().join("target/release").join(binary))
}

/// Ends a command of the project: an error goes to stderr with its causes, and fails the command.
#[allow(clippy::print_stderr, reason = "how a command-line program ends")]
pub fn exit_code(name: &str, outcome: anyhow::Result<()>) -> ExitCode {
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{name}: {error:#}");
            ExitCode::FAILURE
        }
    }
}
