//! The bounds of a range in the key space.

use bytes::Bytes;
use std::cmp::Ordering;

/// A contiguous part of the key space: the bounds of a range or of a query.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Bounds {
    /// The first key; empty for the first range.
    pub start: Bytes,
    /// The first key after this part; `None` at the end of the key space.
    pub end: Option<Bytes>,
}

impl Ord for Bounds {
    fn cmp(&self, other: &Self) -> Ordering {
        let ends = || compare_ends(self.end.as_ref(), other.end.as_ref());
        self.start.cmp(&other.start).then_with(ends)
    }
}

impl PartialOrd for Bounds {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Bounds {
    /// The whole key space.
    #[must_use]
    pub const fn all() -> Self {
        Self {
            start: Bytes::new(),
            end: None,
        }
    }

    /// Whether a key is inside the bounds.
    #[must_use]
    pub fn contains(&self, key: &[u8]) -> bool {
        self.start <= key && self.end.as_ref().is_none_or(|end| key < end)
    }

    /// The smallest bounds that contain `self` and `other`.
    pub(crate) fn union(&self, other: &Self) -> Self {
        let (a, b) = (self.end.as_ref(), other.end.as_ref());
        let end = if compare_ends(a, b).is_lt() { b } else { a };
        Self {
            start: self.start.clone().min(other.start.clone()),
            end: end.cloned(),
        }
    }
}

/// Orders ends by key; `None` is the last.
fn compare_ends(a: Option<&Bytes>, b: Option<&Bytes>) -> Ordering {
    match (a, b) {
        (Some(a), Some(b)) => a.cmp(b),
        (None, None) => Ordering::Equal,
        (None, Some(_)) => Ordering::Greater,
        (Some(_), None) => Ordering::Less,
    }
}
