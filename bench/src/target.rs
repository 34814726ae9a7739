//! The servers of the comparison, each started on its own empty directory.

use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, bail};

use crate::options::{Options, TargetKind};
use crate::{ServerProcess, admin, project};

/// Longest time from the start of a server to its ready line. Azurite with a cold cache needs several seconds.
const START_DEADLINE: Duration = Duration::from_secs(60);

/// A running server and its directory, which is deleted with it.
#[derive(Debug)]
pub(crate) struct Target {
    /// Which server it is.
    pub(crate) kind: TargetKind,
    /// The process of the server.
    pub(crate) process: ServerProcess,
    /// The server's admin port, if it has one.
    pub(crate) admin: Option<SocketAddr>,
    /// Dropped after the process.
    directory: tempfile::TempDir,
}

impl Target {
    /// Starts a server of this kind on an empty folder.
    ///
    /// # Errors
    /// When the program is missing, or prints no ready line in time.
    pub(crate) fn start(kind: TargetKind, options: &Options) -> anyhow::Result<Self> {
        let scratch = options.scratch()?;
        let directory = tempfile::Builder::new()
            .prefix(&format!("{}-", kind.name()))
            .tempdir_in(&scratch)
            .with_context(|| format!("making a folder in {}", scratch.display()))?;
        let (command, admin) = command(kind, options, directory.path())?;
        Ok(Self {
            kind,
            process: ServerProcess::start(command, START_DEADLINE)?,
            admin,
            directory,
        })
    }

    /// Stops the server, and starts it again on the same directory.
    ///
    /// # Errors
    /// When it prints no ready line in time.
    pub(crate) fn restart(&mut self, options: &Options) -> anyhow::Result<()> {
        self.process.terminate()?;
        let (command, admin) = command(self.kind, options, self.directory.path())?;
        self.process = ServerProcess::start(command, START_DEADLINE)?;
        self.admin = admin;
        Ok(())
    }
}

/// The command line of a server on a directory, and its admin port if it has one.
fn command(
    kind: TargetKind,
    options: &Options,
    directory: &Path,
) -> anyhow::Result<(Command, Option<SocketAddr>)> {
    let mut admin = None;
    let command = match kind {
        TargetKind::Partita => partita_command(&options.partita()?, directory),
        TargetKind::Split => {
            let mut command = partita_command(&options.partita()?, directory);
            admin = Some(open_admin_port(&mut command)?);
            command
        }
        TargetKind::Before => {
            let program = options.before.as_deref();
            let program = program.context("the target `before` needs --before FILE")?;
            partita_command(program, directory)
        }
        TargetKind::Bare => Command::new(project::build("partita-bench", "bare-http")?),
        TargetKind::Payload => Command::new(project::build("partita-payload", "payload-http")?),
        TargetKind::PayloadLog => {
            let mut command = Command::new(project::build("partita-payload", "payload-http")?);
            command.arg(directory.join("log"));
            command
        }
        TargetKind::Azurite if options.queues => azurite_with_queues_command(directory)?,
        TargetKind::Azurite => azurite_command(directory)?,
    };
    Ok((command, admin))
}

/// The command line of Partita's server on a directory, with a free port and without the admin port.
pub fn partita_command(program: &Path, directory: &Path) -> Command {
    let mut command = Command::new(program);
    command.args(["serve", "--table-port", "0", "--admin-port", "0"]);
    command.arg("--location").arg(directory);
    command
}

/// Gives a command of [`partita_command`] an admin port, and returns its address.
///
/// # Errors
/// When this machine has no free port.
pub fn open_admin_port(command: &mut Command) -> anyhow::Result<SocketAddr> {
    let admin = admin::free_port()?;
    command.args(["--admin-port", &admin.port().to_string()]);
    Ok(admin)
}

/// The command line of Azurite's table server.
///
/// # Errors
/// When Azurite is not installed.
pub(crate) fn azurite_command(directory: &Path) -> anyhow::Result<Command> {
    azurite("table/main.js", &["--tablePort"], directory)
}

/// The command line of Azurite with all its services.
fn azurite_with_queues_command(directory: &Path) -> anyhow::Result<Command> {
    let ports = ["--blobPort", "--queuePort", "--tablePort"];
    azurite("azurite.js", &ports, directory)
}

/// The command line of a program of Azurite, with free ports.
fn azurite(program: &str, ports: &[&str], directory: &Path) -> anyhow::Result<Command> {
    let modules = project::root().join(".deps/node/node_modules");
    let program = modules.join("azurite/dist/src").join(program);
    if !program.exists() {
        bail!("Azurite is not installed in .deps; `./test` installs it");
    }
    // The npm package `node` brings the Node 22 that Azurite 3.36 and later need; an older system Node does not run it.
    let node = modules.join("node/bin/node");
    let node = if node.exists() { node } else { "node".into() };
    let mut command = Command::new(node);
    command
        .arg(program)
        .args(["--silent", "--disableTelemetry", "--skipApiVersionCheck"])
        .arg("--location")
        .arg(directory);
    for flag in ports {
        command.args([*flag, &admin::free_port()?.port().to_string()]);
    }
    Ok(command)
}
