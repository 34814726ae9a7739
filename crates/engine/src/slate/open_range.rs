//! An open range; its database may be closed during a recovery.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::RwLock;

use super::database::Database;
use crate::RangeId;

/// An open range. It outlives its database, which the supervisor replaces after a failure.
pub(super) struct OpenRange {
    pub(super) range: RangeId,
    database: RwLock<Option<Arc<Database>>>,
    /// Whether a caller closed the range, so that the supervisor does not reopen it.
    closed: AtomicBool,
    /// Whether writes are refused because of a damaged file.
    blocked: AtomicBool,
}

impl OpenRange {
    pub(super) fn new(database: Database) -> Arc<Self> {
        Arc::new(Self {
            range: database.range,
            database: RwLock::new(Some(Arc::new(database))),
            closed: AtomicBool::new(false),
            blocked: AtomicBool::new(false),
        })
    }

    /// The range's database; `None` while it is being reopened, and after the close.
    pub(super) fn database(&self) -> Option<Arc<Database>> {
        self.database.read().clone()
    }

    pub(super) fn take_database(&self) -> Option<Arc<Database>> {
        self.database.write().take()
    }

    pub(super) fn set_database(&self, database: Arc<Database>) {
        *self.database.write() = Some(database);
    }

    /// Refuses all further batches. Returns whether it accepted batches before.
    pub(super) fn close(&self) -> bool {
        !self.closed.swap(true, Ordering::AcqRel)
    }

    /// Sets whether writes are refused because of a damaged file. Returns whether they were before.
    pub(super) fn set_blocked(&self, blocked: bool) -> bool {
        self.blocked.swap(blocked, Ordering::AcqRel)
    }

    pub(super) fn is_blocked(&self) -> bool {
        self.blocked.load(Ordering::Acquire)
    }

    pub(super) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }
}
