//! The index of a data file: where its blocks are, and which keys they hold.

use std::cmp::Ordering;
use std::ops::{Bound, Range};

use bytes::Bytes;
use slatedb::SstIndex;

use crate::KeyRange;

/// The blocks of a file. SlateDB stores, for each block but the first, the shortest key that is greater than all keys
/// before the block and not greater than its first key; see `compute_index_key` in its source. Here, what these keys
/// have in common is stored once.
#[derive(Debug)]
pub(super) struct BlockIndex {
    /// What the stored keys begin with.
    prefix: Box<[u8]>,
    /// The rests of the stored keys, one after another, without that of the first block.
    rests: Box<[u8]>,
    /// Where each rest ends. One fewer than blocks.
    ends: Box<[u32]>,
    /// Where the blocks begin in the file, and where the last one ends.
    offsets: Offsets,
}

/// Offsets in a file, in half the memory if the file has less than 4 GiB.
#[derive(Debug)]
enum Offsets {
    Short(Box<[u32]>),
    Long(Box<[u64]>),
}

impl Offsets {
    fn new(offsets: &[u64]) -> Self {
        let short = offsets.iter().map(|offset| u32::try_from(*offset));
        let short: Result<_, _> = short.collect();
        short.map_or_else(|_| Self::Long(offsets.into()), Self::Short)
    }

    fn get(&self, number: usize) -> Option<u64> {
        match self {
            Self::Short(offsets) => offsets.get(number).map(|offset| u64::from(*offset)),
            Self::Long(offsets) => offsets.get(number).copied(),
        }
    }

    fn bytes(&self) -> usize {
        match self {
            Self::Short(offsets) => size_of_val(&**offsets),
            Self::Long(offsets) => size_of_val(&**offsets),
        }
    }
}

impl BlockIndex {
    /// The blocks of `index`, of which the last ends at `blocks_end`. `None` if they are not in order.
    pub(super) fn new(index: &SstIndex, blocks_end: u64) -> Option<Self> {
        let blocks: Vec<(u64, &[u8])> = index.iter().collect();
        Self::of(&blocks, blocks_end)
    }

    /// See [`BlockIndex::new`]; each block is given by its offset and its stored key.
    fn of(blocks: &[(u64, &[u8])], blocks_end: u64) -> Option<Self> {
        let keys = || blocks.iter().skip(1).map(|(_, key)| *key);
        if !keys().is_sorted() {
            return None;
        }
        // The keys are in order, so what the first and the last have in common, all have.
        let first = keys().next().unwrap_or_default();
        let last = keys().next_back().unwrap_or_default();
        let common = first.iter().zip(last).take_while(|(a, b)| a == b).count();
        let (mut rests, mut ends) = (Vec::new(), Vec::with_capacity(blocks.len()));
        for key in keys() {
            rests.extend_from_slice(key.get(common..)?);
            ends.push(u32::try_from(rests.len()).ok()?);
        }
        let mut offsets: Vec<u64> = blocks.iter().map(|(offset, _)| *offset).collect();
        offsets.push(blocks_end);
        offsets.is_sorted().then(|| Self {
            prefix: first.get(..common).unwrap_or_default().into(),
            rests: rests.into(),
            ends: ends.into(),
            offsets: Offsets::new(&offsets),
        })
    }

    /// Without its last block.
    #[cfg(feature = "planted-bugs")]
    pub(super) fn without_last_block(mut self) -> Self {
        let offsets: Vec<u64> = (0..).map_while(|number| self.offsets.get(number)).collect();
        if let ([offsets @ .., _], [ends @ .., _]) = (&offsets[..], &*self.ends) {
            (self.offsets, self.ends) = (Offsets::new(offsets), ends.into());
        }
        self
    }

    /// Where a block is in the file; `None` after the last block.
    pub(super) fn block(&self, number: usize) -> Option<Range<u64>> {
        Some(self.offsets.get(number)?..self.offsets.get(number + 1)?)
    }

    /// The first block that can have a row with this key, or with a greater one.
    ///
    /// If the stored key of a block equals `key`, the newest version of the row can be in the block before it.
    pub(super) fn find(&self, key: &[u8]) -> usize {
        let head = key.get(..self.prefix.len()).unwrap_or(key);
        match self.prefix.get(..head.len()).unwrap_or_default().cmp(head) {
            Ordering::Less => self.ends.len(),
            Ordering::Greater => 0,
            Ordering::Equal => {
                let rest = key.get(head.len()..).unwrap_or_default();
                if head.len() < self.prefix.len() {
                    return 0;
                }
                self.blocks_before(rest)
            }
        }
    }

    /// The number of stored keys whose rest is smaller.
    fn blocks_before(&self, rest: &[u8]) -> usize {
        let (mut low, mut high) = (0, self.ends.len());
        while low < high {
            let middle = low.midpoint(high);
            if self.rest(middle) < rest {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    /// The share of the file's bytes in the blocks that can have rows of these keys.
    pub(super) fn share(&self, keys: &KeyRange) -> f64 {
        let of = |bound: &Bound<Bytes>| match bound {
            Bound::Included(key) | Bound::Excluded(key) => Some(self.find(key)),
            Bound::Unbounded => None,
        };
        let last = self.ends.len();
        let (from, to) = (of(&keys.start).unwrap_or(0), of(&keys.end).unwrap_or(last));
        let at = |block: usize| self.offsets.get(block).unwrap_or_default();
        let (begin, end) = (at(0), at(last + 1));
        let inside = at(to + 1).saturating_sub(at(from));
        inside as f64 / end.saturating_sub(begin).max(1) as f64
    }

    fn rest(&self, number: usize) -> &[u8] {
        let end = |number: usize| self.ends.get(number).map_or(0, |end| *end as usize);
        let start = number.checked_sub(1).map_or(0, end);
        self.rests.get(start..end(number)).unwrap_or_default()
    }

    /// The bytes of memory that it takes.
    pub(super) fn bytes(&self) -> usize {
        let ends = size_of_val(&*self.ends) + self.offsets.bytes();
        self.prefix.len() + self.rests.len() + ends + size_of::<Self>()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    fn key() -> impl Strategy<Value = Vec<u8>> {
        // Few bytes, so that keys equal each other and are prefixes of each other.
        proptest::collection::vec(0_u8..3, 0..5)
    }

    proptest! {
        #[test]
        fn the_first_block_with_a_key_is_found(
            keys in proptest::collection::btree_set(key(), 0..12),
            prefix in key(),
            wanted in key(),
            has_prefix in any::<bool>(),
        ) {
            let keys: BTreeSet<Vec<u8>> = keys.iter().map(|key| [&prefix[..], key].concat()).collect();
            let wanted = if has_prefix { [prefix, wanted].concat() } else { wanted };
            let stored = std::iter::once(&[][..]).chain(keys.iter().map(Vec::as_slice));
            let blocks: Vec<(u64, &[u8])> = (0..).step_by(10).zip(stored).collect();
            let end = if has_prefix { 1_000 } else { 1 << 40 };
            let index = BlockIndex::of(&blocks, end).unwrap();
            let before = keys.iter().filter(|key| **key < wanted).count();
            prop_assert_eq!(index.find(&wanted), before);
            let last = blocks.len() - 1;
            prop_assert_eq!(index.block(last), Some(10 * last as u64..end));
            prop_assert_eq!(index.block(last + 1), None);
        }
    }

    #[test]
    fn the_share_of_keys_is_that_of_their_blocks() {
        let blocks: [(u64, &[u8]); 4] = [(0, b""), (10, b"b"), (30, b"c"), (40, b"x")];
        let index = BlockIndex::of(&blocks, 100).unwrap();
        let share = |start: &'static str, end: &'static str| {
            let bound = |key: &'static str| match key {
                "" => Bound::Unbounded,
                key => Bound::Excluded(Bytes::from(key)),
            };
            let (start, end) = (bound(start), bound(end));
            index.share(&KeyRange { start, end })
        };
        assert_eq!(
            [share("", ""), share("", "a"), share("cc", "")],
            [1.0, 0.1, 0.7]
        );
        assert_eq!([share("bb", "bc"), share("y", "z")], [0.2, 0.6]);
    }

    #[test]
    fn an_index_out_of_order_is_refused() {
        let blocks: [(u64, &[u8]); 3] = [(0, b""), (10, b"b"), (20, b"a")];
        assert!(BlockIndex::of(&blocks, 30).is_none());
        let blocks: [(u64, &[u8]); 2] = [(10, b""), (0, b"b")];
        assert!(BlockIndex::of(&blocks, 30).is_none());
        assert!(BlockIndex::of(&[(10, b"")], 0).is_none());
    }
}
