//! Tests of the durable engine in a process that is killed, and on a full disk.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "tests, not all of them in test functions"
)]

mod crash;
mod disk_full;

use std::path::Path;
use std::sync::Arc;

use partita_engine::slate::{Settings, SlateEngineSet};
use partita_engine::{Batch, Engine, EngineSet, RangeId, WriteError};
use partita_rt::DataDir;

/// An engine set with one range open.
async fn open(directory: &Path) -> (SlateEngineSet, Arc<dyn Engine>) {
    let data = Arc::new(DataDir::open(directory).unwrap());
    let set = SlateEngineSet::new(data, Settings::default())
        .await
        .unwrap();
    let engine = set.open(RangeId(1)).await.unwrap();
    (set, engine)
}

/// Writes a batch and waits for its outcome.
async fn commit(engine: &dyn Engine, batch: Batch) -> Result<(), WriteError> {
    let permit = engine.reserve(batch.bytes()).await?;
    let (sender, receiver) = tokio::sync::oneshot::channel();
    permit.submit(
        batch,
        Box::new(move |result| {
            let _ = sender.send(result);
        }),
    );
    receiver.await.expect("a completion is called exactly once")
}
