//! The suite that every engine passes.
//!
//! [`run`] takes a function that makes empty engine sets, and checks the guarantees of [`EngineSet`] and [`Engine`] one
//! by one. [`check_script`] compares a script of batches, gets and scans with an ordered map, for property tests. Both
//! panic at the first violation. Every implementation of [`Engine`] must pass both.

#![allow(clippy::unwrap_used, reason = "a test suite: a panic fails the test")]

mod cases;
mod engine_set_cases;
mod pin_cases;
mod script;
#[cfg(test)]
pub(crate) mod strategy;

use std::sync::Arc;

use bytes::Bytes;
use tokio::sync::oneshot;

use crate::{Batch, Engine, EngineSet, KeyRange, RangeId, ScanHint, WriteError};

pub use script::{Step, check_script};

/// Checks every guarantee, each on a new, empty engine set.
///
/// # Panics
/// At the first guarantee that does not hold.
pub async fn run<F>(mut make: F)
where
    F: AsyncFnMut() -> Arc<dyn EngineSet>,
{
    macro_rules! engines {
        ($($case:ident)*) => {$(
            let set = make().await;
            cases::$case(open(&*set, FIRST).await).await;
            set.close().await;
        )*};
    }
    macro_rules! engine_sets {
        ($($cases:ident: $($case:ident)*;)*) => {$($(
            $cases::$case(make().await).await;
        )*)*};
    }
    engines! {
        gets_what_was_put
        batches_are_atomic_to_readers
        completions_come_in_order_and_when_durable
        a_completion_may_use_the_engine
        a_scan_is_one_snapshot
        scans_keep_to_their_bounds_and_limits
        later_batches_win
        room_is_bounded_and_returned
        large_values_and_odd_keys
        a_batch_larger_than_all_room_goes_alone
        a_closed_engine_refuses
    }
    engine_sets! {
        engine_set_cases:
            batches_and_rows_are_counted
            ranges_are_separate_and_share_groups
            a_range_is_open_once_and_can_be_opened_again
            clones_split_a_range_and_merge_ranges
            only_open_ranges_are_cloned
            a_clone_has_every_acknowledged_row
            a_removed_database_is_gone
            a_closed_engine_set_refuses;
        pin_cases:
            a_pin_shows_the_rows_of_its_instant
            a_pin_ends_when_it_is_released
            pins_of_one_call_show_the_same_instant
            a_pin_outlives_its_range
            a_held_range_is_pinned_as_it_was
            a_hold_ends_when_it_is_dropped_or_late;
    }
}

/// The range of tests that need only one engine.
pub const FIRST: RangeId = RangeId(1);

/// Opens a range.
///
/// # Panics
/// When the range does not open.
pub async fn open(set: &dyn EngineSet, range: RangeId) -> Arc<dyn Engine> {
    set.open(range).await.expect("the range opens")
}

/// Writes `batch` and waits for its outcome.
///
/// # Errors
/// The batch was refused, or its outcome is unknown.
///
/// # Panics
/// When the completion is never called.
pub async fn commit(engine: &dyn Engine, batch: Batch) -> Result<(), WriteError> {
    let outcome = submit(engine, batch).await?;
    outcome.await.expect("a completion is called exactly once")
}

/// Submits `batch`, and returns where its outcome arrives.
///
/// # Errors
/// The batch was refused.
async fn submit(
    engine: &dyn Engine,
    batch: Batch,
) -> Result<oneshot::Receiver<Result<(), WriteError>>, WriteError> {
    let permit = engine.reserve(batch.bytes()).await?;
    let (sender, receiver) = oneshot::channel();
    permit.submit(
        batch,
        Box::new(move |result| {
            // Fails only if the test was dropped.
            let _ = sender.send(result);
        }),
    );
    Ok(receiver)
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
            .expect("the scan continues");
        assert!(page.len() <= rows_max, "a page has at most `rows_max` rows");
        if page.is_empty() {
            return all;
        }
        all.extend(page);
    }
}

/// A batch that puts one row.
pub fn put(key: impl Into<Bytes>, value: impl Into<Bytes>) -> Batch {
    let mut batch = Batch::new();
    batch.put(key.into(), value.into());
    batch
}

/// A batch that removes one row.
pub fn delete(key: impl Into<Bytes>) -> Batch {
    let mut batch = Batch::new();
    batch.delete(key.into());
    batch
}
