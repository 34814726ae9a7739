//! The progress file, in which an import or a copy records its position. The same command with `--resume` continues
//! from there, also after `kill -9`. `--state` names the file; its default name is derived from source and destination.

use crate::error::{Because as _, CommandError};
use crate::progress::message;
use partita_tools::transfer::{Mode, TransferError, WriteError};
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
    mode: Mode,
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
        (dry_run, mode): (bool, Mode),
        &Job { command, from, to }: &Job<'_>,
    ) -> Result<Self, CommandError> {
        let mut file = Self {
            command,
            mode,
            path: None,
            is_resumed: false,
        };
        if dry_run {
            return Ok(file);
        }
        file.path = match &args.state {
            Some(path) => Some(path.clone()),
            None => directory().map(|directory| directory.join(file_name(command, from, to))),
        };
        let Some(path) = &file.path else {
            return Ok(file);
        };
        let exists = path.exists();
        if exists && args.restart {
            std::fs::remove_file(path).because(unusable(path))?;
        } else if exists && !args.resume {
            return Err(CommandError::usage(format!(
                "this {command} was interrupted before ({}): --resume resumes it, {} starts again",
                path.display(),
                file.restart(),
            )));
        } else if args.state.is_none() {
            let folder = path.parent().unwrap_or(Path::new(""));
            std::fs::create_dir_all(folder).because(unusable(path))?;
        }
        file.is_resumed = exists && args.resume;
        Ok(file)
    }

    /// The flags that start again after rows were written: an insert must skip these rows.
    fn restart(&self) -> &'static str {
        match self.mode {
            Mode::Insert => "--restart --mode skip",
            Mode::Merge | Mode::Replace | Mode::SkipExisting => "--restart",
        }
    }

    /// Explains an error: prints how to resume, if the run can be resumed, or adds the flags with which the command can
    /// be repeated.
    pub(super) fn explain(&self, error: CommandError) -> CommandError {
        let (command, restart) = (self.command, self.restart());
        let has_written = self.path.as_ref().is_some_and(|path| path.exists());
        let CommandError::Transfer(cause) = &error else {
            if has_written {
                super::suggest_resume(&error);
            }
            return error;
        };
        match &**cause {
            TransferError::InputChanged(_) => CommandError::usage(format!(
                "the file has changed since this {command} was interrupted, so it cannot be resumed: {restart} starts again"
            )),
            TransferError::OtherJob(_) => CommandError::usage(format!(
                "the interrupted {command} had other arguments: --resume needs the same ones, {restart} starts again"
            )),
            TransferError::Write(WriteError::Exists { .. }) => explain_exists(cause, has_written),
            TransferError::Rows { .. } | TransferError::Damaged { .. } if has_written => {
                message(&format!(
                    "rows before the error were written: correct the file, then repeat the command with {restart}"
                ));
                error
            }
            _ => {
                if has_written {
                    super::suggest_resume(&error);
                }
                error
            }
        }
    }
}

/// Adds to the error of an existing row how the command can be repeated. `has_written` says whether this run has
/// written rows, and can be resumed.
pub(super) fn explain_exists(error: &TransferError, has_written: bool) -> CommandError {
    let restart = if has_written { "--restart " } else { "" };
    CommandError::usage(format!(
        "{error}: {restart}--mode skip keeps existing rows, --mode merge or replace changes them"
    ))
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
