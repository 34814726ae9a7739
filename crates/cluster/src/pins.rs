//! The pins in snapshot records. Maintenance releases all other pins.
//!
//! Snapshots are in a crate above; [`PinRecords`] is the interface to them.

use async_trait::async_trait;
use partita_engine::PinId;
use partita_range::RangeId;
use std::collections::BTreeSet;
use std::error::Error;

/// Why the pins could not be listed.
pub type PinRecordsError = Box<dyn Error + Send + Sync>;

/// Lists the pins in snapshot records. Used as `Arc<dyn PinRecords>`.
#[async_trait]
pub trait PinRecords: Send + Sync + 'static {
    /// Every pin in a snapshot record. Called under the change lock, so that no record is created at the same time.
    ///
    /// # Errors
    /// A record cannot be read. An unreadable record may list any pin, so no pin may be released.
    async fn named(&self) -> Result<BTreeSet<(RangeId, PinId)>, PinRecordsError>;
}
