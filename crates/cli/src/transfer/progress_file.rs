//! The progress file, in which an import or a copy records its position. The same command with `--resume` continues
//! from there, also after `kill -9`. `--state` names the file; its default name is derived from source and destination.

use crate::error::{Because as _, CommandError};
use partita_tools::transfer::TransferError;
use sha2::{Digest as _, Sha256};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// Bytes of the job's hash in the name of its file.
const HASH_BYTES: usize = 8;

/// Whether to resume, and where progress is recorded.
#[derive(Debug, clap::Args)]
pub(super) struct ProgressFileArgs {
    /// Resume an interrupted run, if there is one
    #[arg(long)]
    pub(super) resume: bool,
    /// Discard an interrupted run, and start again
    #[arg(long, conflicts_with = "resume")]
    restart: bool,
    /// Progress file [default: a file in ~/.local/state/partita, deleted at the end]
    #[arg(long, value_name = "FILE")]
    pub(super) state: Option<PathBuf>,
}

/// A command, its source and its destination, which together determine the name of the progress file.
pub(super) struct Job<'a> {
    pub(super) command: &'static str,
    pub(super) from: &'a str,
    pub(super) to: &'a str,
}

/// The progress file of a run.
pub(super) struct ProgressFile {
    command: &'static str,
    /// The progress file; `None` on a dry run, and if the user has no directory for such files.
    pub(super) path: Option<PathBuf>,
    /// Whether there is a run to resume.
    pub(super) is_resumed: bool,
}

impl ProgressFile {
    /// The progress file of a job. Fails if an interrupted run has left one, unless the flags resume or discard that
    /// run.
    pub(super) fn new(
        args: &ProgressFileArgs,
        dry_run: bool,
        &Job { command, from, to }: &Job<'_>,
    ) -> Result<Self, CommandError> {
        if dry_run {
            return Ok(Self {
                command,
                path: None,
                is_resumed: false,
            });
        }
        let path = match &args.state {
            Some(path) => Some(path.clone()),
            None => directory().map(|directory| directory.join(file_name(command, from, to))),
        };
        let exists = path.as_ref().is_some_and(|path| path.exists());
        match &path {
            Some(path) if exists && args.restart => {
                std::fs::remove_file(path).because(unusable(path))?;
            }
            Some(path) if exists && !args.resume => {
                let path = path.display();
                return Err(CommandError::usage(format!(
                    "this {command} was interrupted before ({path}): --resume resumes it, --restart discards it"
                )));
            }
            Some(path) => {
                let folder = path.parent().unwrap_or(Path::new(""));
                std::fs::create_dir_all(folder).because(unusable(path))?;
            }
            None => {}
        }
        Ok(Self {
            command,
            path,
            is_resumed: exists && args.resume,
        })
    }

    /// Prints how to resume, if the run can be resumed after this error. An error of a progress file of another job
    /// becomes one that names `--restart`.
    pub(super) fn explain(&self, error: CommandError) -> CommandError {
        if matches!(&error, CommandError::Transfer(error) if matches!(**error, TransferError::OtherJob(_)))
        {
            let command = self.command;
            return CommandError::usage(format!(
                "the interrupted {command} had other arguments, or its input has changed; --restart discards it"
            ));
        }
        if self.path.as_ref().is_some_and(|path| path.exists()) {
            super::suggest_resume(&error);
        }
        error
    }
}

fn unusable(path: &Path) -> String {
    format!("cannot use the progress file {}", path.display())
}

/// The user's directory for progress files, by the XDG base directory specification.
fn directory() -> Option<PathBuf> {
    let variable = |name| std::env::var_os(name).filter(|value| !value.is_empty());
    let state = variable("XDG_STATE_HOME").map(PathBuf::from);
    let home = || Some(PathBuf::from(variable("HOME")?).join(".local/state"));
    let local = || variable("LOCALAPPDATA").map(PathBuf::from);
    Some(state.or_else(home).or_else(local)?.join("partita"))
}

fn file_name(command: &str, from: &str, to: &str) -> String {
    let hash = Sha256::digest(format!("{from}\n{to}"));
    let mut name = format!("{command}-");
    for byte in hash.iter().take(HASH_BYTES) {
        let _ = write!(name, "{byte:02x}");
    }
    name + ".json"
}
