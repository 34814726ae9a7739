//! Intervals of texts in the service's order.

use partita_model::{Comparison, compare_utf16};
use std::cmp::Ordering;
use std::ops::Bound;

/// An interval of keys.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Interval {
    pub(crate) low: Bound<String>,
    pub(crate) high: Bound<String>,
}

impl Interval {
    pub(crate) const ALL: Self = Self {
        low: Bound::Unbounded,
        high: Bound::Unbounded,
    };

    /// The intervals in which the comparison with `literal` holds: two for `ne`.
    pub(crate) fn of(op: Comparison, literal: &str) -> Vec<Self> {
        let text = || literal.to_owned();
        let below = |high| Self {
            low: Bound::Unbounded,
            high,
        };
        let above = |low| Self {
            low,
            high: Bound::Unbounded,
        };
        match op {
            Comparison::Equal => {
                vec![Self {
                    low: Bound::Included(text()),
                    high: Bound::Included(text()),
                }]
            }
            Comparison::NotEqual => {
                vec![
                    below(Bound::Excluded(text())),
                    above(Bound::Excluded(text())),
                ]
            }
            Comparison::Less => vec![below(Bound::Excluded(text()))],
            Comparison::LessOrEqual => vec![below(Bound::Included(text()))],
            Comparison::Greater => vec![above(Bound::Excluded(text()))],
            Comparison::GreaterOrEqual => vec![above(Bound::Included(text()))],
        }
    }

    pub(crate) fn is_all(&self) -> bool {
        *self == Self::ALL
    }

    /// The only key, if both bounds include the same key.
    pub(crate) fn point(&self) -> Option<&str> {
        match (&self.low, &self.high) {
            (Bound::Included(low), Bound::Included(high)) if low == high => Some(low),
            _ => None,
        }
    }

    /// Whether the interval is certainly empty. An empty interval between two adjacent texts is not detected; reading
    /// it costs one seek.
    fn is_empty(&self) -> bool {
        match (&self.low, &self.high) {
            (Bound::Included(low), Bound::Included(high)) => compare_utf16(low, high).is_gt(),
            (
                Bound::Included(low) | Bound::Excluded(low),
                Bound::Included(high) | Bound::Excluded(high),
            ) => compare_utf16(low, high).is_ge(),
            // No text sorts before the empty text.
            (_, Bound::Excluded(high)) => high.is_empty(),
            _ => false,
        }
    }

    /// The intersection; `None` if the intersection is certainly empty.
    pub(crate) fn intersection(&self, other: &Self) -> Option<Self> {
        let low = tighter(&self.low, &other.low, Ordering::Greater);
        let high = tighter(&self.high, &other.high, Ordering::Less);
        let both = Self {
            low: low.clone(),
            high: high.clone(),
        };
        (!both.is_empty()).then_some(both)
    }
}

/// The tighter of two bounds. `wins` is the ordering of a tighter text relative to the other.
fn tighter<'a>(a: &'a Bound<String>, b: &'a Bound<String>, wins: Ordering) -> &'a Bound<String> {
    let (a_text, b_text) = match (a, b) {
        (Bound::Unbounded, _) => return b,
        (_, Bound::Unbounded) => return a,
        (
            Bound::Included(a_text) | Bound::Excluded(a_text),
            Bound::Included(b_text) | Bound::Excluded(b_text),
        ) => (a_text, b_text),
    };
    match compare_utf16(a_text, b_text) {
        Ordering::Equal => {
            if matches!(a, Bound::Excluded(_)) {
                a
            } else {
                b
            }
        }
        ordering if ordering == wins => a,
        _ => b,
    }
}
