//! The seam between the ranges of a process and their databases.

use std::sync::Arc;

use async_trait::async_trait;

use crate::{
    ChangeError, Engine, FileUse, Health, KeyRange, OpenError, PinId, Pinned, PinnedRows, RangeId,
    Stats,
};

/// A part of a database that is cloned into another one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyPart {
    /// The range that has the rows.
    pub source: RangeId,
    /// The keys. Bounds include the start and exclude the end.
    pub range: KeyRange,
}

/// The databases of a process, one for each range. They share one write-ahead log (WAL), one commit loop and one cache. Used as
/// `Arc<dyn EngineSet>`.
///
/// A database is made empty by [`EngineSet::open`] or cloned from parts of others by [`EngineSet::clone_parts`]. A clone shares the files
/// of its sources until [`Engine::detach`] has copied what it sees of them.
#[async_trait]
pub trait EngineSet: Send + Sync + 'static {
    /// Opens the database of a range, made empty when there is none. A range is open at most once. Cancel safe for a range that was
    /// cloned in this process: it is not open then, and may be removed.
    ///
    /// # Errors
    /// See [`OpenError`].
    async fn open(&self, range: RangeId) -> Result<Arc<dyn Engine>, OpenError>;

    /// Declares that no ranges exist but the open ones: releases the WAL records of all others.
    async fn drop_unknown(&self);

    /// Makes the database of `target` from parts of others. Their ranges are open, and the parts are in key order and do not overlap.
    /// Copies no rows. The clone has every batch that its sources acknowledged before the call, and any of those written during it; the
    /// sources do not change. Several clones may be made at the same time. Not cancel safe: a clone that was begun is removed by
    /// [`EngineSet::remove`], or finished by calling this again.
    ///
    /// # Errors
    /// [`ChangeError`]; the target may exist in part.
    async fn clone_parts(&self, target: RangeId, parts: &[KeyPart]) -> Result<(), ChangeError>;

    /// Removes the database of a range that is not open, unless a clone or a pin still reads its files. A missing one is not an error.
    ///
    /// # Errors
    /// [`ChangeError`]; it can be tried again.
    async fn remove(&self, range: RangeId) -> Result<Removal, ChangeError>;

    /// Which of these databases have no reader of their files. Advisory, because clones may be made meanwhile; [`EngineSet::remove`]
    /// decides. Reads every manifest at most twice, however many ranges are given.
    ///
    /// # Errors
    /// [`ChangeError`].
    async fn removable(&self, ranges: &[RangeId]) -> Result<Vec<RangeId>, ChangeError>;

    /// The ranges that have a database, whole or in part, in ascending order.
    ///
    /// # Errors
    /// [`ChangeError`].
    async fn list(&self) -> Result<Vec<RangeId>, ChangeError>;

    /// Pins the present rows of these open ranges, all at one point between two commit groups: each batch is in the pins or not, and a
    /// batch that was submitted after another was answered is in them only if that one is. Copies no rows. Writes wait for some
    /// milliseconds; calling [`Engine::flush`] before makes the rest of the call short. The pins last until [`EngineSet::unpin`], also
    /// across restarts, and also when their ranges are split, merged and removed. Not cancel safe: pins that were begun may be made.
    ///
    /// # Errors
    /// [`ChangeError`]; some of the pins may exist, now or later: [`EngineSet::pins`] shows them.
    async fn pin(&self, ranges: &[RangeId]) -> Result<Pinned, ChangeError>;

    /// The pins of a range, open or not; none when there is no such database.
    ///
    /// # Errors
    /// [`ChangeError`].
    async fn pins(&self, range: RangeId) -> Result<Vec<PinId>, ChangeError>;

    /// Releases a pin. A missing one is not an error.
    ///
    /// # Errors
    /// [`ChangeError`]; it can be tried again.
    async fn unpin(&self, range: RangeId, pin: &PinId) -> Result<(), ChangeError>;

    /// Opens the rows that a range had when it was pinned.
    ///
    /// # Errors
    /// [`ChangeError::NotPinned`], [`ChangeError::Store`].
    async fn open_pin(
        &self,
        range: RangeId,
        pin: &PinId,
    ) -> Result<Arc<dyn PinnedRows>, ChangeError>;

    /// The files that a pin reads, or, without a pin, the range as it is now. Engines without files return none.
    ///
    /// # Errors
    /// [`ChangeError::NotPinned`], [`ChangeError::Store`].
    async fn files(&self, range: RangeId, pin: Option<&PinId>)
    -> Result<Vec<FileUse>, ChangeError>;

    /// Counts since the process began, over all ranges. Takes some microseconds.
    fn stats(&self) -> Stats;

    /// Whether reads and writes are served now. Cheap.
    fn health(&self) -> Health;

    /// Closes all databases: finishes the submitted batches, refuses later calls, stops background work. Idempotent.
    async fn close(&self);
}

/// The outcome of a removal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Removal {
    /// The database is gone, or did not exist.
    Gone,
    /// A clone or a pin still reads its files.
    Needed,
}
