//! The rates of targets.

use std::num::NonZeroU32;

/// Rates per second; `None` for no target.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Rates {
    /// Entities (or messages, or blobs) written, deleted or read.
    pub entities: Option<NonZeroU32>,
    /// Bytes of these entities: for writes as the service counts sizes, for reads as stored.
    pub bytes: Option<NonZeroU32>,
}

impl Rates {
    /// A target of entities per second only.
    pub const fn entities(entities: u32) -> Self {
        Self {
            entities: NonZeroU32::new(entities),
            bytes: None,
        }
    }

    /// Whether there is no target.
    pub const fn is_unlimited(&self) -> bool {
        self.entities.is_none() && self.bytes.is_none()
    }
}

/// The rates of one container (a table) and of each of its partitions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ContainerRates {
    /// Rates of each partition.
    pub partition: Rates,
    /// Rates of the whole container.
    pub container: Rates,
}
