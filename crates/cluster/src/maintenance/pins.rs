//! Releasing pins that no snapshot names: of a snapshot that was not completed, or not deleted completely.
//!
//! Snapshots are above this crate. What it needs to know of them is which pins their records name: [`PinRecords`].

use crate::driver::DriverParts;
use async_trait::async_trait;
use partita_engine::PinId;
use partita_range::RangeId;
use std::collections::BTreeSet;
use std::error::Error;

/// Why it is not known which pins are named.
pub type PinRecordsError = Box<dyn Error + Send + Sync>;

/// Knows which pins are named by records. Used as `Arc<dyn PinRecords>`.
#[async_trait]
pub trait PinRecords: Send + Sync + 'static {
    /// Every pin that a record names. Called with the change lock held, so that no record is being made.
    ///
    /// # Errors
    /// A record cannot be read. It may name any pin, so none is released.
    async fn named(&self) -> Result<BTreeSet<(RangeId, PinId)>, PinRecordsError>;
}

/// Releases every pin in the store that no record names. The change lock is held.
pub(crate) async fn release_untracked(parts: &DriverParts) -> Result<(), PinRecordsError> {
    let named = parts.pins.named().await?;
    for range in parts.engines.list().await? {
        for pin in parts.engines.pins(range).await? {
            if !named.contains(&(range, pin.clone())) {
                tracing::info!(%range, %pin, "releasing a pin that no snapshot names");
                parts.host.unpin(range, &pin).await?;
            }
        }
    }
    Ok(())
}
