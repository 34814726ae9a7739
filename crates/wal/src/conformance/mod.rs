//! The suite that every WAL passes.
//!
//! [`run`] takes a function that makes empty storages, and checks the guarantees of [`Wal`] and [`WalStorage`] one by
//! one. It panics at the first violation. Every implementation of [`WalStorage`] must pass it.

#![allow(clippy::unwrap_used, reason = "a test suite: a panic fails the test")]

mod append_cases;
mod retention_cases;
#[cfg(test)]
pub(crate) mod script;

use std::sync::Arc;

use bytes::Bytes;

use crate::{
    AppendError, AppendFault, RangeId, RecordHeader, RecordSize, Resume, RoomError, Row, Wal,
    WalId, WalStorage,
};

/// Bytes of a segment in the storages under test.
pub const SEGMENT_BYTES: u64 = 8 << 10;

/// The number of segments after which a range is due for a flush in the storages under test.
pub const FLUSH_AFTER_SEGMENTS: u64 = 2;

/// The number of segments at which a WAL is backlogged in the storages under test.
pub const LIVE_SEGMENTS_MAX: u64 = 8;

/// A storage under test, with fault injection.
pub trait Subject {
    /// The storage. Its WAL has [`SEGMENT_BYTES`], [`FLUSH_AFTER_SEGMENTS`] and [`LIVE_SEGMENTS_MAX`].
    fn storage(&self) -> &dyn WalStorage;

    /// Makes the next append of a group fail.
    fn fail_next_append(&self, fault: AppendFault);

    /// Whether the storage has a limited space, which [`Wal::make_room`] reserves. An object store has none.
    fn has_limited_space(&self) -> bool {
        true
    }

    /// Makes the storage full, or frees its space. Called only if the space is limited.
    fn set_full(&self, full: bool);
}

/// Checks every guarantee, each on a new, empty storage.
///
/// # Panics
/// At the first guarantee that does not hold.
pub async fn run(mut make: impl FnMut() -> Box<dyn Subject>) {
    macro_rules! cases {
        ($($module:ident: $($case:ident)*;)*) => {$($($module::$case(&*make()).await;)*)*};
    }
    cases! {
        append_cases:
            appended_records_are_read_back
            a_group_has_a_record_of_each_range
            a_group_that_was_not_appended_is_gone
            after_a_failed_append_nothing_is_appended_until_the_log_is_opened_again
            of_a_torn_group_only_the_first_records_are_read_back
            an_older_log_cannot_append
            a_poisoned_log_takes_no_records
            a_record_that_does_not_fit_leaves_the_group_unchanged
            a_full_storage_refuses_before_anything_is_written
            a_record_may_be_longer_than_a_segment
            written_bytes_are_counted_over_all_openings;
        retention_cases:
            released_records_are_removed_from_the_front
            a_record_that_another_range_needs_is_kept
            records_of_unknown_ranges_are_dropped
            a_range_is_due_once_it_keeps_enough
            a_range_is_due_later_if_many_are_unflushed
            ranges_that_stopped_writing_are_stragglers
            a_long_log_is_backlogged_until_a_release;
    }
}

pub(crate) const FIRST: RangeId = RangeId(1);
pub(crate) const SECOND: RangeId = RangeId(2);

/// Opens the WAL with [`Resume::AfterStop`].
pub(crate) async fn open(subject: &dyn Subject) -> Arc<dyn Wal> {
    let opened = subject.storage().open(Resume::AfterStop).await;
    opened.expect("the WAL opens")
}

/// A row with a creation time.
pub(crate) fn row(key: &str, value: impl Into<Bytes>) -> Row {
    Row {
        key: Bytes::copy_from_slice(key.as_bytes()),
        value: Some(value.into()),
        create_ts: Some(1_700_000_000_000),
        expire_ts: None,
    }
}

/// A row with a value of `bytes` bytes.
pub(crate) fn long_row(bytes: usize) -> Row {
    row("key", vec![b'v'; bytes])
}

pub(crate) fn size(rows: &[Row]) -> RecordSize {
    let payload = rows
        .iter()
        .map(|row| row.key.len() + row.value.as_ref().map_or(0, Bytes::len));
    RecordSize {
        rows: rows.len(),
        payload_bytes: payload.sum(),
    }
}

pub(crate) async fn make_room(wal: &dyn Wal, rows: &[Row]) -> Result<(), RoomError> {
    wal.make_room(&mut [size(rows)].into_iter()).await
}

/// Adds a record whose sequence number equals its WAL id.
pub(crate) fn add(
    wal: &dyn Wal,
    range: RangeId,
    wal_id: u64,
    rows: &[Row],
) -> Result<(), AppendError> {
    let header = RecordHeader {
        range,
        wal_id: WalId(wal_id),
        seq: wal_id,
    };
    wal.add(header, size(rows), &mut rows.iter().map(Row::as_ref))
}

/// Makes room for a group of one record and appends it.
pub(crate) async fn append(
    wal: &dyn Wal,
    range: RangeId,
    wal_id: u64,
    rows: &[Row],
) -> Result<(), AppendError> {
    make_room(wal, rows).await.expect("there is room");
    add(wal, range, wal_id, rows)?;
    wal.append_group().await
}

/// The numbers of the recovered records of a range.
pub(crate) fn recovered_ids(wal: &dyn Wal, range: RangeId) -> Vec<u64> {
    let records = wal.take_recovered(range);
    records
        .iter()
        .map(|record| record.header.wal_id.0)
        .collect()
}

/// Rows of all kinds, for property tests.
#[cfg(test)]
pub(crate) fn rows() -> impl proptest::strategy::Strategy<Value = Vec<Row>> {
    use proptest::prelude::*;
    let bytes = |count_max| proptest::collection::vec(any::<u8>(), 0..count_max);
    let value = proptest::option::of(bytes(300));
    let row = (bytes(40), value, any::<Option<i64>>(), any::<Option<i64>>());
    let row = row.prop_map(|(key, value, create_ts, expire_ts)| Row {
        key: key.into(),
        value: value.map(Bytes::from),
        create_ts,
        expire_ts,
    });
    proptest::collection::vec(row, 1..20)
}
