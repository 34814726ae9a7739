//! Keeps the heat history across restarts: loads it at startup, saves it each minute and at an orderly shutdown.
//!
//! ```text
//! watching:  load ─▶ window ─▶ window ─▶ … ─▶ last window ─▶ ends
//! keeping:             └─ a new minute? save ─┘        save all ─▶ ends
//! ```
//!
//! Saving runs in a separate task, so a slow store does not delay windows. A killed process loses the heat of its last
//! minute. A failure here never stops a server.

use super::Watch;
use partita_heat::history::{Archive, HeatHistory};
use partita_rt::{Clock, Tasks};
use std::sync::Arc;
use std::time::SystemTime;
use tokio::sync::watch;

impl Watch {
    /// Replaces the empty history with the archived history. Cancel safe.
    pub(super) async fn load_history(&self, archive: &mut Archive, clock: &dyn Clock) {
        let loaded = Arc::new(archive.load(clock.now()).await);
        tracing::debug!(slots = loaded.slots(), "loaded the heat history");
        self.seen.lock().history = loaded;
    }

    /// Starts to save the history. The caller must send on the returned sender after each closed window; dropping the
    /// sender saves the rest and ends the task.
    pub(super) fn keep_history(&self, archive: Archive, tasks: &Tasks) -> watch::Sender<()> {
        let (windows, closed) = watch::channel(());
        let saving = save(self.history(), archive, Arc::clone(&self.clock), closed);
        tasks.spawn("save the heat history", saving);
        windows
    }
}

async fn save(
    history: Arc<HeatHistory>,
    mut archive: Archive,
    clock: Arc<dyn Clock>,
    mut closed: watch::Receiver<()>,
) {
    let mut saved = minute(clock.now());
    while closed.changed().await.is_ok() {
        let now = clock.now();
        if minute(now) == saved {
            continue;
        }
        saved = minute(now);
        if let Err(error) = archive.save(&history, now).await {
            let error: &dyn std::error::Error = &error;
            tracing::warn!(
                error,
                "cannot save the heat history; will retry in a minute"
            );
        }
    }
    if let Err(error) = archive.save_all(&history, clock.now()).await {
        let error: &dyn std::error::Error = &error;
        tracing::warn!(error, "cannot save the last minute of the heat history");
    }
}

/// The number of the wall-clock minute.
fn minute(now: SystemTime) -> u64 {
    let since = now.duration_since(SystemTime::UNIX_EPOCH);
    since.unwrap_or_default().as_secs() / 60
}
