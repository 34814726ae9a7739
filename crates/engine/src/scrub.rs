//! The interface of the scrub, which reads all files of the databases and of the WAL to find damage before a client
//! needs the rows.

use futures::future::BoxFuture;

/// Counts the bytes that a verification reads, and limits its speed.
pub trait Meter: Send + Sync {
    /// Counts the bytes of a part of a file, about 1 MiB. The verification continues when the future completes.
    fn read(&self, bytes: u64) -> BoxFuture<'_, ()>;
}

/// Counts nothing, and does not wait.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoMeter;

impl Meter for NoMeter {
    fn read(&self, _bytes: u64) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }
}

/// The result of a scrub of all open databases and of the WAL.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScrubPass {
    /// The number of files that were read.
    pub files: u64,
    /// The number of files of ranges that are missing or damaged; [`crate::EngineSet::damaged_files`] names them.
    pub damaged: u64,
    /// The files of the WAL that are missing or damaged.
    pub log: Vec<LogFault>,
}

/// A missing or damaged file of the WAL. Its rows are also in memory, so no read fails.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogFault {
    /// Its path in the data directory.
    pub file: String,
    /// What is wrong with it.
    pub problem: String,
}
