//! The suite that every engine passes.
//!
//! [`run`] takes something that makes empty databases and checks the promises of [`EngineSet`] and [`Engine`] one by one; [`check_script`] plays
//! a script of batches, gets and scans against an ordered map, for property tests. Both panic at the first difference, so
//! they belong into tests. An engine that is added later passes when both hold.

#[allow(
    clippy::unwrap_used,
    reason = "a suite of assertions; its panics are its results"
)]
mod cases;
#[allow(
    clippy::unwrap_used,
    reason = "a suite of assertions; its panics are its results"
)]
mod engine_set_cases;
#[allow(
    clippy::unwrap_used,
    reason = "a suite of assertions; its panics are its results"
)]
mod pin_cases;
mod script;
#[cfg(test)]
pub(crate) mod strategy;

use std::sync::Arc;

use bytes::Bytes;
use tokio::sync::oneshot;

use crate::{Batch, Engine, EngineSet, KeyRange, RangeId, ScanHint, WriteError};

pub use script::{Step, check_script};

/// Checks every promise, each on databases of its own that `make` returns empty.
///
/// # Panics
/// At the first promise that does not hold.
pub async fn run<F>(mut make: F)
where
    F: AsyncFnMut() -> Arc<dyn EngineSet>,
{
    macro_rules! engines {
        ($($case:ident)*) => {$(
            let databases = make().await;
            cases::$case(open(&*databases, FIRST).await).await;
            databases.close().await;
        )*};
    }
    engines! {
        gets_what_was_put
        batches_are_atomic_to_readers
        completions_come_in_order_and_after_the_fact
        a_completion_may_use_the_engine
        a_scan_is_one_snapshot
        scans_keep_to_their_bounds_and_limits
        later_batches_win
        room_is_bounded_and_given_back
        large_values_and_odd_keys
        a_batch_larger_than_all_room_goes_alone
        a_closed_engine_refuses
    }
    engine_set_cases::what_is_counted(make().await).await;
    engine_set_cases::ranges_keep_apart_and_share_groups(make().await).await;
    engine_set_cases::a_range_is_open_once_and_can_be_opened_again(make().await).await;
    engine_set_cases::a_split_shares_rows_out_and_a_merge_brings_them_together(make().await).await;
    engine_set_cases::only_open_sources_are_derived_from(make().await).await;
    engine_set_cases::what_was_acknowledged_is_derived(make().await).await;
    engine_set_cases::what_is_removed_is_gone(make().await).await;
    engine_set_cases::closed_databases_refuse(make().await).await;
    pin_cases::a_pin_shows_what_was(make().await).await;
    pin_cases::a_pin_ends_when_it_is_let_go(make().await).await;
    pin_cases::pins_of_one_call_are_of_one_instant(make().await).await;
    pin_cases::a_pin_outlives_its_range(make().await).await;
}

/// The range that single engines are opened for.
pub const FIRST: RangeId = RangeId(1);

/// Opens a range.
///
/// # Panics
/// When it does not open.
pub async fn open(databases: &dyn EngineSet, range: RangeId) -> Arc<dyn Engine> {
    databases.open(range).await.expect("the range opens")
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
