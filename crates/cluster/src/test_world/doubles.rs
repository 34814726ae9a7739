//! Test doubles that stop responding after a number of calls, to simulate a kill.

use crate::{MapContents, MapError, MapRecord, MapStore, ObjectMapStore, ServingRecord};
use async_trait::async_trait;
use object_store;
use partita_engine::{
    ChangeError, Engine, EngineSet, FileUse, Health, KeyPart, OpenError, PinId, Pinned, PinnedRows,
    RangeId, Removal, Stats, StoredRanges,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::{Duration, SystemTime};
use tokio::sync::{Semaphore, watch};

/// Databases, or a store, that execute a number of calls and then never respond again.
pub struct Dying<T: ?Sized> {
    /// The real databases or store.
    pub inner: Arc<T>,
    /// The number of remaining calls; several doubles may share it.
    pub calls_left: Arc<AtomicI64>,
    /// Whether the last call takes effect and only its response is lost.
    pub does_the_last: bool,
}

impl<T: ?Sized> Dying<T> {
    /// Executes the call, drops it, or loses its response, depending on the number of remaining calls.
    pub async fn call<R>(&self, call: impl Future<Output = R>) -> R {
        let left = self.calls_left.fetch_sub(1, Ordering::SeqCst);
        if left > 0 {
            return call.await;
        }
        if left == 0 && self.does_the_last {
            call.await;
        }
        std::future::pending().await
    }
}

#[async_trait]
impl MapStore for Dying<dyn MapStore> {
    async fn load(&self) -> Result<Option<MapRecord>, MapError> {
        self.call(self.inner.load()).await
    }

    async fn contents(&self) -> Result<MapContents, MapError> {
        self.call(self.inner.contents()).await
    }

    async fn save(&self, record: &MapRecord) -> Result<(), MapError> {
        self.call(self.inner.save(record)).await
    }

    async fn save_serving(&self, record: &ServingRecord) -> Result<(), MapError> {
        self.call(self.inner.save_serving(record)).await
    }

    async fn remove_serving(&self, range: RangeId) -> Result<(), MapError> {
        self.call(self.inner.remove_serving(range)).await
    }
}

#[async_trait]
impl EngineSet for Dying<dyn EngineSet> {
    async fn open(&self, range: RangeId) -> Result<Arc<dyn Engine>, OpenError> {
        self.call(self.inner.open(range)).await
    }

    async fn drop_unknown(&self) {
        self.inner.drop_unknown().await;
    }

    async fn clone_parts(&self, target: RangeId, parts: &[KeyPart]) -> Result<(), ChangeError> {
        self.call(self.inner.clone_parts(target, parts)).await
    }

    async fn remove(&self, range: RangeId) -> Result<Removal, ChangeError> {
        self.call(self.inner.remove(range)).await
    }

    async fn removable(&self, ranges: &[RangeId]) -> Result<Vec<RangeId>, ChangeError> {
        self.call(self.inner.removable(ranges)).await
    }

    async fn sweep_trash(&self) -> Result<(), ChangeError> {
        self.call(self.inner.sweep_trash()).await
    }

    async fn stored(&self) -> Result<StoredRanges, ChangeError> {
        self.call(self.inner.stored()).await
    }

    async fn list(&self) -> Result<Vec<RangeId>, ChangeError> {
        self.call(self.inner.list()).await
    }

    async fn pin(&self, ranges: &[RangeId]) -> Result<Pinned, ChangeError> {
        self.call(self.inner.pin(ranges)).await
    }

    async fn pins(&self, range: RangeId) -> Result<Vec<PinId>, ChangeError> {
        self.call(self.inner.pins(range)).await
    }

    async fn unpin(&self, range: RangeId, pin: &PinId) -> Result<(), ChangeError> {
        self.call(self.inner.unpin(range, pin)).await
    }

    async fn open_pin(
        &self,
        range: RangeId,
        pin: &PinId,
    ) -> Result<Arc<dyn PinnedRows>, ChangeError> {
        self.call(self.inner.open_pin(range, pin)).await
    }

    async fn files(
        &self,
        range: RangeId,
        pin: Option<&PinId>,
    ) -> Result<Vec<FileUse>, ChangeError> {
        self.call(self.inner.files(range, pin)).await
    }

    fn newest_row_time(&self) -> SystemTime {
        self.inner.newest_row_time()
    }

    fn pass_time(&self, time: SystemTime) {
        self.inner.pass_time(time);
    }

    fn wall_clock_lag(&self) -> Duration {
        self.inner.wall_clock_lag()
    }

    fn stats(&self) -> Stats {
        self.inner.stats()
    }

    fn health(&self) -> Health {
        self.inner.health()
    }

    async fn close(&self) {
        self.inner.close().await;
    }
}

/// A map store that stores immediately but responds only while its gate is open, so that a test can drop the caller
/// before the response. While it is full, saves fail.
pub struct Gated {
    inner: Arc<ObjectMapStore>,
    /// Whether calls get a response.
    pub is_open: watch::Sender<bool>,
    /// One permit for each stored version.
    pub stored: Semaphore,
    /// Whether saves fail.
    pub full: Arc<AtomicBool>,
}

impl Gated {
    fn check_space(&self) -> Result<(), MapError> {
        if self.full.load(Ordering::SeqCst) {
            return Err(MapError::Store(Arc::new(object_store::Error::Generic {
                store: "test",
                source: "the disk is full".into(),
            })));
        }
        Ok(())
    }

    /// An open store with free space.
    #[must_use]
    pub fn new(inner: &Arc<ObjectMapStore>) -> Arc<Self> {
        Arc::new(Self {
            inner: Arc::clone(inner),
            is_open: watch::Sender::new(true),
            stored: Semaphore::new(0),
            full: Arc::default(),
        })
    }
}

#[async_trait]
impl MapStore for Gated {
    async fn load(&self) -> Result<Option<MapRecord>, MapError> {
        self.inner.load().await
    }

    async fn contents(&self) -> Result<MapContents, MapError> {
        self.inner.contents().await
    }

    async fn save_serving(&self, record: &ServingRecord) -> Result<(), MapError> {
        self.check_space()?;
        self.inner.save_serving(record).await
    }

    async fn remove_serving(&self, range: RangeId) -> Result<(), MapError> {
        self.inner.remove_serving(range).await
    }

    async fn save(&self, record: &MapRecord) -> Result<(), MapError> {
        self.check_space()?;
        let saved = self.inner.save(record).await;
        self.stored.add_permits(1);
        let mut is_open = self.is_open.subscribe();
        is_open.wait_for(|is_open| *is_open).await.unwrap();
        saved
    }
}
