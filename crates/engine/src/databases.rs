//! The trait between the ranges of a process and what keeps them.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;

use crate::{Engine, Health, KeyRange, OpenError, Stats};

/// The identity of a range, and of the database that keeps it. Never used again for another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RangeId(pub u64);

impl fmt::Display for RangeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A piece of a database that another one takes over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    /// Whose rows.
    pub source: RangeId,
    /// Which of them: an end that is bounded includes its start and excludes its end.
    pub range: KeyRange,
}

/// The databases of a process, one for each range. They share one log, one commit loop and one cache. Used as
/// `Arc<dyn Databases>`.
///
/// A database is made whole by [`Databases::open`] or from pieces of others by [`Databases::derive`]; a derived one shares the
/// files of its sources until [`Engine::rewrite`] has copied what it sees of them.
#[async_trait]
pub trait Databases: Send + Sync + 'static {
    /// Opens the database of a range, made empty when there is none. A range is open at most once.
    ///
    /// # Errors
    /// See [`OpenError`].
    async fn open(&self, range: RangeId) -> Result<Arc<dyn Engine>, OpenError>;

    /// Says that the ranges opened so far are all there are: what the log still has of others is given up.
    async fn forget_others(&self);

    /// Makes the database of `target` from pieces of others, which lie in key order and do not overlap. Copies no rows. The
    /// sources are open, no batch of them is in flight, and [`Engine::flush`] was called since the last one. They stay as they
    /// are. Several may be derived at the same time. Not cancel safe: what was begun is removed by [`Databases::remove`], or finished by asking again.
    ///
    /// # Errors
    /// [`ChangeError`]; the target may be there in part.
    async fn derive(&self, target: RangeId, pieces: &[Piece]) -> Result<(), ChangeError>;

    /// Removes the database of a range that is not open, unless others still read its files. Removing one that is not there is
    /// no error.
    ///
    /// # Errors
    /// [`ChangeError`]; it can be tried again.
    async fn remove(&self, range: RangeId) -> Result<Removal, ChangeError>;

    /// The ranges that have a database, whole or in part, in ascending order.
    ///
    /// # Errors
    /// [`ChangeError`].
    async fn list(&self) -> Result<Vec<RangeId>, ChangeError>;

    /// What was counted since the process began, over all ranges. Takes some microseconds.
    fn stats(&self) -> Stats;

    /// Whether reads and writes are served now. Cheap.
    fn health(&self) -> Health;

    /// Ends all databases: later calls are refused, batches already submitted are finished first, background work stops.
    /// Idempotent.
    async fn close(&self);
}

/// What became of a database that was to be removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Removal {
    /// It is gone, or was not there.
    Gone,
    /// Another database, or a snapshot, still reads its files.
    Needed,
}

/// Why databases were not changed.
#[derive(Debug, Clone, thiserror::Error)]
pub enum ChangeError {
    /// The range is open, or is not, and would have to be the other.
    #[error("range {0} is not in the state for this")]
    State(RangeId),
    /// A source has rows that are not in its files.
    #[error("range {0} was written to since it was flushed")]
    Unsettled(RangeId),
    /// The databases are closed or recovering.
    #[error("the databases cannot be changed now")]
    Unavailable,
    /// The store refused, or what it holds does not fit.
    #[error("the store refused: {0}")]
    Store(#[source] Arc<dyn std::error::Error + Send + Sync>),
}

/// How a database lies in its files, for deciding whether and where to split it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Shape {
    /// Bytes of its rows as stored, rows that are only in memory not counted: an estimate, good to a file.
    pub bytes: u64,
    /// How many files it reads.
    pub files: u64,
    /// How many other databases it shares files with.
    pub sources: u64,
    /// The first key of each of its files, with the bytes in that file, in key order. Empty where keys are not known.
    pub files_by_key: Vec<(Bytes, u64)>,
}
