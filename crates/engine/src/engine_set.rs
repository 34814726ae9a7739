//! The trait between the ranges of a process and what keeps them.

use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;

use crate::{
    Engine, FileUse, Health, KeyRange, OpenError, PinId, Pinned, PinnedRows, RangeId, Stats,
};

/// A piece of a database that another one takes over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyPart {
    /// Whose rows.
    pub source: RangeId,
    /// Which of them: an end that is bounded includes its start and excludes its end.
    pub range: KeyRange,
}

/// The databases of a process, one for each range. They share one log, one commit loop and one cache. Used as
/// `Arc<dyn EngineSet>`.
///
/// A database is made whole by [`EngineSet::open`] or from pieces of others by [`EngineSet::clone_parts`]; a derived one shares the
/// files of its sources until [`Engine::detach`] has copied what it sees of them.
#[async_trait]
pub trait EngineSet: Send + Sync + 'static {
    /// Opens the database of a range, made empty when there is none. A range is open at most once. Cancel safe for a range that was
    /// derived in this life: it is not open then, and may be removed.
    ///
    /// # Errors
    /// See [`OpenError`].
    async fn open(&self, range: RangeId) -> Result<Arc<dyn Engine>, OpenError>;

    /// Says that the ranges opened so far are all there are: what the log still has of others is given up.
    async fn drop_unknown(&self);

    /// Makes the database of `target` from pieces of others, which are open, lie in key order and do not overlap. Copies no rows. It
    /// has all that was acknowledged in its sources before the call, and any of what is written to them during it; they stay as
    /// they are. Several may be derived at the same time. Not cancel safe: what was begun is removed by [`EngineSet::remove`], or
    /// finished by asking again.
    ///
    /// # Errors
    /// [`ChangeError`]; the target may be there in part.
    async fn clone_parts(&self, target: RangeId, pieces: &[KeyPart]) -> Result<(), ChangeError>;

    /// Removes the database of a range that is not open, unless others still read its files. Removing one that is not there is
    /// no error.
    ///
    /// # Errors
    /// [`ChangeError`]; it can be tried again.
    async fn remove(&self, range: RangeId) -> Result<Removal, ChangeError>;

    /// Those of some databases whose files nobody else reads, as far as can be told while others are being derived: what
    /// [`EngineSet::remove`] says is what counts. Reads of every database at most twice, however many are asked about.
    ///
    /// # Errors
    /// [`ChangeError`].
    async fn removable(&self, ranges: &[RangeId]) -> Result<Vec<RangeId>, ChangeError>;

    /// The ranges that have a database, whole or in part, in ascending order.
    ///
    /// # Errors
    /// [`ChangeError`].
    async fn list(&self) -> Result<Vec<RangeId>, ChangeError>;

    /// Pins what these ranges, which are open, hold now, all of them at one point between two commit groups: each batch is in the
    /// pins or is not, and one that was submitted after another was answered is in them only if that one is. Copies no rows.
    /// Writes wait for some milliseconds; calling [`Engine::flush`] before makes the rest of the call short. The pins last until
    /// [`EngineSet::unpin`], also across restarts, and also when their ranges are split, merged and removed. Not cancel safe: what
    /// was begun may come to be.
    ///
    /// # Errors
    /// [`ChangeError`]; some of the ranges may be pinned, or become so: [`EngineSet::pins`] shows them.
    async fn pin(&self, ranges: &[RangeId]) -> Result<Pinned, ChangeError>;

    /// The pins of a range, open or not; none when there is no such database.
    ///
    /// # Errors
    /// [`ChangeError`].
    async fn pins(&self, range: RangeId) -> Result<Vec<PinId>, ChangeError>;

    /// Lets go of a pin. One that is not there is no error.
    ///
    /// # Errors
    /// [`ChangeError`]; it can be tried again.
    async fn unpin(&self, range: RangeId, pin: &PinId) -> Result<(), ChangeError>;

    /// Reads what a range held when it was pinned.
    ///
    /// # Errors
    /// [`ChangeError::NotPinned`], [`ChangeError::Store`].
    async fn open_pin(
        &self,
        range: RangeId,
        pin: &PinId,
    ) -> Result<Arc<dyn PinnedRows>, ChangeError>;

    /// The files that a pin reads, or, without one, the range as it is now. An engine without files has none.
    ///
    /// # Errors
    /// [`ChangeError::NotPinned`], [`ChangeError::Store`].
    async fn files(&self, range: RangeId, pin: Option<&PinId>)
    -> Result<Vec<FileUse>, ChangeError>;

    /// What was counted since the process began, over all ranges. Takes some microseconds.
    fn stats(&self) -> Stats;

    /// Whether reads and writes are served now. Cheap.
    fn health(&self) -> Health;

    /// Ends all databases: later calls are refused, batches already submitted are finished first, background work stops.
    /// Idempotent.
    async fn close(&self);
}

/// What a collection left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Collected {
    /// Nothing but files that later collections remove by themselves.
    All,
    /// Also files that stay until rows are written and flushed: those that nobody needs, but that are newer than the newest
    /// flushed file, because such a file may also be one about to be entered.
    UntilFlush,
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
    /// The range has no such pin.
    #[error("range {0} has no such pin")]
    NotPinned(RangeId),
    /// It would have kept writes waiting for too long, or the store did not finish in time.
    #[error("the store was too busy")]
    Late,
    /// The databases are closed or recovering.
    #[error("the databases cannot be changed now")]
    Unavailable,
    /// The store refused, or what it holds does not fit.
    #[error("the store refused: {0}")]
    Store(#[source] Arc<dyn std::error::Error + Send + Sync>),
}

/// How a database lies in its files, for deciding whether and where to split it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FileLayout {
    /// Bytes of its rows as stored, rows that are only in memory not counted: an estimate, good to a file.
    pub bytes: u64,
    /// How many files it reads.
    pub files: u64,
    /// How many other databases it shares files with.
    pub sources: u64,
    /// How many other databases it keeps from being removed: those, and for a while after it has rewritten their files.
    pub kept: u64,
    /// The name of the newest file that came of rewriting others, unless something was flushed after it.
    pub newest_rewritten: Option<String>,
    /// The first key of each of its files, with the bytes in that file, in key order. Empty where keys are not known.
    pub files_by_key: Vec<(Bytes, u64)>,
}
