//! Conversion between SlateDB's row type and the WAL's: the same bytes under two types.

use partita_wal::{RecordSize, Row, RowRef};
use slatedb::{RowEntry, ValueDeletable};

/// The size of a record of these rows. `None` if the WAL cannot store a row: a merge operand, which this engine never
/// writes.
pub(in crate::slate) fn record_size(rows: &[RowEntry]) -> Option<RecordSize> {
    let mut payload_bytes = 0;
    for row in rows {
        if matches!(row.value, ValueDeletable::Merge(_)) {
            return None;
        }
        payload_bytes += row.key.len() + row.value.len();
    }
    Some(RecordSize {
        rows: rows.len(),
        payload_bytes,
    })
}

/// Borrows a row of SlateDB as a row of the WAL.
pub(in crate::slate) fn lend(row: &RowEntry) -> RowRef<'_> {
    RowRef {
        key: &row.key,
        value: match &row.value {
            ValueDeletable::Value(value) | ValueDeletable::Merge(value) => Some(value),
            ValueDeletable::Tombstone => None,
        },
        create_ts: row.create_ts,
        expire_ts: row.expire_ts,
    }
}

/// Converts a row of the WAL into a row of SlateDB for the replay.
pub(super) fn entry(row: Row, seq: u64) -> RowEntry {
    RowEntry {
        key: row.key,
        value: row
            .value
            .map_or(ValueDeletable::Tombstone, ValueDeletable::Value),
        seq,
        create_ts: row.create_ts,
        expire_ts: row.expire_ts,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(value: ValueDeletable) -> RowEntry {
        RowEntry {
            key: "key".into(),
            value,
            seq: 7,
            create_ts: Some(1),
            expire_ts: Some(-5),
        }
    }

    #[test]
    fn a_row_survives_the_round_trip_through_the_wal() {
        for value in [ValueDeletable::Value("v".into()), ValueDeletable::Tombstone] {
            let before = row(value);
            let lent = lend(&before);
            let read = Row {
                key: lent.key.to_vec().into(),
                value: lent.value.map(|value| value.to_vec().into()),
                create_ts: lent.create_ts,
                expire_ts: lent.expire_ts,
            };
            assert_eq!(entry(read, 7), before);
        }
    }

    #[test]
    fn a_merge_operand_has_no_size() {
        let rows = [
            row(ValueDeletable::Value("value".into())),
            row(ValueDeletable::Tombstone),
        ];
        let size = RecordSize {
            rows: 2,
            payload_bytes: 3 + 5 + 3,
        };
        assert_eq!(record_size(&rows), Some(size));
        let merge = row(ValueDeletable::Merge("x".into()));
        assert_eq!(record_size(&[merge]), None);
    }
}
