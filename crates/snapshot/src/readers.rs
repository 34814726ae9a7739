//! Mutual exclusion of readers and the deletion of a snapshot.

use super::SnapshotName;
use std::collections::HashMap;
use std::sync::{Arc, Weak};

/// The snapshots that are being read or deleted. A snapshot in use cannot be deleted; a snapshot in deletion cannot be
/// read. Deletions hold the change lock, so only one runs at a time.
#[derive(Debug, Default)]
pub(crate) struct Readers {
    reading: HashMap<SnapshotName, Weak<()>>,
    deleting: Option<SnapshotName>,
}

impl Readers {
    /// Registers a reader: the snapshot is in use until the token is dropped. `None` during a deletion.
    pub(crate) fn enter(&mut self, name: &SnapshotName) -> Option<Arc<()>> {
        if self.deleting.as_ref() == Some(name) {
            return None;
        }
        self.reading.retain(|_, token| token.strong_count() > 0);
        let known = self.reading.get(name).and_then(Weak::upgrade);
        let token = known.unwrap_or_default();
        self.reading.insert(name.clone(), Arc::downgrade(&token));
        Some(token)
    }

    /// Begins a deletion, which blocks new readers. Returns `false` if the snapshot is in use.
    pub(crate) fn begin_deletion(&mut self, name: &SnapshotName) -> bool {
        let token = self.reading.get(name);
        let is_read = token.is_some_and(|token| token.strong_count() > 0);
        if !is_read {
            self.deleting = Some(name.clone());
        }
        !is_read
    }

    /// Ends the deletion.
    pub(crate) fn end_deletion(&mut self) {
        self.deleting = None;
    }
}
