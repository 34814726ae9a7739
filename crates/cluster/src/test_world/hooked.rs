//! Databases with hooks, so that a test can act in the middle of a change.

use async_trait::async_trait;
use futures::future::BoxFuture;
use partita_engine::memory::MemoryEngineSet;
use partita_engine::{
    ChangeError, Engine, EngineSet, FileUse, Health, KeyPart, OpenError, PinId, Pinned, PinnedRows,
    RangeId, Removal, Stats, StoredRanges,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

/// A callback.
pub type Hook = Box<dyn Fn() -> BoxFuture<'static, Result<(), ChangeError>> + Send + Sync>;

/// Databases that call a hook after a clone, and before they look for removable databases. While the disk is full,
/// removals fail.
pub struct Hooked {
    /// The real databases.
    pub engines: Arc<MemoryEngineSet>,
    /// Called after a database was cloned.
    pub cloned: Hook,
    /// Called before looking for removable databases.
    pub looking: Hook,
    /// Whether removals fail.
    pub full: Arc<AtomicBool>,
}

impl Hooked {
    /// The databases with empty hooks.
    #[must_use]
    pub fn new(engines: &Arc<MemoryEngineSet>) -> Self {
        let nothing = || -> Hook { Box::new(|| Box::pin(async { Ok(()) })) };
        Self {
            engines: Arc::clone(engines),
            cloned: nothing(),
            looking: nothing(),
            full: Arc::default(),
        }
    }
}

#[async_trait]
impl EngineSet for Hooked {
    async fn open(&self, range: RangeId) -> Result<Arc<dyn Engine>, OpenError> {
        self.engines.open(range).await
    }

    async fn drop_unknown(&self) {}

    async fn clone_parts(&self, target: RangeId, parts: &[KeyPart]) -> Result<(), ChangeError> {
        self.engines.clone_parts(target, parts).await?;
        (self.cloned)().await
    }

    async fn remove(&self, range: RangeId) -> Result<Removal, ChangeError> {
        if self.full.load(Ordering::SeqCst) {
            return Err(ChangeError::Late);
        }
        self.engines.remove(range).await
    }

    async fn removable(&self, ranges: &[RangeId]) -> Result<Vec<RangeId>, ChangeError> {
        (self.looking)().await?;
        self.engines.removable(ranges).await
    }

    async fn sweep_trash(&self) -> Result<(), ChangeError> {
        self.engines.sweep_trash().await
    }

    async fn stored(&self) -> Result<StoredRanges, ChangeError> {
        self.engines.stored().await
    }

    async fn list(&self) -> Result<Vec<RangeId>, ChangeError> {
        self.engines.list().await
    }

    async fn pin(&self, ranges: &[RangeId]) -> Result<Pinned, ChangeError> {
        self.engines.pin(ranges).await
    }

    async fn pins(&self, range: RangeId) -> Result<Vec<PinId>, ChangeError> {
        self.engines.pins(range).await
    }

    async fn unpin(&self, range: RangeId, pin: &PinId) -> Result<(), ChangeError> {
        self.engines.unpin(range, pin).await
    }

    async fn open_pin(
        &self,
        range: RangeId,
        pin: &PinId,
    ) -> Result<Arc<dyn PinnedRows>, ChangeError> {
        self.engines.open_pin(range, pin).await
    }

    async fn files(
        &self,
        range: RangeId,
        pin: Option<&PinId>,
    ) -> Result<Vec<FileUse>, ChangeError> {
        self.engines.files(range, pin).await
    }

    fn newest_row_time(&self) -> SystemTime {
        self.engines.newest_row_time()
    }

    fn pass_time(&self, time: SystemTime) {
        self.engines.pass_time(time);
    }

    fn wall_clock_lag(&self) -> Duration {
        self.engines.wall_clock_lag()
    }

    fn stats(&self) -> Stats {
        self.engines.stats()
    }

    fn health(&self) -> Health {
        self.engines.health()
    }

    async fn close(&self) {
        self.engines.close().await;
    }
}
