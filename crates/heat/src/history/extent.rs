//! Pieces of the key space.

use bytes::Bytes;
use std::cmp::Ordering;

/// A contiguous piece of the key space: of a range as it was then, or one that is asked about.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Extent {
    /// Its first key.
    pub start: Bytes,
    /// The first key behind it; `None` when it has no end.
    pub end: Option<Bytes>,
}

impl Ord for Extent {
    fn cmp(&self, other: &Self) -> Ordering {
        let ends = || compare_ends(self.end.as_ref(), other.end.as_ref());
        self.start.cmp(&other.start).then_with(ends)
    }
}

impl PartialOrd for Extent {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Extent {
    /// The whole key space.
    #[must_use]
    pub const fn all() -> Self {
        Self {
            start: Bytes::new(),
            end: None,
        }
    }

    /// Whether a key lies in it.
    #[must_use]
    pub fn contains(&self, key: &[u8]) -> bool {
        self.start <= key && self.end.as_ref().is_none_or(|end| key < end)
    }

    /// The least piece that holds both.
    pub(super) fn union(&self, other: &Self) -> Self {
        let (a, b) = (self.end.as_ref(), other.end.as_ref());
        let end = if compare_ends(a, b).is_lt() { b } else { a };
        Self {
            start: self.start.clone().min(other.start.clone()),
            end: end.cloned(),
        }
    }
}

/// Ends in key order: no end is behind every key.
fn compare_ends(a: Option<&Bytes>, b: Option<&Bytes>) -> Ordering {
    match (a, b) {
        (Some(a), Some(b)) => a.cmp(b),
        (None, None) => Ordering::Equal,
        (None, Some(_)) => Ordering::Greater,
        (Some(_), None) => Ordering::Less,
    }
}
