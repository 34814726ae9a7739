//! Intervals of PartitionKeys or RowKeys, in the service's order, and their text as conditions of a filter.

use super::prefix::lengthen;
use partita_model::{Comparison, Filter, Property, Value, compare_utf16, successor};
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;

/// Where an interval of keys begins.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Lower {
    /// With the first key.
    #[default]
    Start,
    /// With this key.
    From(String),
    /// Behind this key.
    After(String),
}

/// Where an interval of keys ends.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Upper {
    /// With the last key.
    #[default]
    End,
    /// Before this key.
    Before(String),
    /// With this key.
    Through(String),
}

/// An interval of keys. Where they are PartitionKeys, partitions lie in it whole or not at all.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Bounds {
    /// Its begin.
    #[serde(default)]
    pub lower: Lower,
    /// Its end.
    #[serde(default)]
    pub upper: Upper,
}

impl Lower {
    fn admits(&self, key: &str) -> bool {
        match self {
            Self::Start => true,
            Self::From(bound) => compare_utf16(key, bound).is_ge(),
            Self::After(bound) => compare_utf16(key, bound).is_gt(),
        }
    }

    /// The later of the two.
    #[must_use]
    pub fn max(self, other: Self) -> Self {
        let later = match (self.key(), other.key()) {
            (_, None) => false,
            (None, Some(_)) => true,
            (Some(a), Some(b)) => match compare_utf16(b, a) {
                Ordering::Equal => matches!(other, Self::After(_)),
                unequal => unequal.is_gt(),
            },
        };
        if later { other } else { self }
    }

    fn key(&self) -> Option<&str> {
        match self {
            Self::Start => None,
            Self::From(key) | Self::After(key) => Some(key),
        }
    }
}

impl Upper {
    fn admits(&self, key: &str) -> bool {
        match self {
            Self::End => true,
            Self::Before(bound) => compare_utf16(key, bound).is_lt(),
            Self::Through(bound) => compare_utf16(key, bound).is_le(),
        }
    }

    /// The earlier of the two.
    #[must_use]
    pub fn min(self, other: Self) -> Self {
        let earlier = match (self.key(), other.key()) {
            (_, None) => false,
            (None, Some(_)) => true,
            (Some(a), Some(b)) => match compare_utf16(b, a) {
                Ordering::Equal => matches!(other, Self::Before(_)),
                unequal => unequal.is_lt(),
            },
        };
        if earlier { other } else { self }
    }

    /// Behind the last key that begins with `prefix`.
    #[must_use]
    pub fn of_prefix(prefix: &str) -> Self {
        successor(prefix).map_or(Self::End, Self::Before)
    }

    fn key(&self) -> Option<&str> {
        match self {
            Self::End => None,
            Self::Before(key) | Self::Through(key) => Some(key),
        }
    }
}

impl Bounds {
    /// Every key that begins with `prefix`.
    #[must_use]
    pub fn of_prefix(prefix: &str) -> Self {
        Self {
            lower: Lower::From(prefix.to_owned()),
            upper: Upper::of_prefix(prefix),
        }
    }

    /// Whether they leave nothing out.
    #[must_use]
    pub fn is_everything(&self) -> bool {
        *self == Self::default()
    }

    /// Whether the key lies within.
    #[must_use]
    pub fn contains(&self, key: &str) -> bool {
        self.lower.admits(key) && self.upper.admits(key)
    }

    /// The keys that lie in both.
    #[must_use]
    pub fn intersection(self, other: Self) -> Self {
        Self {
            lower: self.lower.max(other.lower),
            upper: self.upper.min(other.upper),
        }
    }

    /// Whether its ends alone show that no key lies within.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        match &self.lower {
            Lower::Start => matches!(&self.upper, Upper::Before(end) if end.is_empty()),
            Lower::From(key) => !self.upper.admits(key),
            Lower::After(key) => match &self.upper {
                Upper::End => false,
                Upper::Before(end) | Upper::Through(end) => compare_utf16(key, end).is_ge(),
            },
        }
    }

    /// The longest prefix that every key within is known to begin with.
    #[must_use]
    pub fn common_prefix(&self) -> &str {
        let key = self.lower.key().unwrap_or_default();
        let mut prefix = "";
        // The interval begins within the prefix's keys; it lies in them if it ends there too.
        while let Some(longer) = lengthen(prefix, key) {
            if self.upper.clone().min(Upper::of_prefix(longer)) != self.upper {
                break;
            }
            prefix = longer;
        }
        prefix
    }

    /// What a filter says to read only these keys: no, one or two conditions.
    pub(super) fn conditions(&self, property: &Property) -> Vec<Filter> {
        let lower = match &self.lower {
            Lower::Start => None,
            // No key is less than the empty one.
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
        both.map(|(op, key)| condition(property.clone(), op, key))
            .collect()
    }
}

/// A comparison of a key.
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

    /// Few enough that two are equal now and then.
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
    fn the_prefix_that_bounds_share() {
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
        fn intersection_is_both(a in bounds(), b in bounds(), key in key()) {
            let both = a.contains(&key) && b.contains(&key);
            prop_assert_eq!(a.intersection(b).contains(&key), both);
        }

        #[test]
        fn empty_and_prefix_are_true(bounds in bounds(), key in key()) {
            if bounds.contains(&key) {
                prop_assert!(!bounds.is_empty());
                prop_assert!(key.starts_with(bounds.common_prefix()));
            }
        }
    }
}
