use super::*;
use crate::ErrorCode;
use crate::testing::any_value;
use partita_model::{Comparison, DateTime, Filter, Guid, Property, Value};
use proptest::prelude::*;

/// The parsed filter, in the text of [`Filter`]'s `Display`.
fn tree(text: &str) -> String {
    match parse_filter(text) {
        Ok(filter) => filter.to_string(),
        Err(failure) => panic!("{text}: {failure}"),
    }
}

fn code(text: &str) -> ErrorCode {
    match parse_filter(text) {
        Ok(filter) => panic!("{text} was read as {filter}"),
        Err(failure) => failure.code,
    }
}

fn message(text: &str) -> String {
    parse_filter(text).unwrap_err().text().to_owned()
}

fn literal(text: &str) -> Value {
    match parse_filter(&format!("p eq {text}")) {
        Ok(Filter::Compare { literal, .. }) => literal,
        other => panic!("{text}: {other:?}"),
    }
}

#[test]
fn precedence() {
    for (text, expected) in [
        ("a or b and c", "a or (b and c)"),
        ("a and b or c", "(a and b) or c"),
        ("not a and b", "not (a) and b"),
        ("not (a and b)", "not (a and b)"),
        ("not a eq 1", "not (a eq 1)"),
        ("not not a", "not (not (a))"),
        ("not(a)or(b)", "not (a) or b"),
        ("a and not b or c and d", "(a and not (b)) or (c and d)"),
        ("(a)", "a"),
        ("((a eq 1))", "a eq 1"),
        (
            "((a and b) and c) and (d and e)",
            "a and b and c and d and e",
        ),
        ("a or (b or (c or d))", "a or b or c or d"),
        ("a and (b or c) and d", "a and (b or c) and d"),
        ("true", "true"),
        ("a eq 1 and false", "a eq 1 and false"),
        ("  a   eq\t1  ", "a eq 1"),
    ] {
        assert_eq!(tree(text), expected, "{text}");
    }
}

#[test]
fn filters_that_clients_send() {
    // Recordings net--TableClientQueryableLiveTests_*, python--test_table_entity_test_query_*,
    // node--tableservice_tests_000.
    for (text, expected) in [
        (
            "(((RowKey eq '0004') and (Int32 eq 4)) or ((Int32 eq 2) and ((String eq 'wrong string') or (Bool eq true)))) or (LongPrimitiveN eq 2147483697L)",
            "(RowKey eq '0004' and Int32 eq 4) or (Int32 eq 2 and (String eq 'wrong string' or Bool eq true)) or LongPrimitiveN eq 2147483697L",
        ),
        (
            "((PartitionKey eq 'somPartition') and (String ge '0003')) and (DateTimeOffset ge datetime'2020-01-01T01:04:00Z')",
            "PartitionKey eq 'somPartition' and String ge '0003' and DateTimeOffset ge datetime'2020-01-01T01:04:00Z'",
        ),
        (
            "PartitionKey eq 'foo'' or RowKey eq ''bar2' and IsAdmin eq 'admin'",
            "PartitionKey eq 'foo'' or RowKey eq ''bar2' and IsAdmin eq 'admin'",
        ),
        (
            "PartitionKey eq ':@' and RowKey eq '+,$' and Chars eq '?''/!_^#'",
            "PartitionKey eq ':@' and RowKey eq '+,$' and Chars eq '?''/!_^#'",
        ),
        (
            "TableName ge 'batchtests' and TableName lt 'batchtests{'",
            "TableName ge 'batchtests' and TableName lt 'batchtests{'",
        ),
        (
            "date lt datetime'2019-07-10T19:00:00.000Z'",
            "date lt datetime'2019-07-10T19:00:00Z'",
        ),
    ] {
        assert_eq!(tree(text), expected);
    }
}

#[test]
fn a_literal_on_the_left_is_mirrored() {
    for (text, expected) in [
        ("5 lt Age", "Age gt 5"),
        ("5 le Age", "Age ge 5"),
        ("5 gt Age", "Age lt 5"),
        ("5 ge Age", "Age le 5"),
        ("'x' eq Age", "Age eq 'x'"),
        ("true ne Age", "Age ne true"),
    ] {
        assert_eq!(tree(text), expected);
    }
}

#[test]
fn literals_of_every_type() {
    let guid = Guid::parse("c9da6455-213d-42c9-9a79-3e9149a57833").unwrap();
    let date = |text| Value::DateTime(DateTime::parse(text).unwrap());
    for (text, expected) in [
        ("'a''b'", Value::String("a'b".into())),
        ("''", Value::String(String::new())),
        ("''''", Value::String("'".into())),
        ("'é and (x'", Value::String("é and (x".into())),
        ("123", Value::Int32(123)),
        ("-5", Value::Int32(-5)),
        ("-2147483648", Value::Int32(i32::MIN)),
        ("123L", Value::Int64(123)),
        ("-9223372036854775808L", Value::Int64(i64::MIN)),
        ("7l", Value::Int64(7)),
        ("1.5", Value::Double(1.5)),
        ("3.0", Value::Double(3.0)),
        ("3D", Value::Double(3.0)),
        ("3d", Value::Double(3.0)),
        ("1e5", Value::Double(1e5)),
        ("-1.5E-7d", Value::Double(-1.5e-7)),
        ("1e+24", Value::Double(1e24)),
        ("INF", Value::Double(f64::INFINITY)),
        ("-INF", Value::Double(f64::NEG_INFINITY)),
        ("true", Value::Boolean(true)),
        ("false", Value::Boolean(false)),
        ("True", Value::Boolean(true)),
        ("TRUE", Value::Boolean(true)),
        ("False", Value::Boolean(false)),
        ("fAlSe", Value::Boolean(false)),
        (
            "datetime'2013-08-02T17:37:43.9004348Z'",
            date("2013-08-02T17:37:43.9004348Z"),
        ),
        (
            "datetime'2013-08-02T17:37:43'",
            date("2013-08-02T17:37:43Z"),
        ),
        (
            "guid'C9DA6455-213d-42c9-9a79-3e9149a57833'",
            Value::Guid(guid),
        ),
        ("X'010aFF'", Value::Binary(vec![1, 10, 255])),
        ("x''", Value::Binary(vec![])),
        ("binary'00'", Value::Binary(vec![0])),
    ] {
        assert_eq!(literal(text), expected, "{text}");
    }
    assert!(matches!(literal("NaN"), Value::Double(value) if value.is_nan()));
    // .NET's DateTime.MinValue is earlier than any stored value, but can be compared.
    let Value::DateTime(early) = literal("datetime'0001-01-01T00:00:00Z'") else {
        panic!("not a date-time");
    };
    assert!(early < DateTime::MIN);
}

#[test]
fn errors_of_literals_contain_their_type() {
    assert_eq!(
        message("N gt 2147483648"),
        "Unrecognized 'Edm.Int32' literal '2147483648' at '5' in 'N gt 2147483648'."
    );
    for (text, edm) in [
        ("9223372036854775808L", "Edm.Int64"),
        ("1.5L", "Edm.Int64"),
        ("1e999", "Edm.Double"),
        ("1.", "Edm.Double"),
        ("datetime'x'", "Edm.DateTime"),
        ("guid'x'", "Edm.Guid"),
        ("X'0'", "Edm.Binary"),
        ("X'0g'", "Edm.Binary"),
        ("X'é'", "Edm.Binary"),
    ] {
        let message = message(&format!("p eq {text}"));
        assert!(
            message.starts_with(&format!("Unrecognized '{edm}' literal '{text}'")),
            "{message}"
        );
    }
}

#[test]
fn comparisons_with_null_are_refused() {
    for text in ["a eq null", "a ne null", "null eq a"] {
        assert_eq!(
            message(text),
            "One of the request inputs is not valid.",
            "{text}"
        );
    }
    for (op, name) in [
        ("lt", "LessThan"),
        ("le", "LessThanOrEqual"),
        ("gt", "GreaterThan"),
        ("ge", "GreaterThanOrEqual"),
    ] {
        assert_eq!(
            message(&format!("a {op} null")),
            format!(
                "The operator '{name}' is not supported for the 'null' literal; only equality checks are supported."
            )
        );
    }
}

#[test]
fn the_rest_of_odata_is_not_implemented() {
    for text in [
        "a eq b",
        "1 eq 1",
        "'a' lt 'b'",
        "startswith(PartitionKey,'a')",
        "not startswith(PartitionKey,'a')",
        "substringof('a',Name) eq true",
        "tolower(Name) eq 'a'",
        "'a' eq tolower(Name)",
        "Age add 1 eq 5",
        "Age eq 1 add 4",
        "(Age add 1) eq 5",
        "Age eq (5)",
        "-Age eq 5",
        "Age in (1,2)",
        "Address/City eq 'x'",
        "a eq 1 eq true",
        "(a eq 1) eq true",
        "$it eq 1",
    ] {
        assert_eq!(code(text), ErrorCode::NotImplemented, "{text}");
    }
}

#[test]
fn syntax_errors_contain_their_position() {
    assert_eq!(
        message("aaa bbb ccc"),
        "Syntax error at position 7 in 'aaa bbb ccc'."
    );
    assert_eq!(
        message("a eq 'x"),
        "There is an unterminated string literal at position 7 in 'a eq 'x'."
    );
    for text in [
        "a eq",
        "eq 1",
        "a EQ 1",
        "a eq 1 AND b",
        "(a",
        "a)",
        "()",
        "a and",
        "and a",
        "a or or b",
        "not",
        "not and",
        "5",
        "'x'",
        "null",
        "a eq 1 b",
        "a = 1",
        "a eq #",
        "a eq \"x\"",
        "a,b",
        "a eq 5f",
        "a eq 5abc",
        "a eq time'x'",
        "a not b",
        "a eq not b",
        "(a eq 1))",
        "a eq 1 and (b",
        "a eq +5",
        "True eq \u{0}",
        "-",
    ] {
        let expected = if text == "-" {
            ErrorCode::NotImplemented
        } else {
            ErrorCode::InvalidInput
        };
        assert_eq!(code(text), expected, "{text}");
    }
}

#[test]
fn a_blank_filter_matches_everything() {
    assert_eq!(parse_filter(""), Ok(Filter::Constant(true)));
    assert_eq!(parse_filter("  "), Ok(Filter::Constant(true)));
}

#[test]
fn size_and_depth_are_limited() {
    let nested = |depth: usize| format!("{}a{}", "(".repeat(depth), ")".repeat(depth));
    assert_eq!(tree(&nested(FILTER_DEPTH_MAX)), "a");
    assert_eq!(code(&nested(FILTER_DEPTH_MAX + 1)), ErrorCode::InvalidInput);
    assert_eq!(
        code(&format!("{}a", "not ".repeat(FILTER_DEPTH_MAX + 1))),
        ErrorCode::InvalidInput
    );
    assert_eq!(
        code(&" ".repeat(FILTER_BYTES_MAX + 1)),
        ErrorCode::InvalidInput
    );
    // .NET nests a chain: each term adds a pair of parentheses. The parsed tree is flat all the same.
    let terms = 300;
    let mut text = "(a eq 0)".to_owned();
    for term in 1..terms {
        text = format!("({text} or (a eq {term}))");
    }
    let Ok(Filter::Or(filters)) = parse_filter(&text) else {
        panic!("not a flat chain");
    };
    assert_eq!(filters.len(), terms);
}

fn name() -> impl Strategy<Value = String> {
    let words = [
        "and", "or", "not", "eq", "ne", "lt", "le", "gt", "ge", "true", "false", "null", "add",
        "sub", "mul", "div", "mod", "in", "has", "INF",
    ];
    "[a-zA-Z_é][a-zA-Z0-9_é]{0,5}".prop_filter("words of the language", move |name| {
        let is_boolean = ["true", "false"]
            .iter()
            .any(|word| name.eq_ignore_ascii_case(word));
        !is_boolean && !words.contains(&name.as_str()) && name != "NaN"
    })
}

/// Any value except NaN, which has no literal.
fn any_literal() -> impl Strategy<Value = Value> {
    any_value().prop_filter(
        "a literal",
        |value| !matches!(value, Value::Double(value) if value.is_nan()),
    )
}

fn leaf() -> impl Strategy<Value = Filter> {
    let op = prop_oneof![
        Just(Comparison::Equal),
        Just(Comparison::Less),
        Just(Comparison::LessOrEqual),
    ];
    let op = (op, any::<bool>()).prop_map(|(op, negated)| if negated { op.negated() } else { op });
    let property = prop_oneof![
        Just(Property::PartitionKey),
        Just(Property::RowKey),
        Just(Property::Timestamp),
        name().prop_map(|name| Property::from_name(&name)),
    ];
    prop_oneof![
        4 => (property.clone(), op, any_literal())
            .prop_map(|(property, op, literal)| Filter::Compare { property, op, literal }),
        1 => property.prop_map(Filter::IsTrue),
        1 => any::<bool>().prop_map(Filter::Constant),
    ]
}

/// Trees in the form that the parser returns: chains are flat and have at least two terms.
fn any_filter() -> impl Strategy<Value = Filter> {
    leaf().prop_recursive(6, 40, 4, |inner| {
        let terms = || proptest::collection::vec(inner.clone(), 2..5);
        prop_oneof![
            terms().prop_map(|filters| {
                let flat = filters.into_iter().flat_map(|filter| match filter {
                    Filter::And(filters) => filters,
                    other => vec![other],
                });
                Filter::And(flat.collect())
            }),
            terms().prop_map(|filters| {
                let flat = filters.into_iter().flat_map(|filter| match filter {
                    Filter::Or(filters) => filters,
                    other => vec![other],
                });
                Filter::Or(flat.collect())
            }),
            inner.prop_map(|filter| Filter::Not(Box::new(filter))),
        ]
    })
}

proptest! {
    #[test]
    fn text_round_trips(filter in any_filter()) {
        prop_assert_eq!(parse_filter(&filter.to_string()), Ok(filter));
    }

    #[test]
    fn any_text_is_read_or_refused(text: String) {
        let _ = parse_filter(&text);
    }

    #[test]
    fn any_words_are_read_or_refused(
        words in proptest::collection::vec(
            prop_oneof![
                Just("("), Just(")"), Just("not"), Just("and"), Just("or"), Just("eq"), Just("lt"), Just("a"), Just("'x'"),
                Just("5"), Just("-"), Just("1.5"), Just("null"), Just("true"), Just("X'"), Just("'"), Just("é"), Just("e"), Just("."),
            ],
            0..20,
        ),
        blank: bool,
    ) {
        let text = words.join(if blank { " " } else { "" });
        if let Ok(filter) = parse_filter(&text) {
            prop_assert_eq!(parse_filter(&filter.to_string()), Ok(filter));
        }
    }
}
