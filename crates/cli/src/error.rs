//! How a command ends: its outcome or its error, and the exit code of each.

use partita_client::ErrorCode;
use partita_migrate::{MigrateError, MigrationsError};
use partita_tools::admin::AdminError;
use partita_tools::fleet::FleetError;
use partita_tools::purge::PurgeError;
use partita_tools::scan::{InvalidQuery, InvalidToken, ScanError};
use partita_tools::stress::SampleError;
use partita_tools::transfer::{DiffError, TransferError};
use partita_wire::table::InvalidFilter;
use std::error::Error;
use std::io;
use std::process::ExitCode;
use thiserror::Error;

/// How a command ended.
pub(crate) type CommandResult = Result<Outcome, CommandError>;

/// The end of a command that did not fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Something was found, or done: exit code 0.
    Done,
    /// Nothing was found: exit code 1.
    NothingFound,
    /// The compared or checked data differs: exit code 1.
    Differs,
    /// In a stress run, the load exceeded a target, the server refused attempts, or operations failed: exit code 1.
    OverTarget,
}

impl Outcome {
    /// The outcome of a command that counted its results.
    pub(crate) fn of_count(found: u64) -> Self {
        match found {
            0 => Self::NothingFound,
            _ => Self::Done,
        }
    }
}

impl From<Outcome> for ExitCode {
    fn from(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Done => Self::SUCCESS,
            Outcome::NothingFound | Outcome::Differs | Outcome::OverTarget => Self::from(1),
        }
    }
}

/// Why a command failed: exit code 2.
#[derive(Debug, Error)]
pub(crate) enum CommandError {
    /// The command line, or a file or table that it names, is invalid.
    #[error("{0}")]
    Usage(String),
    /// A command needs confirmation, and cannot ask for it.
    #[error("add --yes to {0}: cannot ask for confirmation, stdin or stderr is not a terminal")]
    NeedsYes(String),
    /// The user answered no.
    #[error("cancelled, nothing was changed")]
    Declined,
    /// Ctrl-C or SIGTERM.
    #[error("interrupted")]
    Interrupted,
    /// A second Ctrl-C or SIGTERM while the server stopped.
    #[error("stopped by a second signal: open requests were aborted")]
    StoppedAtOnce,
    /// Another server has taken over the object store of a server.
    #[error("stopped serving: {0}")]
    Fenced(std::sync::Arc<str>),
    /// Output cannot be written.
    #[error("cannot write the output")]
    Output(#[source] io::Error),
    /// Input cannot be read.
    #[error("cannot read the input")]
    Input(#[source] io::Error),
    #[error(transparent)]
    Client(#[from] partita_client::Error),
    #[error(transparent)]
    Scan(#[from] ScanError),
    #[error(transparent)]
    Transfer(Box<TransferError>),
    #[error(transparent)]
    Diff(#[from] DiffError),
    #[error(transparent)]
    Purge(#[from] PurgeError),
    #[error(transparent)]
    Fleet(#[from] FleetError),
    #[error(transparent)]
    Migrate(#[from] MigrateError),
    #[error(transparent)]
    Migrations(#[from] MigrationsError),
    #[error(transparent)]
    Query(#[from] InvalidQuery),
    #[error(transparent)]
    Filter(#[from] InvalidFilter),
    #[error(transparent)]
    Token(#[from] InvalidToken),
    #[error(transparent)]
    Admin(#[from] AdminError),
    #[error(transparent)]
    Sample(#[from] SampleError),
    #[error(transparent)]
    Settings(#[from] partita_server::config::Error),
    #[error(transparent)]
    Server(#[from] partita_server::serve::Error),
    #[error(transparent)]
    Check(#[from] partita_server::check::Error),
    /// What failed, and why.
    #[error("{what}")]
    Because {
        what: String,
        source: Box<dyn Error + Send + Sync>,
    },
}

impl From<TransferError> for CommandError {
    fn from(error: TransferError) -> Self {
        Self::Transfer(Box::new(error))
    }
}

impl CommandError {
    /// A [`Self::Usage`] error with this text.
    pub(crate) fn usage(text: impl Into<String>) -> Self {
        Self::Usage(text.into())
    }

    /// Adds the name of the table, and what to do, to the answer of the service for a missing table.
    pub(crate) fn of_table(self, name: &str, remedy: &str) -> Self {
        match self {
            Self::Client(error) if error.code() == Some(ErrorCode::TableNotFound) => {
                Self::Because {
                    what: format!("table {name} does not exist{remedy}"),
                    source: error.into(),
                }
            }
            error => error,
        }
    }

    /// Names the profiles of the accounts, if the error came from a request: the wrong account is then easy to see.
    pub(crate) fn on_profiles<const N: usize>(self, profiles: [Option<String>; N]) -> Self {
        let mut names: Vec<String> = profiles.into_iter().flatten().collect();
        names.dedup();
        if names.is_empty() || self.client_error().is_none() {
            return self;
        }
        Self::Because {
            what: names.join(" and "),
            source: Box::new(self),
        }
    }

    /// The error of the client among the causes.
    pub(crate) fn client_error(&self) -> Option<&partita_client::Error> {
        if let Self::Client(error) = self {
            return Some(error);
        }
        let mut next = self.source();
        while let Some(error) = next {
            // A command's error hides the client's: it passes on the cause of that one.
            if let Some(found) = error.downcast_ref().and_then(Self::client_error) {
                return Some(found);
            }
            let boxed = || Some(&**error.downcast_ref::<Box<partita_client::Error>>()?);
            if let Some(found) = error.downcast_ref().or_else(boxed) {
                return Some(found);
            }
            next = error.source();
        }
        None
    }

    /// Whether the reader of the output closed it, as `head` does: not a failure.
    pub(crate) fn is_closed_pipe(&self) -> bool {
        matches!(self, Self::Output(error) if error.kind() == io::ErrorKind::BrokenPipe)
    }

    /// The error with its causes, each after a colon.
    pub(crate) fn chain(&self) -> String {
        partita_tools::error_chain(self)
    }
}

/// Adds what failed to an error of another crate.
pub(crate) trait Because<T> {
    fn because(self, what: impl Into<String>) -> Result<T, CommandError>;
}

impl<T, E: Into<Box<dyn Error + Send + Sync>>> Because<T> for Result<T, E> {
    fn because(self, what: impl Into<String>) -> Result<T, CommandError> {
        self.map_err(|source| CommandError::Because {
            what: what.into(),
            source: source.into(),
        })
    }
}
