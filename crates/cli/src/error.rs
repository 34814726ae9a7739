//! How a verb ends.

use partita_client::ErrorKind;
use partita_tools::admin::AdminError;
use partita_tools::migrate::{MigrateError, MigrationsError};
use partita_tools::purge::PurgeError;
use partita_tools::scan::{InvalidQuery, InvalidToken, ScanError};
use partita_tools::stress::{InvalidReport, SampleError};
use partita_tools::transfer::TransferError;
use std::error::Error;
use std::io;
use std::process::ExitCode;
use thiserror::Error;

/// The end of a verb that did not fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// Something was found, or done: exit code 0.
    Done,
    /// Nothing was found: exit code 1.
    NothingFound,
    /// What was compared differs: exit code 1.
    Differs,
    /// What was tried takes more than is promised: exit code 1.
    OverTarget,
}

impl End {
    /// That of a verb that found so many.
    pub(crate) fn of_count(found: u64) -> Self {
        match found {
            0 => Self::NothingFound,
            _ => Self::Done,
        }
    }
}

impl From<End> for ExitCode {
    fn from(end: End) -> Self {
        match end {
            End::Done => Self::SUCCESS,
            End::NothingFound | End::Differs | End::OverTarget => Self::from(1),
        }
    }
}

/// Why a verb failed: exit code 2.
#[derive(Debug, Error)]
pub(crate) enum Failure {
    /// The command line, or what it refers to, does not make sense.
    #[error("{0}")]
    Usage(String),
    /// There is nobody to ask.
    #[error("{0}: add --yes, as there is no terminal to ask on")]
    NeedsYes(String),
    /// The user was asked and said no.
    #[error("nothing was done")]
    Declined,
    /// A signal came.
    #[error("interrupted")]
    Interrupted,
    /// Data cannot be written.
    #[error("cannot write the output")]
    Output(#[source] io::Error),
    /// Data cannot be read.
    #[error("cannot read the input")]
    Input(#[source] io::Error),
    #[error(transparent)]
    Client(#[from] partita_client::Error),
    #[error(transparent)]
    Scan(#[from] ScanError),
    #[error(transparent)]
    Transfer(Box<TransferError>),
    #[error(transparent)]
    Purge(#[from] PurgeError),
    #[error(transparent)]
    Migrate(#[from] MigrateError),
    #[error(transparent)]
    Migrations(#[from] MigrationsError),
    #[error(transparent)]
    Query(#[from] InvalidQuery),
    #[error(transparent)]
    Token(#[from] InvalidToken),
    #[error(transparent)]
    Admin(#[from] AdminError),
    #[error(transparent)]
    Sample(#[from] SampleError),
    /// A file that is no report of a stress test.
    #[error("{path} cannot be read as a report")]
    Report {
        path: String,
        #[source]
        source: InvalidReport,
    },
    /// A row that is none.
    #[error("a row cannot be read")]
    Row(#[source] Box<dyn Error + Send + Sync>),
}

impl From<TransferError> for Failure {
    fn from(error: TransferError) -> Self {
        Self::Transfer(Box::new(error))
    }
}

impl Failure {
    /// What is wrong with the command line.
    pub(crate) fn usage(text: impl Into<String>) -> Self {
        Self::Usage(text.into())
    }

    /// A row that is none.
    pub(crate) fn row(error: impl Error + Send + Sync + 'static) -> Self {
        Self::Row(Box::new(error))
    }

    /// Whether the reader of our output went away, as `head` does: no failure of ours.
    pub(crate) fn is_closed_pipe(&self) -> bool {
        matches!(self, Self::Output(error) if error.kind() == io::ErrorKind::BrokenPipe)
    }

    /// Whether no connection could be made.
    pub(crate) fn is_nobody_there(&self) -> bool {
        type ClientError = partita_client::Error;
        let is_connect = |error: &ClientError| error.kind() == ErrorKind::Connect;
        if let Self::Client(error) = self {
            return is_connect(error);
        }
        let mut next = self.source();
        while let Some(error) = next {
            let boxed = || Some(&**error.downcast_ref::<Box<ClientError>>()?);
            if error.downcast_ref().or_else(boxed).is_some_and(is_connect) {
                return true;
            }
            next = error.source();
        }
        false
    }

    /// The failure with its causes, each after a colon.
    pub(crate) fn chain(&self) -> String {
        let mut text = self.to_string();
        let mut cause = self.source();
        while let Some(error) = cause {
            let next = error.to_string();
            // Some errors repeat their cause in their own text.
            if !text.ends_with(&next) {
                text.push_str(": ");
                text.push_str(&next);
            }
            cause = error.source();
        }
        text
    }
}
