use super::*;
use crate::forward::{DecodeError, RangeId, Tenure};
use bytes::Bytes;

#[test]
fn requests_are_read_as_they_were_written() {
    let actions = [
        RowsAction::Get { key: b"k" },
        RowsAction::Lease { key: b"" },
        RowsAction::Scan {
            start: b"a",
            end: b"b\xff",
            rows_max: 7,
            bytes_max: u32::MAX,
        },
        RowsAction::Write,
    ];
    for action in actions {
        let request = RowsRequest {
            range: RangeId(3),
            tenure: Tenure(u64::MAX),
            action,
        };
        let bytes = request.encode();
        assert_eq!(RowsRequest::decode(&bytes), Ok(request));
        for end in 0..bytes.len() {
            assert!(RowsRequest::decode(&bytes[..end]).is_err(), "{end}");
        }
    }
}

#[test]
fn answers_are_read_as_they_were_written() {
    let answers = [
        RowsAnswer::NotHere(Tenure(5)),
        RowsAnswer::Row {
            exists: true,
            lease_us: 1_000_000,
        },
        RowsAnswer::Page { next: None },
        RowsAnswer::Page { next: Some(b"n") },
        RowsAnswer::Written(false),
        RowsAnswer::Busy {
            reason: "range-in-transit",
            detail: "d",
        },
        RowsAnswer::TooLarge,
        RowsAnswer::Unknown,
        RowsAnswer::Corrupt("file 7"),
    ];
    for answer in answers {
        let bytes = answer.encode();
        assert_eq!(RowsAnswer::decode(&bytes), Ok(answer));
        for end in 0..bytes.len() {
            assert!(RowsAnswer::decode(&bytes[..end]).is_err(), "{end}");
        }
    }
}

#[test]
fn bodies_are_read_as_they_were_written() {
    let rows = [
        (Bytes::from("a"), Bytes::from("1")),
        ("b".into(), "".into()),
    ];
    let body = encode_rows(rows.iter().map(|(key, row)| (&key[..], &row[..])));
    assert_eq!(decode_rows(&body).unwrap(), rows);
    let changes = [
        RowChange {
            key: "k".into(),
            expected: ExpectedRow::Row("old".into()),
            row: Some("new".into()),
        },
        RowChange {
            key: "l".into(),
            expected: ExpectedRow::Absent,
            row: None,
        },
        RowChange {
            key: "m".into(),
            expected: ExpectedRow::Any,
            row: Some(Bytes::new()),
        },
    ];
    let body = encode_changes(&changes);
    assert_eq!(decode_changes(&body).unwrap(), changes);
}

/// A long text is cut at a character.
#[test]
fn a_text_never_exceeds_the_limit_of_its_reader() {
    let text = "ü".repeat(4_000);
    let bytes = RowsAnswer::Corrupt(&text).encode();
    assert!(matches!(
        RowsAnswer::decode(&bytes),
        Ok(RowsAnswer::Corrupt(cut)) if text.starts_with(cut)
    ));
}

#[test]
fn another_version_is_refused() {
    assert_eq!(RowsRequest::decode(&[1, 0]), Err(DecodeError::Version(1)));
}
