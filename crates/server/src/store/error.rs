//! Why the data of a server cannot be opened.

use partita_cluster::StartError;
use partita_engine::OpenError;
use partita_rt::data_dir;
use partita_rt::place::{PlaceError, ProbeError};

use super::identity::IdentityError;
use super::version::VersionError;

/// Why the data of a server cannot be opened. Most reasons need a change by the operator.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The data directory cannot be used.
    #[error("cannot use the data directory")]
    DataDir(#[from] data_dir::Error),
    /// The object store cannot be opened.
    #[error("cannot use the store {place}")]
    Place {
        /// The URL of the store.
        place: String,
        /// The reason.
        source: PlaceError,
    },
    /// The object store failed its probe.
    #[error("cannot use the store {place}")]
    Probe {
        /// The URL of the store.
        place: String,
        /// The reason.
        source: ProbeError,
    },
    /// The object store is not the expected one.
    #[error("cannot use the store {place}")]
    Identity {
        /// The URL of the store.
        place: String,
        /// The reason.
        source: IdentityError,
    },
    /// The object store has a cluster version that the program does not support.
    #[error("cannot use the store {place}")]
    Version {
        /// The URL of the store.
        place: String,
        /// The reason.
        source: VersionError,
    },
    /// The directory of the disk cache cannot be used.
    #[error("cannot use the directory of --disk-cache")]
    DiskCache(#[source] data_dir::Error),
    /// The data cannot be opened.
    #[error("cannot open {data}")]
    Open {
        /// The data directory or the store.
        data: String,
        /// The engine's reason.
        source: OpenError,
    },
    /// The ranges of the data cannot be opened.
    #[error("cannot open {data}")]
    Ranges {
        /// The data directory or the store.
        data: String,
        /// The cluster's reason.
        source: StartError,
    },
}
