//! Filters of queries. They escape all values, so a value cannot change the meaning of a filter.

use partita_model::{Comparison, Filter as Tree, Property, Value, successor};
use std::fmt;

/// A `$filter` of a query. `Display` shows its text.
///
/// ```
/// use partita_client::Filter;
///
/// let filter = Filter::pk().eq("O'Brien").and(Filter::property("Age").ge(18).or(Filter::property("Paid").is_true()));
/// assert_eq!(filter.to_string(), "PartitionKey eq 'O''Brien' and (Age ge 18 or Paid)");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Filter {
    text: String,
    outermost: Outermost,
}

/// The outermost operator of a filter, which decides where parentheses are needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outermost {
    /// A single term.
    Term,
    And,
    Or,
    /// Unknown, because the caller wrote the text.
    Unknown,
}

/// A property to compare in a [`Filter`].
#[derive(Debug, Clone)]
pub struct PropertyFilter(Property);

impl Filter {
    /// Compares the PartitionKey.
    #[must_use]
    pub const fn pk() -> PropertyFilter {
        PropertyFilter(Property::PartitionKey)
    }

    /// Compares the RowKey.
    #[must_use]
    pub const fn rk() -> PropertyFilter {
        PropertyFilter(Property::RowKey)
    }

    /// Compares the property `name`: `Timestamp`, a property of the entity, or `TableName` in queries of tables.
    #[must_use]
    pub fn property(name: &str) -> PropertyFilter {
        PropertyFilter(Property::from_name(name))
    }

    /// A filter in the language of the protocol ("Querying tables and entities"). The text is sent unchanged: escape
    /// the values in it.
    #[must_use]
    pub fn raw(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            outermost: Outermost::Unknown,
        }
    }

    /// Matches if both filters match.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        self.join(" and ", Outermost::And, other)
    }

    /// Matches if at least one of the filters matches.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        self.join(" or ", Outermost::Or, other)
    }

    /// Matches if the filter does not match. For a missing property, a comparison does not match, so its `not` matches.
    #[must_use]
    #[allow(
        clippy::should_implement_trait,
        reason = "named as in the protocol, like `and` and `or`"
    )]
    pub fn not(self) -> Self {
        Self {
            text: format!("not ({})", self.text),
            outermost: Outermost::Term,
        }
    }

    fn term(tree: &Tree) -> Self {
        Self {
            text: tree.to_string(),
            outermost: Outermost::Term,
        }
    }

    fn join(self, word: &str, outermost: Outermost, other: Self) -> Self {
        // Both operators are associative, so a chain of one operator needs no parentheses.
        let [left, right] = [self, other].map(|side| {
            if side.outermost == Outermost::Term || side.outermost == outermost {
                side.text
            } else {
                format!("({})", side.text)
            }
        });
        Self {
            text: left + word + &right,
            outermost,
        }
    }
}

impl fmt::Display for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Declares a method for each comparison.
macro_rules! comparisons {
    ($($method:ident $variant:ident $text:literal;)+) => {$(
        #[doc = $text]
        #[must_use]
        pub fn $method(self, value: impl Into<Value>) -> Filter {
            self.compare(Comparison::$variant, value.into())
        }
    )+};
}

impl PropertyFilter {
    comparisons! {
        eq Equal "Matches if the property equals `value`.";
        ne NotEqual "Matches if the property exists and does not equal `value`.";
        lt Less "Matches if the property is less than `value`.";
        le LessOrEqual "Matches if the property is less than or equal to `value`.";
        gt Greater "Matches if the property is greater than `value`.";
        ge GreaterOrEqual "Matches if the property is greater than or equal to `value`.";
    }

    /// Matches if the property is Boolean true.
    #[must_use]
    pub fn is_true(self) -> Filter {
        Filter::term(&Tree::IsTrue(self.0))
    }

    /// Matches if the property is a String that begins with `prefix`. The filter is a range, so on keys the server
    /// reads only matching rows.
    #[must_use]
    pub fn starts_with(self, prefix: &str) -> Filter {
        let from = self.clone().ge(prefix);
        match successor(prefix) {
            Some(end) => from.and(self.lt(end)),
            None => from,
        }
    }

    fn compare(self, op: Comparison, literal: Value) -> Filter {
        Filter::term(&Tree::Compare {
            property: self.0,
            op,
            literal,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use partita_model::{DateTime, Guid};
    use partita_wire::table::parse_filter;
    use proptest::prelude::*;

    fn p(name: &str) -> PropertyFilter {
        Filter::property(name)
    }

    #[test]
    fn filters_have_only_necessary_parentheses() {
        for (filter, expected) in [
            (
                p("A").eq(1).and(p("B").eq(2)).and(p("C").eq(3)),
                "A eq 1 and B eq 2 and C eq 3",
            ),
            (
                p("A").eq(1).and(p("B").eq(2).and(p("C").eq(3))),
                "A eq 1 and B eq 2 and C eq 3",
            ),
            (
                p("A").eq(1).or(p("B").eq(2)).and(p("C").eq(3)),
                "(A eq 1 or B eq 2) and C eq 3",
            ),
            (
                p("A").eq(1).or(p("B").eq(2)).not().and(p("C").is_true()),
                "not (A eq 1 or B eq 2) and C",
            ),
            (
                Filter::raw("x eq 1 or y eq 2").and(p("C").eq(3)),
                "(x eq 1 or y eq 2) and C eq 3",
            ),
            (
                Filter::rk().starts_with("ab"),
                "RowKey ge 'ab' and RowKey lt 'ac'",
            ),
        ] {
            assert_eq!(filter.to_string(), expected);
        }
    }

    #[test]
    fn values_of_all_types_round_trip() {
        let values = [
            Value::from("it's"),
            Value::Binary(vec![0, 255]),
            Value::Boolean(true),
            Value::Int32(-5),
            Value::Int64(i64::MIN),
            Value::Double(5.0),
            Value::Double(1e300),
            Value::Double(f64::INFINITY),
            Value::Double(f64::NEG_INFINITY),
            Value::DateTime(DateTime::parse("2024-01-02T03:04:05.0000001Z").unwrap()),
            Value::Guid(Guid([3; 16])),
        ];
        for value in values {
            let filter = Filter::property("Timestamp").ge(value.clone());
            let expected = Tree::Compare {
                property: Property::Timestamp,
                op: Comparison::GreaterOrEqual,
                literal: value,
            };
            assert_eq!(parse_filter(&filter.to_string()).unwrap(), expected);
        }
    }

    proptest! {
        #[test]
        fn strings_are_escaped(text: String) {
            let filter = Filter::pk().eq(text.as_str()).or(Filter::rk().ne(text.as_str()));
            let compare = |property, op| Tree::Compare { property, op, literal: Value::String(text.clone()) };
            let expected = Tree::Or(vec![
                compare(Property::PartitionKey, Comparison::Equal),
                compare(Property::RowKey, Comparison::NotEqual),
            ]);
            prop_assert_eq!(parse_filter(&filter.to_string()).unwrap(), expected);
        }
    }
}
