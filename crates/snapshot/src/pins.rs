//! Lists the pins in snapshot records.

use super::SnapshotStore;
use super::store::SnapshotStoreError;
use async_trait::async_trait;
use partita_cluster::{PinRecords, PinRecordsError};
use partita_engine::PinId;
use partita_range::RangeId;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Lists the recorded pins for the maintenance of a cluster, which releases all other pins.
pub struct SnapshotPins {
    store: Arc<dyn SnapshotStore>,
}

impl SnapshotPins {
    /// Lists the pins in the records of this store.
    #[must_use]
    pub fn new(store: Arc<dyn SnapshotStore>) -> Self {
        Self { store }
    }
}

#[async_trait]
impl PinRecords for SnapshotPins {
    async fn named(&self) -> Result<BTreeSet<(RangeId, PinId)>, PinRecordsError> {
        let stored = self.store.list().await?;
        // An unreadable record may list any pin, so no pin may be released.
        if let Some(unreadable) = stored.unreadable.into_iter().next() {
            return Err(SnapshotStoreError::from(unreadable).into());
        }
        let ranges = stored.records.iter().flat_map(|record| &record.ranges);
        Ok(ranges.map(|range| (range.range(), range.pin())).collect())
    }
}
