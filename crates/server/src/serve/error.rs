//! Why a server does not start.

use std::path::PathBuf;

use crate::front::{InvalidAccount, InvalidSetting};
use crate::member::join_error::JoinError;
use crate::{store, tls};

/// Why a server does not start. Most reasons need a change by the operator.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// An address is not available for listening.
    #[error(
        "cannot listen on {host}:{port}; --{flag} chooses another port{}",
        or_none(flag)
    )]
    Bind {
        /// The configured host.
        host: String,
        /// The configured port.
        port: u16,
        /// The flag that changes the port.
        flag: &'static str,
        /// The system's reason.
        source: std::io::Error,
    },
    /// The certificates cannot be used.
    #[error("cannot serve HTTPS")]
    Tls(#[from] tls::Error),
    /// The data cannot be opened.
    #[error(transparent)]
    Store(#[from] store::Error),
    /// The server cannot be a member of its cluster.
    #[error("cannot join the cluster")]
    Join(#[from] JoinError),
    /// An account of the settings is invalid.
    #[error(transparent)]
    Account(#[from] InvalidAccount),
    /// The keys of the token issuer cannot be read.
    #[error("cannot read the keys of the token issuer from {} (--oauth-jwks)", path.display())]
    Jwks {
        /// The file of `--oauth-jwks`.
        path: PathBuf,
        /// The system's reason, or the parser's.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// A setting has characters that are not allowed in the header that carries it.
    #[error(transparent)]
    InvalidSetting(#[from] InvalidSetting),
}

/// What the flag of a port means with the value 0, if the port is not needed.
fn or_none(flag: &str) -> &'static str {
    match flag {
        "queue-port" => ", or 0 for no queues",
        _ => "",
    }
}
