//! Filters of queries, built so that no value can break out of its literal.

use partita_model::{Comparison, Filter as Tree, Property, Value, successor};
use std::fmt;

/// The text of a `$filter`.
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
    joined: Joined,
}

/// What holds a filter's text together, and so where it needs parentheses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Joined {
    /// Nothing: one term.
    Alone,
    And,
    Or,
    /// Not known: somebody else's text.
    Unknown,
}

/// A property in a filter that waits for its comparison.
#[derive(Debug, Clone)]
pub struct PropertyFilter(Property);

impl Filter {
    /// The PartitionKey.
    #[must_use]
    pub const fn pk() -> PropertyFilter {
        PropertyFilter(Property::PartitionKey)
    }

    /// The RowKey.
    #[must_use]
    pub const fn rk() -> PropertyFilter {
        PropertyFilter(Property::RowKey)
    }

    /// A property by its name: `Timestamp`, one of the entity's own, or `TableName` of tables.
    #[must_use]
    pub fn property(name: &str) -> PropertyFilter {
        PropertyFilter(Property::from_name(name))
    }

    /// Text as it is, in the language of the protocol ("Querying tables and entities"). Nothing is escaped.
    #[must_use]
    pub fn raw(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            joined: Joined::Unknown,
        }
    }

    /// Both hold.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        self.join(" and ", Joined::And, other)
    }

    /// One of them at least holds.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        self.join(" or ", Joined::Or, other)
    }

    /// It does not hold. A comparison with a property that is missing does not hold either, so that its `not` does.
    #[must_use]
    #[allow(
        clippy::should_implement_trait,
        reason = "beside `and` and `or`, and named as in the protocol"
    )]
    pub fn not(self) -> Self {
        Self {
            text: format!("not ({})", self.text),
            joined: Joined::Alone,
        }
    }

    fn join(self, word: &str, joined: Joined, other: Self) -> Self {
        // Both words are associative: a chain of the same one stays flat.
        let [left, right] = [self, other].map(|side| match side.joined {
            Joined::Alone => side.text,
            inner if inner == joined => side.text,
            _ => format!("({})", side.text),
        });
        Self {
            text: left + word + &right,
            joined,
        }
    }
}

impl fmt::Display for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// One method for each comparison.
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
        eq Equal "It equals the value.";
        ne NotEqual "It is there, and does not equal the value.";
        lt Less "It is less than the value.";
        le LessOrEqual "It is less than the value or equals it.";
        gt Greater "It is greater than the value.";
        ge GreaterOrEqual "It is greater than the value or equals it.";
    }

    /// It is Boolean true.
    #[must_use]
    pub fn is_true(self) -> Filter {
        Filter {
            text: Tree::IsTrue(self.0).to_string(),
            joined: Joined::Alone,
        }
    }

    /// It is a text that begins with `prefix`. The service knows it as a range, which on keys is a seek.
    #[must_use]
    pub fn starts_with(self, prefix: &str) -> Filter {
        let from = self.clone().ge(prefix);
        match successor(prefix) {
            Some(end) => from.and(self.lt(end)),
            None => from,
        }
    }

    fn compare(self, op: Comparison, literal: Value) -> Filter {
        let tree = Tree::Compare {
            property: self.0,
            op,
            literal,
        };
        Filter {
            text: tree.to_string(),
            joined: Joined::Alone,
        }
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
    fn text_is_as_flat_as_it_may_be() {
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
    fn every_type_is_read_back() {
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
        fn no_text_breaks_out(text: String) {
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
