//! The server of the catalog. Background tasks on the catalog, such as the sweep of dropped tables, run only there.
//!
//! The catalog is in the first range, which no split divides before its end.

use crate::Storage;
use bytes::Bytes;
use partita_model::KeyKind;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::timeout;

/// The time between two tests of whether this process serves the catalog.
const POLL: Duration = Duration::from_secs(1);

/// The first key of the catalog, which is in the same range as the whole catalog.
pub fn catalog_start() -> Bytes {
    KeyKind::TABLE_SERVICE_PROPERTIES.start()
}

impl Storage {
    /// Notes that this process takes over the catalog from another server, or from one that was lost. To be called each
    /// time, before the range is served here.
    ///
    /// Changes of the catalog wait until the leases that the other server granted have ended, and background tasks on the
    /// catalog begin.
    pub fn catalog_taken_over(&self) {
        self.grants.take_over(self.clock.boot());
        self.arrivals.send_modify(|arrivals| *arrivals += 1);
    }

    /// The number of times that this process took over the catalog. Work that must not continue after the catalog was at
    /// another server compares it.
    pub fn catalog_arrivals(&self) -> u64 {
        *self.arrivals.borrow()
    }
}

/// Tells a background task when this process serves the catalog.
#[derive(Debug)]
pub struct CatalogHome<'s> {
    storage: &'s Storage,
    catalog: Bytes,
    arrivals: watch::Receiver<u64>,
}

impl<'s> CatalogHome<'s> {
    /// Of the catalog of this storage.
    pub fn new(storage: &'s Storage) -> Self {
        Self {
            storage,
            catalog: catalog_start(),
            arrivals: storage.arrivals.subscribe(),
        }
    }

    /// Waits until this process serves the catalog.
    pub async fn served(&mut self) {
        self.arrivals.mark_unchanged();
        while !self.storage.is_here(&self.catalog) {
            // Ends at an arrival too: its range is served a moment later.
            let _ = timeout(POLL, self.arrivals.changed()).await;
        }
    }

    /// Waits until the catalog is at another server, or was taken over since [`Self::served`]: then records may wait that
    /// this process has not seen. Never ends in a process without far rows.
    pub async fn moved(&mut self) {
        if !self.storage.has_far_rows() {
            return std::future::pending().await;
        }
        while self.storage.is_here(&self.catalog) {
            if let Ok(Ok(())) = timeout(POLL, self.arrivals.changed()).await {
                return;
            }
        }
    }
}
