//! The servers that are compared, each started fresh on a directory of its own.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::str::FromStr;
use std::time::Duration;

use anyhow::{Context, bail};

use crate::{ServerProcess, admin};

/// Time a server may take to its ready line; Azurite on a cold cache needs several seconds.
const START_DEADLINE: Duration = Duration::from_secs(60);

/// Which server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TargetKind {
    /// This project's, durable.
    Partita,
    /// This project's, with the same data in 16 ranges.
    Split,
    /// Another build of this project's, durable: what a change made of the speed.
    Before,
    /// A hyper server that reads each request and answers prepared bytes: the ceiling on this machine.
    Bare,
    /// The emulator: not durable, it writes its whole state every few seconds.
    Azurite,
}

impl TargetKind {
    /// All, in the order of the table.
    pub const ALL: [Self; 5] = [
        Self::Partita,
        Self::Split,
        Self::Before,
        Self::Bare,
        Self::Azurite,
    ];

    /// The name on the command line, in the table and in JSON.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Partita => "partita",
            Self::Split => "split",
            Self::Before => "before",
            Self::Bare => "bare",
            Self::Azurite => "azurite",
        }
    }
}

impl FromStr for TargetKind {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> anyhow::Result<Self> {
        match Self::ALL.into_iter().find(|kind| kind.name() == text) {
            Some(kind) => Ok(kind),
            None => bail!("no target {text:?}; there are partita, split, before, bare, azurite"),
        }
    }
}

/// Where the programs of the servers are, and where their data goes.
#[derive(Clone, Debug)]
pub struct Programs {
    /// The project's folder.
    pub root: PathBuf,
    /// The program of our server.
    pub partita: PathBuf,
    /// Another build of it, which the target `before` needs.
    pub before: Option<PathBuf>,
    /// Folder for the servers' data.
    pub scratch: PathBuf,
}

/// A running server with its directory, which is deleted with it.
#[derive(Debug)]
pub struct Target {
    /// Which server it is.
    pub kind: TargetKind,
    /// Its process.
    pub process: ServerProcess,
    /// Its admin port, where it was given one.
    pub admin: Option<SocketAddr>,
    /// Dropped after the process.
    _directory: tempfile::TempDir,
}

impl Target {
    /// Starts a server of this kind on a fresh folder.
    ///
    /// # Errors
    /// When the program is not there or does not get ready.
    pub(crate) fn start(kind: TargetKind, programs: &Programs) -> anyhow::Result<Self> {
        let (root, scratch) = (&programs.root, &programs.scratch);
        let directory = tempfile::Builder::new()
            .prefix(&format!("{}-", kind.name()))
            .tempdir_in(scratch)
            .with_context(|| format!("making a folder in {}", scratch.display()))?;
        let admin = match kind {
            TargetKind::Split => Some(admin::free_port()?),
            TargetKind::Partita | TargetKind::Before | TargetKind::Bare | TargetKind::Azurite => {
                None
            }
        };
        let command = match kind {
            TargetKind::Partita | TargetKind::Split => {
                let mut command = partita_command(&programs.partita, directory.path());
                if let Some(admin) = admin {
                    command.args(["--admin-port", &admin.port().to_string()]);
                }
                command
            }
            TargetKind::Before => {
                let program = programs.before.as_deref();
                partita_command(
                    program.context("no program to compare with")?,
                    directory.path(),
                )
            }
            TargetKind::Bare => Command::new(root.join("target/release/bare-http")),
            TargetKind::Azurite => azurite_command(root, directory.path())?,
        };
        Ok(Self {
            kind,
            process: ServerProcess::start(command, START_DEADLINE)?,
            admin,
            _directory: directory,
        })
    }
}

/// The command line of our server on a directory, with a free port and without the admin port.
#[must_use]
pub fn partita_command(program: &Path, directory: &Path) -> Command {
    let mut command = Command::new(program);
    command
        .args([
            "serve",
            "--table-port",
            "0",
            "--admin-port",
            "0",
            "--location",
        ])
        .arg(directory);
    command
}

/// Whether Azurite and a Node that runs it are there; the reason when not.
///
/// # Errors
/// Says what is missing.
pub fn azurite_available(root: &Path) -> anyhow::Result<()> {
    azurite_command(root, root).map(|_| ())
}

fn azurite_command(root: &Path, directory: &Path) -> anyhow::Result<Command> {
    let modules = root.join(".deps/node/node_modules");
    let program = modules.join("azurite/dist/src/table/main.js");
    if !program.exists() {
        bail!("Azurite is not installed in .deps; `./test` installs it");
    }
    // The npm package `node` brings the Node 22 that Azurite 3.36 and later want; an older system Node will not do.
    let node = modules.join("node/bin/node");
    let mut command = Command::new(if node.exists() {
        node
    } else {
        PathBuf::from("node")
    });
    command
        .arg(program)
        .args([
            "--silent",
            "--disableTelemetry",
            "--skipApiVersionCheck",
            "--tablePort",
        ])
        .arg(admin::free_port()?.port().to_string())
        .arg("--location")
        .arg(directory);
    Ok(command)
}
