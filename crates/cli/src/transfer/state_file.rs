//! Where an import or a copy keeps how far it is, so that it can be gone on with also after `kill -9`, by the same command with
//! `--resume`: a file that `--state` names, or one of this user's that is called by what is done.

use crate::args::switch;
use crate::error::Failure;
use clap::{Arg, ArgMatches, Command};
use sha2::{Digest as _, Sha256};
use std::fmt::Write as _;
use std::path::PathBuf;

/// Bytes of the job's hash in the name of its file.
const HASH_BYTES: usize = 8;

/// The state of a job.
pub(crate) struct StateFile {
    verb: &'static str,
    /// None where this user has no place for it.
    pub(crate) path: Option<PathBuf>,
    /// Whether there is one to go on with.
    pub(crate) is_resumed: bool,
}

/// Adds the flags.
pub(crate) fn add(command: Command) -> Command {
    let state = Arg::new("state")
        .long("state")
        .value_name("FILE")
        .value_parser(clap::value_parser!(PathBuf))
        .help("Where to keep how far it is [default: a file in ~/.local/state/partita that goes when all is done]");
    command
        .arg(switch(
            "resume",
            "Go on where an interrupted run stopped, if there was one",
        ))
        .arg(switch("restart", "Forget an interrupted run, and begin").conflicts_with("resume"))
        .arg(state)
}

impl StateFile {
    /// The state of this verb between these two places.
    pub(crate) fn of(
        matches: &ArgMatches,
        verb: &'static str,
        from: &str,
        to: &str,
    ) -> Result<Self, Failure> {
        let path = match matches.get_one::<PathBuf>("state") {
            Some(path) => Some(path.clone()),
            None => directory().map(|directory| directory.join(name(verb, from, to))),
        };
        let is_there = path.as_ref().is_some_and(|path| path.exists());
        let wants = |flag| matches.get_flag(flag);
        if wants("dry-run") {
            return Ok(Self {
                verb,
                path: None,
                is_resumed: false,
            });
        }
        match &path {
            Some(path) if is_there && wants("restart") => {
                std::fs::remove_file(path).map_err(Failure::Input)?;
            }
            Some(path) if is_there && !wants("resume") => {
                let path = path.display();
                return Err(Failure::usage(format!(
                    "an interrupted {verb} of the same is there ({path}): --resume goes on with it, --restart forgets it"
                )));
            }
            Some(path) => {
                let parent = path
                    .parent()
                    .filter(|parent| !parent.as_os_str().is_empty());
                if let Some(parent) = parent {
                    std::fs::create_dir_all(parent).map_err(Failure::Input)?;
                }
            }
            None => {}
        }
        Ok(Self {
            verb,
            path,
            is_resumed: is_there && wants("resume"),
        })
    }

    /// Says how to go on after a failure, if there is something to go on with.
    pub(crate) fn after(&self, failure: Failure) -> Failure {
        use partita_tools::transfer::TransferError::OtherJob;
        if matches!(&failure, Failure::Transfer(error) if matches!(**error, OtherJob(_))) {
            let verb = self.verb;
            return Failure::usage(format!(
                "the interrupted {verb} had other arguments, or another version of its file; --restart forgets it"
            ));
        }
        if self.path.as_ref().is_some_and(|path| path.exists()) {
            super::say_resume(&failure);
        }
        failure
    }
}

/// The user's place for such files, as the XDG base directory specification has it.
fn directory() -> Option<PathBuf> {
    let variable = |name| std::env::var_os(name).filter(|value| !value.is_empty());
    let state = variable("XDG_STATE_HOME").map(PathBuf::from);
    let home = || Some(PathBuf::from(variable("HOME")?).join(".local/state"));
    let local = || variable("LOCALAPPDATA").map(PathBuf::from);
    Some(state.or_else(home).or_else(local)?.join("partita"))
}

fn name(verb: &str, from: &str, to: &str) -> String {
    let hash = Sha256::digest(format!("{from}\n{to}"));
    let mut name = format!("{verb}-");
    for byte in hash.iter().take(HASH_BYTES) {
        // A text takes all that is written.
        let _ = write!(name, "{byte:02x}");
    }
    name + ".json"
}
