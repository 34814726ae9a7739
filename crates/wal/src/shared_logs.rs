//! The logs of a store that several processes use at the same time, each with a WAL of its own.

use std::collections::VecDeque;

use futures::future::BoxFuture;

use crate::remote::Life;
use crate::{OpenWalError, RangeId, Record};

/// The logs of all processes of a store, as one of these processes sees them. A *log* is the WAL of one process.
pub trait SharedLogs: Send + Sync {
    /// The log of this process; `None` before it is opened.
    fn log(&self) -> Option<Life>;

    /// The logs that may have records which are not in the files of the databases, sealed or not, in ascending order:
    /// all that were not collected. The own log is one of them.
    ///
    /// # Errors
    /// The store failed.
    fn uncollected(&self) -> BoxFuture<'_, Result<Vec<Life>, OpenWalError>>;

    /// Seals `logs`, and returns their records of `range`, in the order of their numbers. Gaps are possible: the caller
    /// checks that no record after the flushed ones is missing. The own log is left out. A log that does not exist, or
    /// was collected, has no records.
    ///
    /// A log is read once for all ranges for which it is asked within some seconds; until then all its records stay in
    /// memory. [`SharedLogs::forget_unused`] frees it. Cancel safe.
    ///
    /// # Errors
    /// See [`OpenWalError`].
    fn records_of<'s>(
        &'s self,
        range: RangeId,
        logs: &'s [Life],
    ) -> BoxFuture<'s, Result<VecDeque<Record>, OpenWalError>>;

    /// Frees the memory of the logs that [`SharedLogs::records_of`] has read and that were not asked for recently.
    fn forget_unused(&self);

    /// Seals `logs`: their processes acknowledge nothing more. The own log is left out, and so are logs that do not exist or
    /// were collected.
    ///
    /// # Errors
    /// The store failed. A second call continues.
    fn seal<'s>(&'s self, logs: &'s [Life]) -> BoxFuture<'s, Result<(), OpenWalError>>;

    /// Seals `logs` and deletes their groups. The caller has made sure that their processes are dead and that all their
    /// records are in the files of the databases. The own log is left out, and so are logs that do not exist or were
    /// collected.
    ///
    /// # Errors
    /// The store failed. A second call continues.
    fn collect<'s>(&'s self, logs: &'s [Life]) -> BoxFuture<'s, Result<(), OpenWalError>>;
}
