//! The compactor of a database.
//!
//! It runs beside the database and not within it, because a compactor within writes files with the compression of level
//! 0. Level 0 is not compressed here, and sorted runs are.

use std::sync::Arc;

use parking_lot::Mutex;
use slatedb::SstBlockSize;
use slatedb::compactor::CompactorBuilder;
use slatedb_common::metrics::DefaultMetricsRecorder;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::Runtimes;
use super::context::Context;
use super::detach::DetachRequest;
use super::names::database_path;
use super::read_manifest::ReadManifest;
use super::settings::compaction;
use crate::RangeId;

/// The size of a block before compression. The reasons for it are in `docs/format/store.md`.
pub(super) const BLOCK_SIZE: SstBlockSize = SstBlockSize::Block16Kib;

/// The compactor of an open database. It stops when this is dropped.
pub(super) struct Compactor {
    read: Arc<ReadManifest>,
    /// `None` once it was stopped.
    running: Mutex<Option<Running>>,
}

struct Running {
    task: JoinHandle<()>,
    /// Stops the compactor when it is dropped.
    stop: oneshot::Sender<()>,
}

impl Compactor {
    /// Starts the compactor of a database that is open.
    pub(super) fn start(
        context: &Context,
        runtimes: &Runtimes,
        range: RangeId,
        detach: &DetachRequest,
        (read, metrics): (&Arc<ReadManifest>, &Arc<DefaultMetricsRecorder>),
    ) -> Self {
        let store = read.noting(context.store_of(range));
        let builder = CompactorBuilder::new(database_path(range), store)
            .with_runtime(runtimes.store.clone())
            .with_options(compaction(context.settings.data_age()))
            .with_scheduler_supplier(Arc::new(detach.clone()))
            .with_system_clock(Arc::clone(&context.clock) as _)
            .with_sst_block_size(BLOCK_SIZE)
            .with_metrics_recorder(Arc::clone(metrics) as _);
        let (stop, stopped) = oneshot::channel::<()>();
        // Its tasks run on the runtime that runs it.
        let task = runtimes.store.spawn(async move {
            let compactor = builder.build();
            let ended = tokio::select! {
                ended = compactor.run() => ended,
                // Without an effect if it has not started, and then it does not start.
                _dropped = stopped => compactor.stop().await,
            };
            if let Err(error) = ended {
                tracing::warn!(%error, %range, "the compactor of a range ended");
            }
        });
        Self {
            read: Arc::clone(read),
            running: Mutex::new(Some(Running { task, stop })),
        }
    }

    /// The newest manifest that it has read.
    pub(super) fn read_manifest(&self) -> &Arc<ReadManifest> {
        &self.read
    }

    /// Whether it has ended, by [`Compactor::stop`] or by a failure.
    pub(super) fn has_ended(&self) -> bool {
        let running = self.running.lock();
        running
            .as_ref()
            .is_none_or(|running| running.task.is_finished())
    }

    /// Stops it, and waits until it has stopped.
    pub(super) async fn stop(&self) {
        let running = self.running.lock().take();
        if let Some(Running { task, stop }) = running {
            drop(stop);
            // An error means that the task was cancelled or panicked: it has ended.
            let _ = task.await;
        }
    }
}
