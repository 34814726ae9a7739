//! The rates of targets.

use partita_cluster::WHOLE;
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

    /// A share of these rates, in millionths; at least one a second. From [`WHOLE`] on, the whole rates.
    pub(super) fn scaled(self, share: u64) -> Self {
        if share >= WHOLE {
            return self;
        }
        let scaled = |rate: NonZeroU32| {
            // Less than the rate, so it fits.
            let scaled = u64::from(rate.get()) * share / WHOLE;
            NonZeroU32::new(scaled as u32).unwrap_or(NonZeroU32::MIN)
        };
        Self {
            entities: self.entities.map(scaled),
            bytes: self.bytes.map(scaled),
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
