//! Scans of servers that violate the protocol, or whose tokens have another form.

use super::{MemoryRow, query, row};
use crate::scan::{
    Bounds, Page, PageRequest, PageSource, Part, ScanError, SourceError, Step, Strategy, Tokens,
    execute,
};
use futures::FutureExt as _;
use partita_model::{ContinuationToken, EntityPosition};
use partita_wire::table::write_entity_token;

fn begin() -> Step {
    Strategy::Prefix.plan(&Bounds::default(), &[], 1).remove(0)
}

/// A server that answers every request with the same page.
struct Stubborn(Vec<(&'static str, &'static str)>, Option<ContinuationToken>);

impl PageSource for Stubborn {
    type Row = MemoryRow;

    async fn page(&self, _: PageRequest) -> Result<Page<MemoryRow>, SourceError> {
        let rows = self.0.iter().map(|(key, row_key)| row(key, row_key));
        Ok(Page {
            rows: rows.collect(),
            continuation: self.1.clone(),
        })
    }
}

#[test]
fn a_page_that_would_lose_rows_is_an_error() {
    let mut range = begin();
    range.part = Part::Range {
        bounds: Bounds::of_prefix("b"),
    };
    let cases = [
        (begin(), vec![("b", ""), ("a", "")], ("a", "")),
        (begin(), vec![("a", "2"), ("a", "2")], ("a", "2")),
        // In UTF-8 order, which differs from the service's order.
        (
            begin(),
            vec![("\u{FFFD}", ""), ("\u{1F600}", "")],
            ("\u{1F600}", ""),
        ),
        (range, vec![("a", "")], ("a", "")),
    ];
    for (step, rows, culprit) in cases {
        let query = query(|_| {});
        let result = execute(&Stubborn(rows, None), &query, &step)
            .now_or_never()
            .unwrap();
        assert!(result.rows.is_empty());
        assert_eq!(result.steps, [step]);
        match result.failure {
            Some(ScanError::Disordered {
                partition_key,
                row_key,
            }) => {
                assert_eq!((&*partition_key, &*row_key), culprit);
            }
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn a_token_that_does_not_advance_is_an_error() {
    let query = query(|_| {});
    let source = Stubborn(Vec::new(), Some(token("a", None)));
    let first = execute(&source, &query, &begin()).now_or_never().unwrap();
    assert!(first.failure.is_none());
    assert!(first.steps[0].continuation.is_some());
    let second = execute(&source, &query, &first.steps[0])
        .now_or_never()
        .unwrap();
    assert!(matches!(second.failure, Some(ScanError::Stuck)));
    assert_eq!(second.steps, first.steps);
}

fn token(partition_key: &str, row_key: Option<&str>) -> ContinuationToken {
    write_entity_token(&EntityPosition {
        partition_key: partition_key.to_owned(),
        row_key: row_key.map(str::to_owned),
    })
}

/// The filters of the steps that remain after a page that ends with ("ab", "5") and has this token.
fn left(part: &Part, continuation: ContinuationToken) -> Vec<String> {
    let query = query(|options| options.tokens = Tokens::NextRow);
    let source = Stubborn(vec![("ab", "5")], Some(continuation));
    let step = Step::new(part.clone());
    let result = execute(&source, &query, &step).now_or_never().unwrap();
    assert!(result.failure.is_none());
    let filters = result.steps.iter().map(|step| step.filter(None));
    filters.map(Option::unwrap_or_default).collect()
}

#[test]
fn a_token_with_the_next_row_saves_requests() {
    let everything = [
        "PartitionKey eq 'ab' and RowKey gt '5'",
        "PartitionKey gt 'ab' and PartitionKey lt 'b'",
        "PartitionKey ge 'b'",
    ];
    let part = begin().part;
    assert_eq!(left(&part, token("ab", Some("6"))), everything);
    assert_eq!(
        left(&part, token("ac", None)),
        [
            "PartitionKey ge 'ac' and PartitionKey lt 'b'",
            "PartitionKey ge 'b'",
        ]
    );
    assert_eq!(left(&part, token("x", Some("1"))), ["PartitionKey ge 'x'"]);
    let unknown = ContinuationToken {
        next_partition_key: "another form".to_owned(),
        next_row_key: None,
    };
    // Tokens of an unknown form are ignored, and so are tokens that do not advance beyond the row ("ab", "5").
    for useless in [
        unknown,
        token("ab", None),
        token("ab", Some("5")),
        token("a", Some("9")),
    ] {
        assert_eq!(left(&part, useless), everything);
    }
}
