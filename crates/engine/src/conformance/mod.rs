//! The suite that every engine passes.
//!
//! [`run`] takes something that makes empty engines and checks the promises of [`Engine`] one by one; [`check_script`] plays
//! a script of batches, gets and scans against an ordered map, for property tests. Both panic at the first difference, so
//! they belong into tests. An engine that is added later passes when both hold.

#[allow(
    clippy::unwrap_used,
    reason = "a suite of assertions; its panics are its results"
)]
mod cases;
mod script;
#[cfg(test)]
pub(crate) mod strategy;

use std::sync::Arc;

use bytes::Bytes;
use tokio::sync::oneshot;

use crate::{Batch, Engine, KeyRange, ScanHint, WriteError};

pub use script::{Step, check_script};

/// Checks every promise, each on an engine of its own that `make` returns empty.
///
/// # Panics
/// At the first promise that does not hold.
pub async fn run<F>(mut make: F)
where
    F: AsyncFnMut() -> Arc<dyn Engine>,
{
    cases::gets_what_was_put(make().await).await;
    cases::batches_are_atomic_to_readers(make().await).await;
    cases::completions_come_in_order_and_after_the_fact(make().await).await;
    cases::a_completion_may_use_the_engine(make().await).await;
    cases::a_scan_is_one_snapshot(make().await).await;
    cases::scans_keep_to_their_bounds_and_limits(make().await).await;
    cases::later_batches_win(make().await).await;
    cases::room_is_bounded_and_given_back(make().await).await;
    cases::large_values_and_odd_keys(make().await).await;
    cases::a_closed_engine_refuses(make().await).await;
}

/// Writes `batch` and waits for what became of it.
///
/// # Errors
/// What the completion said.
///
/// # Panics
/// When the completion is never called.
pub async fn commit(engine: &dyn Engine, batch: Batch) -> Result<(), WriteError> {
    let permit = engine.reserve(batch.bytes()).await?;
    let (sender, receiver) = oneshot::channel();
    permit.submit(
        batch,
        Box::new(move |result| {
            // Nobody listens when the test was dropped.
            let _ = sender.send(result);
        }),
    );
    receiver.await.expect("a completion is called exactly once")
}

/// All rows of `range`, read `rows_max` at a time.
///
/// # Panics
/// When a read fails.
pub async fn rows(engine: &dyn Engine, range: KeyRange, rows_max: usize) -> Vec<(Bytes, Bytes)> {
    let mut scan = engine
        .scan(range, ScanHint::page(rows_max))
        .await
        .expect("the scan starts");
    let mut all = Vec::new();
    loop {
        let page = scan
            .next(rows_max, usize::MAX)
            .await
            .expect("the scan goes on");
        assert!(
            page.len() <= rows_max,
            "a page has no more rows than asked for"
        );
        if page.is_empty() {
            return all;
        }
        all.extend(page);
    }
}

/// A batch that puts one row.
#[must_use]
pub fn put(key: impl Into<Bytes>, value: impl Into<Bytes>) -> Batch {
    let mut batch = Batch::new();
    batch.put(key.into(), value.into());
    batch
}

/// A batch that removes one row.
#[must_use]
pub fn delete(key: impl Into<Bytes>) -> Batch {
    let mut batch = Batch::new();
    batch.delete(key.into());
    batch
}
