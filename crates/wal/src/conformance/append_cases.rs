//! The guarantees for groups, one function each.

use std::sync::Arc;

use bytes::Bytes;

use super::{
    FIRST, SECOND, SEGMENT_BYTES, Subject, add, append, long_row, make_room, open, recovered_ids,
    row, size,
};
use crate::{AppendError, AppendFault, RangeId, RecordSize, Resume, RoomError, Row, Wal, WalId};

pub(super) async fn appended_records_are_read_back(subject: &dyn Subject) {
    let wal = open(subject).await;
    assert!(wal.is_new());
    assert_eq!(wal.last_of(FIRST), None);
    assert!(wal.take_recovered(FIRST).is_empty());
    let deleted = Row {
        value: None,
        create_ts: None,
        expire_ts: Some(-5),
        ..row("gone", "")
    };
    let second = [row("a", ""), deleted, row("", "x")];
    append(&*wal, FIRST, 1, &[row("a", "1")]).await.unwrap();
    append(&*wal, FIRST, 2, &second).await.unwrap();
    assert_eq!(wal.last_of(FIRST), Some(WalId(2)));
    assert!(wal.live_bytes() > 0);
    drop(wal);

    let wal = open(subject).await;
    assert!(!wal.is_new());
    assert_eq!(wal.last_of(FIRST), Some(WalId(2)));
    let records = wal.take_recovered(FIRST);
    let ids: Vec<_> = records
        .iter()
        .map(|it| (it.header.wal_id.0, it.header.seq))
        .collect();
    assert_eq!(ids, [(1, 1), (2, 2)]);
    assert!(records.iter().all(|record| record.header.range == FIRST));
    let rows: Vec<Row> = records[1].rows().map(Result::unwrap).collect();
    assert_eq!(rows, second);
    assert!(records[1].bytes() > 4);
    assert!(
        wal.take_recovered(FIRST).is_empty(),
        "recovered records can be taken only once"
    );
    append(&*wal, FIRST, 3, &[row("b", "3")]).await.unwrap();
    drop(wal);
    assert_eq!(recovered_ids(&*open(subject).await, FIRST), [1, 2, 3]);
}

pub(super) async fn a_group_has_a_record_of_each_range(subject: &dyn Subject) {
    let wal = open(subject).await;
    wal.append_group().await.unwrap();
    let rows = [row("k", "v")];
    for group in 1..=3 {
        let sizes = [size(&rows); 2];
        wal.make_room(&mut sizes.into_iter()).await.unwrap();
        add(&*wal, FIRST, group, &rows).unwrap();
        add(&*wal, SECOND, group, &rows).unwrap();
        wal.append_group().await.unwrap();
    }
    drop(wal);
    let wal = open(subject).await;
    assert_eq!(recovered_ids(&*wal, FIRST), [1, 2, 3]);
    assert_eq!(recovered_ids(&*wal, SECOND), [1, 2, 3]);
}

/// Opens a WAL, appends record 1, and adds record 2 to a group that is never appended.
async fn open_with_an_unappended_record(subject: &dyn Subject) -> Arc<dyn Wal> {
    let wal = open(subject).await;
    let rows = [row("k", "v")];
    append(&*wal, FIRST, 1, &rows).await.unwrap();
    make_room(&*wal, &rows).await.unwrap();
    add(&*wal, FIRST, 2, &rows).unwrap();
    wal
}

pub(super) async fn a_group_that_was_not_appended_is_gone(subject: &dyn Subject) {
    let wal = open_with_an_unappended_record(subject).await;
    assert_eq!(wal.last_of(FIRST), Some(WalId(1)));
    drop(wal);
    assert_eq!(recovered_ids(&*open(subject).await, FIRST), [1]);
}

pub(super) async fn after_a_failed_append_nothing_is_appended_until_the_log_is_opened_again(
    subject: &dyn Subject,
) {
    let rows = [long_row(600)];
    let mut next = 1;
    for fault in [AppendFault::Durable, AppendFault::Lost, AppendFault::Torn] {
        let wal = open(subject).await;
        append(&*wal, FIRST, next, &rows).await.unwrap();
        subject.fail_next_append(fault);
        let failed = append(&*wal, FIRST, next + 1, &rows).await;
        assert!(matches!(failed, Err(AppendError::Io(_))), "{failed:?}");
        make_room(&*wal, &rows).await.unwrap();
        let refused = add(&*wal, FIRST, next + 2, &rows);
        assert!(matches!(refused, Err(AppendError::Poisoned)), "{refused:?}");
        drop(wal);

        let wal = subject.storage().open(Resume::AfterFailure).await.unwrap();
        let found = recovered_ids(&*wal, FIRST);
        let last = next + u64::from(fault == AppendFault::Durable);
        assert_eq!(found, (1..=last).collect::<Vec<u64>>(), "{fault:?}");
        append(&*wal, FIRST, last + 1, &rows).await.unwrap();
        drop(wal);
        let found = recovered_ids(&*open(subject).await, FIRST);
        assert_eq!(found, (1..=last + 1).collect::<Vec<u64>>(), "{fault:?}");
        next = last + 2;
    }
}

pub(super) async fn of_a_torn_group_only_the_first_records_are_read_back(subject: &dyn Subject) {
    let wal = open(subject).await;
    let rows = [long_row(300)];
    append(&*wal, FIRST, 1, &rows).await.unwrap();
    let ranges = [RangeId(2), RangeId(3), RangeId(4), RangeId(5)];
    let sizes = [size(&rows); 4];
    wal.make_room(&mut sizes.into_iter()).await.unwrap();
    for range in ranges {
        add(&*wal, range, 1, &rows).unwrap();
    }
    subject.fail_next_append(AppendFault::Torn);
    assert!(wal.append_group().await.is_err());
    drop(wal);

    let found = async || {
        let wal = open(subject).await;
        let found = ranges.map(|range| recovered_ids(&*wal, range).len());
        (wal, found)
    };
    let (wal, kept) = found().await;
    assert!(kept.is_sorted_by(|a, b| a >= b), "a prefix: {kept:?}");
    assert!(kept.iter().sum::<usize>() < ranges.len());
    append(&*wal, FIRST, 2, &rows).await.unwrap();
    drop(wal);
    let (wal, still) = found().await;
    assert_eq!(
        still, kept,
        "no torn record is recovered after a later group"
    );
    assert_eq!(recovered_ids(&*wal, FIRST), [1, 2]);
}

pub(super) async fn an_older_log_cannot_append(subject: &dyn Subject) {
    let older = open_with_an_unappended_record(subject).await;
    let newer = open(subject).await;
    let refused = older.append_group().await;
    assert!(matches!(refused, Err(AppendError::Poisoned)), "{refused:?}");
    assert_eq!(recovered_ids(&*newer, FIRST), [1]);
    append(&*newer, FIRST, 2, &[row("k", "v")]).await.unwrap();
    drop((older, newer));
    assert_eq!(recovered_ids(&*open(subject).await, FIRST), [1, 2]);
}

pub(super) async fn a_poisoned_log_takes_no_records(subject: &dyn Subject) {
    let wal = open(subject).await;
    let rows = [row("k", "v")];
    make_room(&*wal, &rows).await.unwrap();
    add(&*wal, FIRST, 1, &rows).unwrap();
    wal.poison();
    let refused = wal.append_group().await;
    assert!(matches!(refused, Err(AppendError::Poisoned)), "{refused:?}");
    let refused = add(&*wal, FIRST, 1, &rows);
    assert!(matches!(refused, Err(AppendError::Poisoned)), "{refused:?}");
    drop(wal);
    assert!(recovered_ids(&*open(subject).await, FIRST).is_empty());
}

pub(super) async fn a_record_that_does_not_fit_leaves_the_group_unchanged(subject: &dyn Subject) {
    let wal = open(subject).await;
    let small = [row("k", "v")];
    let huge = RecordSize {
        rows: 1,
        payload_bytes: 1 << 32,
    };
    let refused = wal.make_room(&mut [huge].into_iter()).await;
    assert!(matches!(refused, Err(RoomError::TooLarge)), "{refused:?}");

    make_room(&*wal, &small).await.unwrap();
    add(&*wal, FIRST, 1, &small).unwrap();
    let too_long = Row {
        key: Bytes::from(vec![0; 1 << 16]),
        ..row("", "")
    };
    let more_than_room = long_row(2 * SEGMENT_BYTES as usize);
    for unfit in [more_than_room, too_long] {
        let refused = add(&*wal, SECOND, 1, &[unfit]);
        assert!(matches!(refused, Err(AppendError::Unfit)), "{refused:?}");
    }
    wal.append_group().await.unwrap();
    drop(wal);
    let wal = open(subject).await;
    assert_eq!(recovered_ids(&*wal, FIRST), [1]);
    assert!(recovered_ids(&*wal, SECOND).is_empty());
}

pub(super) async fn a_full_storage_refuses_before_anything_is_written(subject: &dyn Subject) {
    if !subject.has_limited_space() {
        return;
    }
    let wal = open(subject).await;
    subject.set_full(true);
    let rows = [long_row(800)];
    let mut last = 0;
    let refused = loop {
        match make_room(&*wal, &rows).await {
            Ok(()) => {
                last += 1;
                add(&*wal, FIRST, last, &rows).unwrap();
                wal.append_group().await.unwrap();
            }
            Err(refused) => break refused,
        }
        assert!(last < 1_000, "the WAL becomes full");
    };
    assert!(matches!(refused, RoomError::Full), "{refused:?}");
    wal.maintain().await.unwrap_err();
    subject.set_full(false);
    wal.maintain().await.unwrap();
    append(&*wal, FIRST, last + 1, &rows).await.unwrap();
    drop(wal);
    let found = recovered_ids(&*open(subject).await, FIRST);
    assert_eq!(found, (1..=last + 1).collect::<Vec<u64>>());
}

pub(super) async fn a_record_may_be_longer_than_a_segment(subject: &dyn Subject) {
    let wal = open(subject).await;
    for (id, bytes) in (1..).zip([3_000, 40_000, 700, 40_000, 40_000, 3_000]) {
        append(&*wal, FIRST, id, &[long_row(bytes)]).await.unwrap();
        wal.maintain().await.unwrap();
    }
    assert!(wal.live_bytes() > 3 * 40_000);
    drop(wal);
    let wal = open(subject).await;
    let records = wal.take_recovered(FIRST);
    assert_eq!(records.len(), 6);
    let rows: Vec<Row> = records[3].rows().map(Result::unwrap).collect();
    assert_eq!(rows, [long_row(40_000)]);
}

pub(super) async fn written_bytes_are_counted_over_all_openings(subject: &dyn Subject) {
    const BYTES: u64 = 3_000;
    let (storage, rows) = (subject.storage(), [long_row(BYTES as usize)]);
    assert_eq!(storage.written_bytes(), 0);
    for id in 1..=6 {
        let wal = open(subject).await;
        let before = storage.written_bytes();
        append(&*wal, FIRST, id, &rows).await.unwrap();
        let written = storage.written_bytes() - before;
        assert!((BYTES..BYTES + 1_024).contains(&written), "{written}");
        assert!(wal.segment_bytes() >= wal.live_bytes());
    }
    let (wal, before) = (open(subject).await, storage.written_bytes());
    wal.append_group().await.unwrap();
    assert_eq!(storage.written_bytes(), before, "a group without records");
}
