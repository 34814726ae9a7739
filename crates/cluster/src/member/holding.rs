//! The part of a process in a snapshot of several processes: it holds its writes until all others hold theirs, too.
//!
//! ```text
//!  manager: Hold ─▶ every process: no write becomes durable     all answered: at this instant nothing is written anywhere
//!           Cut  ─▶ every process: pin, let writes go on        a process whose hold has ended does not pin
//! ```
//!
//! A hold ends by itself after its limit, whatever becomes of the manager.

use super::RangeServer;
use parking_lot::Mutex;
use partita_engine::{ChangeError, HeldRanges, Pinned};
use partita_range::RangeId;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// The longest hold that a process accepts, whatever the manager asks.
const LIMIT_MAX: Duration = Duration::from_secs(5);

/// The hold of this process: at most one.
#[derive(Default)]
pub(super) struct Holding(Mutex<Option<(u64, Box<dyn HeldRanges>)>>);

impl fmt::Debug for Holding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cut = self.0.lock().as_ref().map(|(cut, _)| *cut);
        f.debug_tuple("Holding").field(&cut).finish()
    }
}

impl Holding {
    /// Takes the hold for `cut` out.
    fn take(&self, cut: u64) -> Option<Box<dyn HeldRanges>> {
        let mut holding = self.0.lock();
        let found = holding.take_if(|(of, _)| *of == cut);
        found.map(|(_, held)| held)
    }
}

impl RangeServer {
    /// Holds all writes of this process, which serves `ranges`, for at most `limit`. Ends an earlier hold.
    ///
    /// # Errors
    /// [`ChangeError`]; nothing is held.
    pub(super) async fn hold(
        self: &Arc<Self>,
        cut: u64,
        ranges: &[RangeId],
        limit: Duration,
    ) -> Result<(), ChangeError> {
        let limit = limit.min(LIMIT_MAX);
        let earlier = self.holding.0.lock().take();
        drop(earlier);
        let held = self.cluster.engines().hold(ranges, limit).await?;
        // Only now: before the hold, a range could still be replaced by others which accept writes.
        let map = self.cluster.map();
        if let Some(range) = ranges.iter().find(|range| map.find(**range).is_none()) {
            let why = format!("range {range} is not served here any more");
            return Err(ChangeError::Elsewhere(why.into()));
        }
        let earlier = self.holding.0.lock().replace((cut, held));
        drop(earlier);
        let server = Arc::clone(self);
        self.tasks.spawn("end a hold of writes", async move {
            tokio::time::sleep(limit).await;
            if server.holding.take(cut).is_some() {
                tracing::warn!("writes were held for a snapshot that was not taken; they go on");
            }
        });
        Ok(())
    }

    /// Pins the ranges that are held for `cut`, and continues the writes.
    ///
    /// # Errors
    /// [`ChangeError`]; some pins may exist, now or later.
    pub(super) async fn cut(&self, cut: u64) -> Result<Pinned, ChangeError> {
        let held = self.holding.take(cut).ok_or(ChangeError::HoldEnded)?;
        held.pin().await
    }

    /// Continues the writes that are held for `cut`.
    pub(super) fn end_hold(&self, cut: u64) {
        drop(self.holding.take(cut));
    }
}
