use super::*;
use partita_model::{Comparison, Entity, Properties, Property, Stored, TableId, TableSpace, Value};
use proptest::prelude::*;

fn compare(property: Property, op: Comparison, literal: &str) -> Filter {
    Filter::Compare {
        property,
        op,
        literal: Value::String(literal.to_owned()),
    }
}

fn partition(op: Comparison, literal: &str) -> Filter {
    compare(Property::PartitionKey, op, literal)
}

fn row(op: Comparison, literal: &str) -> Filter {
    compare(Property::RowKey, op, literal)
}

fn other() -> Filter {
    compare(Property::Named("City".into()), Comparison::Equal, "x")
}

use Comparison::{Equal, Greater, GreaterOrEqual, Less, NotEqual};

#[test]
fn equality_of_both_keys_is_a_point_query() {
    let plan = Plan::new(Some(&Filter::And(vec![
        partition(Equal, "p"),
        row(Equal, "r"),
    ])));
    assert_eq!(plan.class(), QueryClass::Point);
    assert_eq!(plan.spans[0].point(), Some(("p", "r")));
    assert_eq!(plan.residual, None);
}

#[test]
fn a_row_key_prefix_reads_one_range_of_rows() {
    let filter = Filter::And(vec![
        partition(Equal, "p"),
        row(GreaterOrEqual, "a"),
        row(Less, "b"),
        other(),
    ]);
    let plan = Plan::new(Some(&filter));
    assert_eq!(plan.class(), QueryClass::RowRangeScan);
    let [start, end] = ["a", "b"].map(|row| EntityBound::Before("p".into(), row.into()));
    assert_eq!(plan.spans, [EntityRange { start, end }]);
    assert_eq!(plan.residual, Some(other()));
}

#[test]
fn a_partition_range_keeps_the_row_filter() {
    let filter = Filter::And(vec![
        partition(Greater, "a"),
        partition(Less, "c"),
        row(Equal, "r"),
    ]);
    let plan = Plan::new(Some(&filter));
    assert_eq!(plan.class(), QueryClass::PartitionRangeScan);
    assert_eq!(plan.residual, Some(filter));
    let filter = Filter::And(vec![partition(Greater, "a"), partition(Less, "c"), other()]);
    assert_eq!(Plan::new(Some(&filter)).residual, Some(other()));
}

#[test]
fn a_filter_without_a_partition_reads_the_whole_table() {
    for filter in [
        other(),
        row(Equal, "r"),
        Filter::Or(vec![partition(Equal, "p"), other()]),
    ] {
        assert_eq!(
            Plan::new(Some(&filter)).class(),
            QueryClass::FullTableScan,
            "{filter}"
        );
    }
    assert_eq!(Plan::new(None).class(), QueryClass::FullTableScan);
}

#[test]
fn alternatives_are_separate_spans() {
    let point = |p: &str, r: &str| Filter::And(vec![partition(Equal, p), row(Equal, r)]);
    let plan = Plan::new(Some(&Filter::Or(vec![
        point("b", "1"),
        point("a", "2"),
        point("b", "1"),
    ])));
    assert_eq!(plan.class(), QueryClass::Point);
    let points: Vec<_> = plan.spans.iter().filter_map(EntityRange::point).collect();
    assert_eq!(points, [("a", "2"), ("b", "1")]);
    assert_eq!(plan.residual, None);
}

#[test]
fn a_contradiction_has_no_spans() {
    let plan = Plan::new(Some(&Filter::And(vec![
        partition(Equal, "a"),
        partition(Equal, "b"),
    ])));
    assert!(plan.spans.is_empty());
    let typed = Filter::Compare {
        property: Property::RowKey,
        op: Equal,
        literal: Value::Int32(1),
    };
    assert!(Plan::new(Some(&typed)).spans.is_empty());
}

#[test]
fn a_not_equal_splits_the_span() {
    let filter = Filter::And(vec![partition(Equal, "p"), row(NotEqual, "r")]);
    let plan = Plan::new(Some(&filter));
    assert_eq!((plan.spans.len(), plan.residual.clone()), (2, None));
    assert_eq!(plan.class(), QueryClass::RowRangeScan);
}

#[test]
fn a_continuation_and_a_signature_restrict_the_spans() {
    let mut plan = Plan::new(Some(&partition(Equal, "p")));
    plan.resume(&EntityBound::Before("p".into(), "m".into()));
    plan.restrict(&EntityRange {
        start: EntityBound::TableStart,
        end: EntityBound::After("p".into(), "x".into()),
    });
    let start = EntityBound::Before("p".into(), "m".into());
    assert_eq!(
        plan.spans,
        [EntityRange {
            start,
            end: EntityBound::After("p".into(), "x".into())
        }]
    );
    plan.restrict(&EntityRange {
        start: EntityBound::AfterPartition("p".into()),
        end: EntityBound::TableEnd,
    });
    assert!(plan.spans.is_empty());
}

const KEYS: [&str; 8] = [
    "",
    "a",
    "a\u{1}",
    "ab",
    "b",
    "\u{FFFD}",
    "\u{10000}",
    "\u{FFFF}",
];

fn filter() -> impl Strategy<Value = Filter> {
    let key = prop::sample::select(KEYS.as_slice());
    let op = prop::sample::select(
        [
            Equal,
            NotEqual,
            Less,
            Comparison::LessOrEqual,
            Greater,
            GreaterOrEqual,
        ]
        .as_slice(),
    );
    let property = prop_oneof![
        4 => Just(Property::PartitionKey),
        3 => Just(Property::RowKey),
        1 => Just(Property::Named("n".into())),
    ];
    let literal = prop_oneof![
        8 => key.prop_map(|key| Value::String(key.to_owned())),
        1 => Just(Value::Int32(1)),
    ];
    let leaf = prop_oneof![
        10 => (property, op, literal)
            .prop_map(|(property, op, literal)| Filter::Compare { property, op, literal }),
        1 => any::<bool>().prop_map(Filter::Constant),
        1 => Just(Filter::IsTrue(Property::PartitionKey)),
        1 => Just(Filter::IsTrue(Property::Named("n".into()))),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Filter::And),
            prop::collection::vec(inner.clone(), 0..4).prop_map(Filter::Or),
            inner.prop_map(|inner| Filter::Not(Box::new(inner))),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    /// Spans and residual together accept the same pairs of keys as the filter.
    #[test]
    fn spans_and_residual_equal_the_filter(filter in filter()) {
        let space = TableSpace::new("acc", TableId(1));
        let plan = Plan::new(Some(&filter));
        let cuts: Vec<_> =
            plan.spans.iter().map(|span| (span.start.key(&space), span.end.key(&space))).collect();
        for pair in cuts.windows(2) {
            prop_assert!(pair[0].1 < pair[1].0, "spans are sorted and disjoint");
        }
        let properties = Properties::empty().into_stored(partita_model::DateTime::UNIX_EPOCH);
        for partition_key in KEYS {
            for row_key in KEYS {
                let entity = Entity {
                    partition_key: partition_key.into(),
                    row_key: row_key.into(),
                    stored: Stored::open(&properties).unwrap(),
                };
                let key = space.entity(partition_key, row_key);
                let inside = cuts.iter().any(|(start, end)| *start <= key && key < *end);
                let passes =
                    plan.residual.as_ref().is_none_or(|residual| residual.matches(&entity).unwrap());
                prop_assert_eq!(
                    inside && passes, filter.matches(&entity).unwrap(),
                    "{:?} {:?} {} {:?}", partition_key, row_key, &filter, &plan
                );
            }
        }
    }
}
