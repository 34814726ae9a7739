//! Rates that are targets.

use std::num::NonZeroU32;

/// What may pass in a second; `None` is no target.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Rates {
    /// Entities (or messages, or blobs) written, deleted or read.
    pub entities: Option<NonZeroU32>,
    /// Bytes of them: of writes as the service counts sizes, of reads as they are stored.
    pub bytes: Option<NonZeroU32>,
}

impl Rates {
    /// So many entities a second.
    #[must_use]
    pub const fn entities(entities: u32) -> Self {
        Self {
            entities: NonZeroU32::new(entities),
            bytes: None,
        }
    }

    /// Whether there is no target.
    #[must_use]
    pub const fn is_unlimited(&self) -> bool {
        self.entities.is_none() && self.bytes.is_none()
    }
}

/// The rates of one container (a table) and of each of its partitions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ContainerRates {
    /// Of each partition.
    pub partition: Rates,
    /// Of the whole container.
    pub container: Rates,
}
