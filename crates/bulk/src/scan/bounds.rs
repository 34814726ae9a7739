//! Intervals of PartitionKeys in the service's order, and the filter conditions for them.

use super::prefix::lengthen;
use partita_model::{Comparison, Filter, Property, Value, compare_utf16, successor};
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;

/// The start of an interval of keys.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Lower {
    /// Before the first key.
    #[default]
    Start,
    /// At this key, which is included.
    From(String),
    /// After this key, which is excluded.
    After(String),
}

/// The end of an interval of keys.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Upper {
    /// After the last key.
    #[default]
    End,
    /// Before this key, which is excluded.
    Before(String),
    /// At this key, which is included.
    Through(String),
}

/// An interval of PartitionKeys.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Bounds {
    /// The start of the interval.
    pub lower: Lower,
    /// The end of the interval.
    pub upper: Upper,
}

/// A position immediately before or after a key.
type Cut<'a> = (&'a str, Side);

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Side {
    Before,
    After,
}

fn compare(a: Cut<'_>, b: Cut<'_>) -> Ordering {
    compare_utf16(a.0, b.0).then(a.1.cmp(&b.1))
}

impl Lower {
    /// The later of two starts.
    #[must_use]
    pub fn max(self, other: Self) -> Self {
        let later = match (self.cut(), other.cut()) {
            (Some(cut), Some(other)) => compare(other, cut).is_gt(),
            (cut, _) => cut.is_none(),
        };
        if later { other } else { self }
    }

    fn cut(&self) -> Option<Cut<'_>> {
        match self {
            Self::Start => None,
            Self::From(key) => Some((key, Side::Before)),
            Self::After(key) => Some((key, Side::After)),
        }
    }
}

impl Upper {
    /// The earlier of two ends.
    #[must_use]
    pub fn min(self, other: Self) -> Self {
        let earlier = match (self.cut(), other.cut()) {
            (Some(cut), Some(other)) => compare(other, cut).is_lt(),
            (cut, _) => cut.is_none(),
        };
        if earlier { other } else { self }
    }

    /// The end after the last key that begins with `prefix`.
    pub fn of_prefix(prefix: &str) -> Self {
        successor(prefix).map_or(Self::End, Self::Before)
    }

    fn cut(&self) -> Option<Cut<'_>> {
        match self {
            Self::End => None,
            Self::Before(key) => Some((key, Side::Before)),
            Self::Through(key) => Some((key, Side::After)),
        }
    }
}

impl Bounds {
    /// The interval of all keys that begin with `prefix`.
    pub fn of_prefix(prefix: &str) -> Self {
        Self {
            lower: Lower::From(prefix.to_owned()),
            upper: Upper::of_prefix(prefix),
        }
    }

    /// Whether both ends are unlimited. An interval from the empty key on also contains every key, but returns false.
    pub fn is_everything(&self) -> bool {
        *self == Self::default()
    }

    /// Whether the key lies within the bounds.
    pub fn contains(&self, key: &str) -> bool {
        let (lower, upper) = (self.lower.cut(), self.upper.cut());
        lower.is_none_or(|lower| compare(lower, (key, Side::Before)).is_le())
            && upper.is_none_or(|upper| compare(upper, (key, Side::After)).is_ge())
    }

    /// The keys within both bounds.
    #[must_use]
    pub fn intersection(self, other: Self) -> Self {
        Self {
            lower: self.lower.max(other.lower),
            upper: self.upper.min(other.upper),
        }
    }

    /// Whether the interval ends where it begins, or before. Some intervals without keys return false, such as the one
    /// after "a" and before "a\0".
    pub fn is_empty(&self) -> bool {
        // No key is less than the empty key.
        let lower = self.lower.cut().unwrap_or(("", Side::Before));
        let upper = self.upper.cut();
        upper.is_some_and(|upper| compare(lower, upper).is_ge())
    }

    /// The longest prefix that the bounds alone prove to be common to all keys within them.
    pub fn common_prefix(&self) -> &str {
        let key = self.lower.cut().map_or("", |(key, _)| key);
        let mut prefix = "";
        // The interval begins among the keys with the longer prefix. If it also ends there, all its keys have that
        // prefix.
        while let Some(longer) = lengthen(prefix, key) {
            if self.upper.clone().min(Upper::of_prefix(longer)) != self.upper {
                break;
            }
            prefix = longer;
        }
        prefix
    }

    /// The filter conditions that select only the keys within the bounds: one for each limited end.
    pub(super) fn conditions(&self) -> Vec<Filter> {
        let lower = match &self.lower {
            Lower::Start => None,
            Lower::From(key) if key.is_empty() => None,
            Lower::From(key) => Some((Comparison::GreaterOrEqual, key)),
            Lower::After(key) => Some((Comparison::Greater, key)),
        };
        let upper = match &self.upper {
            Upper::End => None,
            Upper::Before(key) => Some((Comparison::Less, key)),
            Upper::Through(key) => Some((Comparison::LessOrEqual, key)),
        };
        let both = lower.into_iter().chain(upper);
        both.map(|(op, key)| condition(Property::PartitionKey, op, key))
            .collect()
    }
}

/// A filter that compares a key property with a text.
pub(super) fn condition(property: Property, op: Comparison, key: &str) -> Filter {
    Filter::Compare {
        property,
        op,
        literal: Value::String(key.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Keys of a small set, so that two of them are often equal.
    fn key() -> impl Strategy<Value = String> {
        prop_oneof!["[a\u{FFFF}]{0,1}", "[ab\u{10000}\u{FFFF}]{0,3}"]
    }

    fn bounds() -> impl Strategy<Value = Bounds> {
        let lower = prop_oneof![
            Just(Lower::Start),
            key().prop_map(Lower::From),
            key().prop_map(Lower::After),
        ];
        let upper = prop_oneof![
            Just(Upper::End),
            key().prop_map(Upper::Before),
            key().prop_map(Upper::Through),
        ];
        (lower, upper).prop_map(|(lower, upper)| Bounds { lower, upper })
    }

    #[test]
    fn bounds_have_a_common_prefix() {
        let bounds = |lower: Lower, upper: Upper| Bounds { lower, upper };
        let from = |key: &str| Lower::From(key.to_owned());
        let before = |key: &str| Upper::Before(key.to_owned());
        assert_eq!(Bounds::default().common_prefix(), "");
        assert_eq!(Bounds::of_prefix("abc").common_prefix(), "abc");
        assert_eq!(Bounds::of_prefix("a\u{FFFF}").common_prefix(), "a\u{FFFF}");
        assert_eq!(bounds(from("abc"), before("abx")).common_prefix(), "ab");
        let through = Upper::Through("abd".to_owned());
        assert_eq!(bounds(from("abc"), through).common_prefix(), "ab");
        assert_eq!(bounds(from("abc"), Upper::End).common_prefix(), "");
    }

    proptest! {
        #[test]
        fn an_intersection_has_the_keys_of_both(a in bounds(), b in bounds(), key in key()) {
            let both = a.contains(&key) && b.contains(&key);
            prop_assert_eq!(a.intersection(b).contains(&key), both);
        }

        #[test]
        fn is_empty_and_common_prefix_match_the_keys(bounds in bounds(), key in key()) {
            if bounds.contains(&key) {
                prop_assert!(!bounds.is_empty());
                prop_assert!(key.starts_with(bounds.common_prefix()));
            }
        }
    }
}
