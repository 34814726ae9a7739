//! The filter tree, and the rules by which a row passes a filter.
//!
//! Rules (service document "Querying tables and entities"; a test suite of another project asserts the rules for
//! different types against the live service):
//! - a comparison with a missing property is false, also with `ne`; `not` is plain negation;
//! - an Int64 property and an Int32 literal, and a Double property and an Int32 or Int64 literal, compare by value. For
//!   all other pairs of different types, the property is less than the literal;
//! - strings compare by UTF-16 code unit; binary values by byte, where a prefix is less than a longer value; doubles by
//!   IEEE 754.

use crate::{StoredError, Value, ValueRef, compare_utf16};
use std::cmp::Ordering;
use std::fmt;

/// A comparison operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    /// `eq`
    Equal,
    /// `ne`
    NotEqual,
    /// `lt`
    Less,
    /// `le`
    LessOrEqual,
    /// `gt`
    Greater,
    /// `ge`
    GreaterOrEqual,
}

impl Comparison {
    /// The operator's word.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Equal => "eq",
            Self::NotEqual => "ne",
            Self::Less => "lt",
            Self::LessOrEqual => "le",
            Self::Greater => "gt",
            Self::GreaterOrEqual => "ge",
        }
    }

    /// Whether the comparison is true for operands with this order; `None` is the order of NaN and any value.
    pub const fn holds(self, ordering: Option<Ordering>) -> bool {
        match (self, ordering) {
            (Self::NotEqual, None) => true,
            (_, None) => false,
            (Self::Equal, Some(ordering)) => ordering.is_eq(),
            (Self::NotEqual, Some(ordering)) => ordering.is_ne(),
            (Self::Less, Some(ordering)) => ordering.is_lt(),
            (Self::LessOrEqual, Some(ordering)) => ordering.is_le(),
            (Self::Greater, Some(ordering)) => ordering.is_gt(),
            (Self::GreaterOrEqual, Some(ordering)) => ordering.is_ge(),
        }
    }

    /// The negation of the operator, for operands that have an order.
    pub const fn negated(self) -> Self {
        match self {
            Self::Equal => Self::NotEqual,
            Self::NotEqual => Self::Equal,
            Self::Less => Self::GreaterOrEqual,
            Self::LessOrEqual => Self::Greater,
            Self::Greater => Self::LessOrEqual,
            Self::GreaterOrEqual => Self::Less,
        }
    }

    /// The operator with the same result for swapped operands.
    pub const fn mirrored(self) -> Self {
        match self {
            Self::Less => Self::Greater,
            Self::LessOrEqual => Self::GreaterOrEqual,
            Self::Greater => Self::Less,
            Self::GreaterOrEqual => Self::LessOrEqual,
            same => same,
        }
    }
}

/// A property in a filter.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Property {
    /// `PartitionKey`
    PartitionKey,
    /// `RowKey`
    RowKey,
    /// `Timestamp`
    Timestamp,
    /// Any other property, case-sensitive; `TableName` in a query of tables.
    Named(String),
}

impl Property {
    /// The property with this name.
    pub fn from_name(name: &str) -> Self {
        match name {
            "PartitionKey" => Self::PartitionKey,
            "RowKey" => Self::RowKey,
            "Timestamp" => Self::Timestamp,
            other => Self::Named(other.to_owned()),
        }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        match self {
            Self::PartitionKey => "PartitionKey",
            Self::RowKey => "RowKey",
            Self::Timestamp => "Timestamp",
            Self::Named(name) => name,
        }
    }
}

/// A parsed `$filter`.
#[derive(Debug, Clone, PartialEq)]
pub enum Filter {
    /// `property op literal`
    Compare {
        /// The property.
        property: Property,
        /// The operator.
        op: Comparison,
        /// The literal.
        literal: Value,
    },
    /// A bare property: true only if it is Boolean true.
    IsTrue(Property),
    /// `true` or `false`.
    Constant(bool),
    /// True if all operands are true, or if empty.
    And(Vec<Filter>),
    /// True if at least one operand is true; false if empty.
    Or(Vec<Filter>),
    /// True if the operand is false.
    Not(Box<Filter>),
}

/// Access to the properties that a filter compares.
pub trait Row {
    /// The value of a property; `None` if the row does not have it.
    ///
    /// # Errors
    /// [`StoredError`] when the stored row cannot be read.
    fn property(&self, property: &Property) -> Result<Option<ValueRef<'_>>, StoredError>;
}

impl Filter {
    /// Whether the row passes.
    ///
    /// # Errors
    /// [`StoredError`] when the stored row cannot be read.
    pub fn matches(&self, row: &impl Row) -> Result<bool, StoredError> {
        match self {
            Self::Compare {
                property,
                op,
                literal,
            } => Ok(match row.property(property)? {
                Some(value) => op.holds(compare(value, literal.as_ref())),
                None => false,
            }),
            Self::IsTrue(property) => Ok(matches!(
                row.property(property)?,
                Some(ValueRef::Boolean(true))
            )),
            Self::Constant(value) => Ok(*value),
            Self::And(filters) => Ok(!any_is(false, filters, row)?),
            Self::Or(filters) => any_is(true, filters, row),
            Self::Not(filter) => Ok(!filter.matches(row)?),
        }
    }
}

/// Whether one of the filters has this outcome for the row. Stops at the first one.
fn any_is(outcome: bool, filters: &[Filter], row: &impl Row) -> Result<bool, StoredError> {
    for filter in filters {
        if filter.matches(row)? == outcome {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The order of a property's value and a literal; `None` for NaN.
fn compare(value: ValueRef<'_>, literal: ValueRef<'_>) -> Option<Ordering> {
    match (value, literal) {
        (ValueRef::String(value), ValueRef::String(literal)) => Some(compare_utf16(value, literal)),
        (ValueRef::Binary(value), ValueRef::Binary(literal)) => Some(value.cmp(literal)),
        (ValueRef::Boolean(value), ValueRef::Boolean(literal)) => Some(value.cmp(&literal)),
        (ValueRef::Int32(value), ValueRef::Int32(literal)) => Some(value.cmp(&literal)),
        (ValueRef::Int64(value), ValueRef::Int64(literal)) => Some(value.cmp(&literal)),
        (ValueRef::Int64(value), ValueRef::Int32(literal)) => Some(value.cmp(&i64::from(literal))),
        (ValueRef::Double(value), ValueRef::Double(literal)) => value.partial_cmp(&literal),
        (ValueRef::Double(value), ValueRef::Int32(literal)) => {
            value.partial_cmp(&f64::from(literal))
        }
        (ValueRef::Double(value), ValueRef::Int64(literal)) => compare_double_int64(value, literal),
        (ValueRef::DateTime(value), ValueRef::DateTime(literal)) => Some(value.cmp(&literal)),
        (ValueRef::Guid(value), ValueRef::Guid(literal)) => Some(value.cmp(&literal)),
        _ => Some(Ordering::Less),
    }
}

/// Compares exactly: converting the integer to a double would round it beyond 2^53.
fn compare_double_int64(value: f64, literal: i64) -> Option<Ordering> {
    const TWO_63: f64 = 9_223_372_036_854_775_808.0;
    if value.is_nan() {
        return None;
    }
    if value >= TWO_63 {
        return Some(Ordering::Greater);
    }
    if value < -TWO_63 {
        return Some(Ordering::Less);
    }
    let whole = (value.trunc() as i64).cmp(&literal);
    Some(whole.then_with(|| value.fract().partial_cmp(&0.0).unwrap_or(Ordering::Equal)))
}

impl fmt::Display for Filter {
    /// Writes the filter as OData text, with the fewest parentheses.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Compare {
                property,
                op,
                literal,
            } => {
                write!(f, "{} {} ", property.name(), op.word())?;
                write_literal(f, literal)
            }
            Self::IsTrue(property) => f.write_str(property.name()),
            Self::Constant(value) => write!(f, "{value}"),
            Self::And(filters) => write_joined(f, filters, " and ", "true"),
            Self::Or(filters) => write_joined(f, filters, " or ", "false"),
            Self::Not(filter) => write!(f, "not ({filter})"),
        }
    }
}

fn write_joined(
    f: &mut fmt::Formatter<'_>,
    filters: &[Filter],
    word: &str,
    empty: &str,
) -> fmt::Result {
    if filters.is_empty() {
        return f.write_str(empty);
    }
    let operand = |filter: &Filter| match filter {
        Filter::And(_) | Filter::Or(_) => format!("({filter})"),
        other => other.to_string(),
    };
    let operands: Vec<String> = filters.iter().map(operand).collect();
    f.write_str(&operands.join(word))
}

fn write_literal(f: &mut fmt::Formatter<'_>, literal: &Value) -> fmt::Result {
    match literal {
        Value::String(text) => write!(f, "'{}'", text.replace('\'', "''")),
        Value::Binary(bytes) => {
            f.write_str("X'")?;
            for byte in bytes {
                write!(f, "{byte:02x}")?;
            }
            f.write_str("'")
        }
        Value::Boolean(value) => write!(f, "{value}"),
        Value::Int32(value) => write!(f, "{value}"),
        Value::Int64(value) => write!(f, "{value}L"),
        Value::Double(f64::INFINITY) => f.write_str("INF"),
        Value::Double(f64::NEG_INFINITY) => f.write_str("-INF"),
        Value::Double(value) => write!(f, "{value:?}"),
        Value::DateTime(value) => write!(f, "datetime'{value}'"),
        Value::Guid(value) => write!(f, "guid'{value}'"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DateTime, Guid};

    struct One(Option<Value>);

    impl Row for One {
        fn property(&self, _: &Property) -> Result<Option<ValueRef<'_>>, StoredError> {
            Ok(self.0.as_ref().map(Value::as_ref))
        }
    }

    const OPS: [Comparison; 6] = [
        Comparison::Equal,
        Comparison::NotEqual,
        Comparison::Less,
        Comparison::LessOrEqual,
        Comparison::Greater,
        Comparison::GreaterOrEqual,
    ];

    fn outcome(value: Option<Value>, literal: Value) -> [bool; 6] {
        OPS.map(|op| {
            let property = Property::Named("p".into());
            let filter = Filter::Compare {
                property,
                op,
                literal: literal.clone(),
            };
            filter.matches(&One(value.clone())).unwrap()
        })
    }

    //                        eq     ne    lt     le     gt     ge
    const LESS: [bool; 6] = [false, true, true, true, false, false];
    const EQUAL: [bool; 6] = [true, false, false, true, false, true];
    const GREATER: [bool; 6] = [false, true, false, false, true, true];

    fn samples() -> Vec<Value> {
        vec![
            Value::String("x".into()),
            Value::Binary(vec![1]),
            Value::Boolean(true),
            Value::Int32(5),
            Value::Int64(5),
            Value::Double(5.0),
            Value::DateTime(DateTime::UNIX_EPOCH),
            Value::Guid(Guid([1; 16])),
        ]
    }

    #[test]
    fn a_missing_property_passes_no_comparison() {
        for literal in samples() {
            assert_eq!(outcome(None, literal), [false; 6]);
        }
        let missing = Filter::Compare {
            property: Property::Named("p".into()),
            op: Comparison::NotEqual,
            literal: Value::Int32(1),
        };
        assert!(Filter::Not(Box::new(missing)).matches(&One(None)).unwrap());
    }

    #[test]
    fn different_types_compare_as_less_except_numbers() {
        for value in samples() {
            for literal in samples() {
                let by_value = value.edm_type() == literal.edm_type()
                    || matches!(
                        (&value, &literal),
                        (Value::Int64(_) | Value::Double(_), Value::Int32(_))
                            | (Value::Double(_), Value::Int64(_))
                    );
                let expected = if by_value { EQUAL } else { LESS };
                assert_eq!(
                    outcome(Some(value.clone()), literal.clone()),
                    expected,
                    "{value:?} {literal:?}"
                );
            }
        }
    }

    #[test]
    fn order_within_types() {
        let greater = |value: Value, literal: Value| {
            assert_eq!(
                outcome(Some(value.clone()), literal.clone()),
                GREATER,
                "{value:?} {literal:?}"
            );
            assert_eq!(outcome(Some(literal), value), LESS);
        };
        greater(Value::Boolean(true), Value::Boolean(false));
        greater(
            Value::String("\u{FFFD}".into()),
            Value::String("\u{10000}".into()),
        );
        greater(Value::Binary(vec![1, 0]), Value::Binary(vec![1]));
        greater(Value::Binary(vec![0xFF]), Value::Binary(vec![1, 2]));
        greater(Value::Int64(i64::MAX), Value::Int64(i64::MAX - 1));
        greater(Value::Double(f64::INFINITY), Value::Double(f64::MAX));
        let tick = DateTime::UNIX_EPOCH.next();
        greater(Value::DateTime(tick), Value::DateTime(DateTime::UNIX_EPOCH));
    }

    #[test]
    fn nan_has_no_order() {
        let nan = [false, true, false, false, false, false];
        assert_eq!(
            outcome(Some(Value::Double(f64::NAN)), Value::Double(1.0)),
            nan
        );
        assert_eq!(outcome(Some(Value::Double(f64::NAN)), Value::Int64(1)), nan);
    }

    #[test]
    fn doubles_compare_exactly_with_large_integers() {
        let two_53 = 9_007_199_254_740_992_i64;
        let value = || Some(Value::Double(two_53 as f64));
        assert_eq!(outcome(value(), Value::Int64(two_53)), EQUAL);
        assert_eq!(outcome(value(), Value::Int64(two_53 + 1)), LESS);
        assert_eq!(outcome(Some(Value::Double(2.5)), Value::Int64(2)), GREATER);
        assert_eq!(outcome(Some(Value::Double(-2.5)), Value::Int64(-2)), LESS);
        assert_eq!(
            outcome(Some(Value::Double(f64::INFINITY)), Value::Int64(i64::MAX)),
            GREATER
        );
        assert_eq!(
            outcome(
                Some(Value::Double(f64::NEG_INFINITY)),
                Value::Int64(i64::MIN)
            ),
            LESS
        );
    }

    #[test]
    fn a_bare_property_is_true_only_if_boolean_true() {
        let filter = Filter::IsTrue(Property::Named("p".into()));
        for value in samples() {
            let expected = value == Value::Boolean(true);
            assert_eq!(filter.matches(&One(Some(value))).unwrap(), expected);
        }
        assert!(!filter.matches(&One(None)).unwrap());
    }

    #[test]
    fn text() {
        let compare = |name: &str, literal| Filter::Compare {
            property: Property::from_name(name),
            op: Comparison::Equal,
            literal,
        };
        let filter = Filter::And(vec![
            compare("PartitionKey", Value::String("O'Neil".into())),
            Filter::Or(vec![
                compare("n", Value::Int64(2)),
                Filter::Not(Box::new(compare("d", Value::Double(3.0)))),
            ]),
        ]);
        assert_eq!(
            filter.to_string(),
            "PartitionKey eq 'O''Neil' and (n eq 2L or not (d eq 3.0))"
        );
    }
}
