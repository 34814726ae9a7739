//! Why a server cannot be a member of its cluster.

use std::io;

use partita_coordinator::StateDirError;
use partita_peer::{InvalidName, KeyError};

/// Why a server cannot be a member of its cluster.
#[derive(Debug, thiserror::Error)]
pub enum JoinError {
    /// The cluster key cannot be used.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// The name of the server is not valid.
    #[error(transparent)]
    Name(#[from] InvalidName),
    /// The state directory cannot be used, perhaps because another process uses it.
    #[error(transparent)]
    StateDir(#[from] StateDirError),
    /// The files of TLS for etcd cannot be used.
    #[error("cannot use the TLS files of etcd")]
    Etcd(#[source] io::Error),
}
