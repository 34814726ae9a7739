//! Pins: the rows of databases at one instant, readable until the pin is released.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;

use crate::{ChangeError, KeyRange, ReadError, Scan, ScanHint};

/// The name of a pin within its range: letters, digits and hyphens, given by the engine.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PinId(Arc<str>);

impl PinId {
    /// The id of an existing pin, from its stored text.
    pub fn new(text: &str) -> Self {
        Self(text.into())
    }

    /// The text of the name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for PinId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The outcome of pinning.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pinned {
    /// One pin for each requested range, in that order.
    pub pins: Vec<PinId>,
    /// How long the commit loop paused.
    pub pause: Duration,
}

/// Ranges whose writes are held between two commit groups. Dropping it continues the writes.
#[async_trait]
pub trait HeldRanges: Send + 'static {
    /// Pins the ranges, and continues their writes. The pins have exactly the batches that were durable when the hold
    /// began. Not cancel safe: some pins may exist after a cancel.
    ///
    /// # Errors
    /// [`ChangeError::HoldEnded`] after the limit: the writes have continued, and nothing is pinned. After another
    /// [`ChangeError`] some of the ranges may be pinned, now or later.
    async fn pin(self: Box<Self>) -> Result<Pinned, ChangeError>;
}

/// A file that a database or a pin reads.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileUse {
    /// The file name: unique over all databases, and the same for all readers.
    pub name: String,
    /// Its size in bytes, without its index and filters.
    pub bytes: u64,
}

/// The rows that a range had when it was pinned. Used as `Arc<dyn PinnedRows>`.
#[async_trait]
pub trait PinnedRows: Send + Sync + 'static {
    /// Starts reading the rows of `range` in key order. Cancel safe.
    ///
    /// # Errors
    /// See [`ReadError`]; [`ReadError::Unavailable`] or [`ReadError::Corrupt`] after the pin was released.
    async fn scan(&self, range: KeyRange, hint: ScanHint) -> Result<Box<dyn Scan>, ReadError>;
}
