//! Maintenance of the served ranges: copies shared files, returns the space of deleted rows, deletes files that nothing
//! reads.

use super::LocalHost;
use partita_engine::Collected;
use partita_range::{Range, RangeId};
use partita_rt::Shutdown;
use std::collections::HashSet;

impl LocalHost {
    /// One round over all served ranges, until a shutdown.
    pub(crate) async fn maintain_ranges(&self, shutdown: &Shutdown) {
        for served in self.map.ranges().iter() {
            if shutdown.is_requested() {
                return;
            }
            self.maintain_range(&served.range).await;
        }
        let ranges = self.map.ranges();
        let served: HashSet<RangeId> = ranges.iter().map(|served| served.range.id()).collect();
        self.collected
            .lock()
            .retain(|range, _| served.contains(range));
    }

    async fn maintain_range(&self, range: &Range) {
        let (id, layout) = (range.id(), range.engine().file_layout());
        if layout.sources > 0 {
            // Has no effect while a detach of the range is running.
            if let Err(error) = range.engine().detach().await {
                tracing::debug!(%error, range = %id, "cannot detach the files of a range");
            }
        }
        if let Err(error) = range.engine().reclaim().await {
            tracing::debug!(%error, range = %id, "cannot return the space of deleted rows");
        }
        // After all garbage was collected, there can be new garbage only if a compaction has written a file or has left
        // none.
        let done = (layout.kept == 0).then_some((layout.newest_rewritten, layout.files == 0));
        if done.is_some() && self.collected.lock().get(&id) == done.as_ref() {
            return;
        }
        match collect(range).await {
            Ok(()) => {
                if let Some(done) = done {
                    self.collected.lock().insert(id, done);
                }
            }
            Err(error) => {
                tracing::debug!(error, range = %id, "cannot collect the garbage of a range");
            }
        }
    }
}

/// Deletes files that nothing reads. The engine deletes some files only after a newer flush: writes and flushes a
/// marker row, so that the next round deletes them.
async fn collect(range: &Range) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    if range.engine().collect().await? == Collected::UntilFlush {
        range.write_flush_marker().await?;
    }
    Ok(())
}
