//! The pins that snapshot records name, for the release of all others.
//!
//! Snapshots are above this crate; [`PinRecords`] is all that it needs of them.

use async_trait::async_trait;
use partita_engine::PinId;
use partita_range::RangeId;
use std::collections::BTreeSet;
use std::error::Error;

/// Why the named pins are unknown.
pub type PinRecordsError = Box<dyn Error + Send + Sync>;

/// Lists the pins that records name. Used as `Arc<dyn PinRecords>`.
#[async_trait]
pub trait PinRecords: Send + Sync + 'static {
    /// Every pin that a record names. Called with the change lock held, so that no record is being created.
    ///
    /// # Errors
    /// A record cannot be read. It may name any pin, so none is released.
    async fn named(&self) -> Result<BTreeSet<(RangeId, PinId)>, PinRecordsError>;
}
