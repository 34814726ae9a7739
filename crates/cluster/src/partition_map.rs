//! The map from keys to ranges.

use bytes::Bytes;
use partita_range::Range;
use std::sync::Arc;
use thiserror::Error;

/// Counts the owners of a range: a later owner has a greater one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Epoch(pub u64);

/// A range that is served here.
#[derive(Debug, Clone)]
pub struct Served {
    /// Its first key; empty for the first range.
    pub start: Bytes,
    /// Under which epoch it is served.
    pub epoch: Epoch,
    /// The range.
    pub range: Arc<Range>,
}

/// The ranges given do not cover the key space once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum Gap {
    /// No range begins at the empty key.
    #[error("no range serves the first keys")]
    Start,
    /// Two ranges begin at the same key.
    #[error("two ranges begin at the same key")]
    Overlap,
}

/// Which range serves which keys: every key exactly one.
#[derive(Debug)]
pub struct PartitionMap {
    /// Sorted by `start`; the first is empty; each range ends where the next begins.
    ranges: Vec<Served>,
}

/// The answer to "who serves this key".
#[derive(Debug, Clone, Copy)]
pub struct Route<'m> {
    /// The range.
    pub range: &'m Arc<Range>,
    /// The first key behind it; `None` for the last range.
    pub end: Option<&'m Bytes>,
}

impl PartitionMap {
    /// A map of these ranges, in any order.
    ///
    /// # Errors
    /// [`Gap`] when they do not cover every key exactly once.
    pub fn new(mut ranges: Vec<Served>) -> Result<Self, Gap> {
        ranges.sort_by(|a, b| a.start.cmp(&b.start));
        if ranges.first().is_none_or(|first| !first.start.is_empty()) {
            return Err(Gap::Start);
        }
        if ranges
            .windows(2)
            .any(|pair| matches!(pair, [a, b] if a.start == b.start))
        {
            return Err(Gap::Overlap);
        }
        Ok(Self { ranges })
    }

    /// The range of a key.
    ///
    /// # Panics
    /// Never: the first range begins before every key.
    #[must_use]
    pub fn route(&self, key: &[u8]) -> Route<'_> {
        let behind = self
            .ranges
            .partition_point(|served| served.start.as_ref() <= key);
        let served = behind
            .checked_sub(1)
            .and_then(|at| self.ranges.get(at))
            .expect("the first range begins at the empty key");
        Route {
            range: &served.range,
            end: self.ranges.get(behind).map(|next| &next.start),
        }
    }

    /// The ranges in key order.
    #[must_use]
    pub fn ranges(&self) -> &[Served] {
        &self.ranges
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use partita_engine::memory::MemoryEngine;
    use partita_range::RangeId;

    fn served(id: u64, start: &'static str) -> Served {
        let engine = Arc::new(MemoryEngine::new());
        let range = Arc::new(Range::new(RangeId(id), engine, Arc::default()));
        Served {
            start: start.into(),
            epoch: Epoch(1),
            range,
        }
    }

    #[test]
    fn each_key_has_one_range() {
        let map = PartitionMap::new(vec![served(2, "m"), served(1, ""), served(3, "t")]).unwrap();
        let route = |key: &str| {
            let route = map.route(key.as_bytes());
            (route.range.id().0, route.end.cloned())
        };
        assert_eq!(route(""), (1, Some("m".into())));
        assert_eq!(route("lz"), (1, Some("m".into())));
        assert_eq!(route("m"), (2, Some("t".into())));
        assert_eq!(route("t"), (3, None));
        assert_eq!(route("zz"), (3, None));
    }

    #[test]
    fn gaps_and_overlaps_are_refused() {
        assert_eq!(PartitionMap::new(Vec::new()).unwrap_err(), Gap::Start);
        assert_eq!(
            PartitionMap::new(vec![served(1, "a")]).unwrap_err(),
            Gap::Start
        );
        let twice = vec![served(1, ""), served(2, "")];
        assert_eq!(PartitionMap::new(twice).unwrap_err(), Gap::Overlap);
    }
}
