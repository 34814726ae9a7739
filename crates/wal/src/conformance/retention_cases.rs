//! The guarantees for the retention of records, one function each.

use std::collections::BTreeSet;

use super::{
    FIRST, FLUSH_AFTER_SEGMENTS, LIVE_SEGMENTS_MAX, SECOND, SEGMENT_BYTES, Subject, append,
    long_row, open, recovered_ids, row,
};
use crate::{RangeId, Wal, WalId};

/// The number of records that fill a segment.
const RECORDS_IN_A_SEGMENT: u64 = 2;
/// Bytes of the value in such a record.
const RECORD_BYTES: usize = 3_000;

/// Appends records to the range [`SECOND`], numbered from `first`, until they fill `segments` segments. Returns the
/// number of the last record.
async fn fill(wal: &dyn Wal, first: u64, segments: u64) -> u64 {
    let end = first + segments * RECORDS_IN_A_SEGMENT;
    for id in first..end {
        let rows = [long_row(RECORD_BYTES)];
        append(wal, SECOND, id, &rows).await.unwrap();
    }
    end - 1
}

pub(super) async fn released_records_are_removed_from_the_front(subject: &dyn Subject) {
    let mut last = 0;
    for _life in 0..4 {
        let wal = open(subject).await;
        let found = recovered_ids(&*wal, SECOND);
        let all: Vec<u64> = (1..=last).collect();
        assert!(
            all.ends_with(&found),
            "{found:?} is not the end of 1..={last}"
        );
        last = fill(&*wal, last + 1, 8).await;
        let long = wal.live_bytes();
        wal.release(SECOND, WalId(last - 3));
        wal.maintain().await.unwrap();
        assert!(wal.live_bytes() < long / 2);
        // A release up to an earlier record has no effect.
        wal.release(SECOND, WalId(1));
        drop(wal);
    }
    let found = recovered_ids(&*open(subject).await, SECOND);
    assert!(found.len() >= 3, "unreleased records are kept: {found:?}");
    assert!(found.len() <= 10, "released records are removed: {found:?}");
}

pub(super) async fn a_record_that_another_range_needs_is_kept(subject: &dyn Subject) {
    let wal = open(subject).await;
    append(&*wal, FIRST, 1, &[row("k", "v")]).await.unwrap();
    let last = fill(&*wal, 1, 4).await;
    wal.release(SECOND, WalId(last));
    wal.maintain().await.unwrap();
    assert!(wal.live_bytes() > 3 * SEGMENT_BYTES / 2);
    drop(wal);
    let wal = open(subject).await;
    assert_eq!(recovered_ids(&*wal, FIRST), [1]);
    wal.release(SECOND, WalId(last));
    wal.release(FIRST, WalId(u64::MAX));
    wal.maintain().await.unwrap();
    assert!(wal.live_bytes() <= 2 * SEGMENT_BYTES);
}

pub(super) async fn records_of_unknown_ranges_are_dropped(subject: &dyn Subject) {
    let wal = open(subject).await;
    append(&*wal, FIRST, 1, &[row("k", "v")]).await.unwrap();
    let last = fill(&*wal, 1, 4).await;
    drop(wal);
    let wal = open(subject).await;
    wal.retain(&BTreeSet::from([SECOND]));
    assert!(wal.take_recovered(FIRST).is_empty());
    assert_eq!(recovered_ids(&*wal, SECOND).len() as u64, last);
    wal.release(SECOND, WalId(last));
    wal.maintain().await.unwrap();
    assert!(wal.live_bytes() <= 2 * SEGMENT_BYTES);
}

pub(super) async fn a_range_is_due_once_it_keeps_enough(subject: &dyn Subject) {
    let wal = open(subject).await;
    append(&*wal, SECOND, 1, &[row("k", "v")]).await.unwrap();
    assert!(!wal.is_due(SECOND, WalId(0)));
    // One segment more than the limit, because the open segment does not count.
    let last = fill(&*wal, 2, FLUSH_AFTER_SEGMENTS + 1).await;
    assert!(wal.is_due(SECOND, WalId(0)));
    assert!(
        !wal.is_due(SECOND, WalId(last)),
        "the running flush includes all records"
    );
    assert!(!wal.is_due(FIRST, WalId(0)), "the range has no records");
}

/// Fills segments with records of [`SECOND`] after `last` until the range is due. The number of segments and the last
/// record.
async fn fill_until_due(wal: &dyn Wal, last: u64) -> (u64, u64) {
    let (mut segments, mut end) = (0, last);
    while !wal.is_due(SECOND, WalId(last)) {
        assert!(!wal.is_backlogged(), "groups were refused before");
        end = fill(wal, end + 1, 1).await;
        segments += 1;
    }
    (segments, end)
}

pub(super) async fn a_range_is_due_later_if_many_are_unflushed(subject: &dyn Subject) {
    let wal = open(subject).await;
    let (few, last) = fill_until_due(&*wal, 0).await;
    wal.release(SECOND, WalId(last));
    wal.maintain().await.unwrap();
    let others = || (10..16).map(RangeId);
    for range in others() {
        append(&*wal, range, 1, &[row("k", "v")]).await.unwrap();
    }
    let (many, last) = fill_until_due(&*wal, last).await;
    assert!(many > few, "{many} and {few} segments");
    for range in others() {
        wal.release(range, WalId(1));
    }
    wal.release(SECOND, WalId(last));
    wal.maintain().await.unwrap();
    assert!(fill_until_due(&*wal, last).await.0 < many);
}

pub(super) async fn ranges_that_stopped_writing_are_stragglers(subject: &dyn Subject) {
    let wal = open(subject).await;
    append(&*wal, FIRST, 1, &[row("k", "v")]).await.unwrap();
    assert!(wal.stragglers().is_empty());
    let mut last = 0;
    for _ in 0..LIVE_SEGMENTS_MAX {
        last = fill(&*wal, last + 1, 1).await;
        wal.is_due(SECOND, WalId(last));
    }
    assert_eq!(wal.stragglers(), [FIRST]);
    // The range writes again, but too rarely to become due.
    append(&*wal, FIRST, 2, &[row("k", "v")]).await.unwrap();
    assert!(!wal.is_due(FIRST, WalId(0)));
    assert_eq!(wal.stragglers(), [FIRST]);
    assert!(!wal.is_due(FIRST, WalId(2)));
    assert!(wal.stragglers().is_empty(), "the range is flushing");
    drop(wal);

    let wal = open(subject).await;
    assert!(
        wal.stragglers().contains(&FIRST),
        "the WAL does not store which flushes are running"
    );
    wal.release(FIRST, WalId(2));
    wal.release(SECOND, WalId(last));
    assert!(wal.stragglers().is_empty());
}

pub(super) async fn a_long_log_is_backlogged_until_a_release(subject: &dyn Subject) {
    let wal = open(subject).await;
    let mut last = 0;
    while !wal.is_backlogged() {
        last = fill(&*wal, last + 1, 1).await;
        assert!(last < 1_000, "the WAL becomes backlogged");
    }
    assert!(
        last >= (LIVE_SEGMENTS_MAX - 1) * RECORDS_IN_A_SEGMENT,
        "{last}"
    );
    assert!(
        last <= (LIVE_SEGMENTS_MAX + 3) * RECORDS_IN_A_SEGMENT,
        "{last}"
    );
    drop(wal);
    let wal = open(subject).await;
    assert!(wal.is_backlogged());
    wal.release(SECOND, WalId(last));
    assert!(!wal.is_backlogged());
}
