//! The index of a data file: where its blocks are, and which keys they hold.

use std::cmp::Ordering;
use std::ops::{Bound, Range};

use bytes::Bytes;
use slatedb::SstIndex;

use super::block::{push_varint, varint};
use crate::KeyRange;

/// The blocks of a group. The first stored key of a group is whole, and the search for a key begins with these.
const GROUP: usize = 16;

/// The blocks of a file. SlateDB stores, for each block but the first, the shortest key that is greater than all keys
/// before the block and not greater than its first key; see `compute_index_key` in its source.
///
/// The index of a block of 16 KiB takes about ten bytes of memory:
///
/// ```text
///  file    prefix of all stored keys │ group … group
///  group   where its first block begins │ block … block, at most 16
///  block   its bytes, shared, unshared (varints) │ the rest of its stored key, after the prefix and `shared` bytes of
///          the rest of the stored key before it in the group
/// ```
#[derive(Debug)]
pub(super) struct BlockIndex {
    /// What the stored keys begin with.
    prefix: Box<[u8]>,
    groups: Box<[Group]>,
    /// The blocks of all groups, in the form that is shown above.
    blocks: Box<[u8]>,
    /// The number of blocks.
    count: usize,
}

/// Some adjacent blocks.
#[derive(Debug, Clone, Copy)]
struct Group {
    /// Where the first block begins in the file.
    offset: u64,
    /// Where the first block begins in [`BlockIndex::blocks`].
    at: u32,
}

/// A block of a group.
#[derive(Debug)]
struct Entry<'i> {
    /// Its bytes in the file.
    bytes: u64,
    /// How many bytes of its key are those of the key before.
    shared: usize,
    unshared: &'i [u8],
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
        let common = common_bytes(first, keys().next_back().unwrap_or_default());
        let mut groups = Vec::with_capacity(blocks.len().div_ceil(GROUP));
        let (mut packed, mut before): (Vec<u8>, &[u8]) = (Vec::new(), &[]);
        let ends = blocks.iter().skip(1).map(|(offset, _)| *offset);
        let ends = ends.chain([blocks_end]);
        for (number, ((offset, key), end)) in blocks.iter().zip(ends).enumerate() {
            // The first block has no stored key.
            let rest = if number == 0 { &[] } else { key.get(common..)? };
            let is_first = number % GROUP == 0;
            if is_first {
                let at = u32::try_from(packed.len()).ok()?;
                groups.push(Group {
                    offset: *offset,
                    at,
                });
            }
            let shared = if is_first {
                0
            } else {
                common_bytes(before, rest)
            };
            let unshared = rest.get(shared..)?;
            let bytes = u32::try_from(end.checked_sub(*offset)?).ok()?;
            push_varint(&mut packed, bytes);
            push_varint(&mut packed, u32::try_from(shared).ok()?);
            push_varint(&mut packed, u32::try_from(unshared.len()).ok()?);
            packed.extend_from_slice(unshared);
            before = rest;
        }
        Some(Self {
            prefix: first.get(..common).unwrap_or_default().into(),
            groups: groups.into(),
            blocks: packed.into(),
            count: blocks.len(),
        })
    }

    /// Without its last block.
    #[cfg(feature = "planted-bugs")]
    pub(super) fn without_last_block(mut self) -> Self {
        self.count = self.count.saturating_sub(1);
        self
    }

    /// Where a block is in the file; `None` after the last block.
    pub(super) fn block(&self, number: usize) -> Option<Range<u64>> {
        let group = number / GROUP;
        let mut begin = self.groups.get(group)?.offset;
        for (place, entry) in self.entries(group).enumerate() {
            let end = begin + entry.bytes;
            if group * GROUP + place == number {
                return Some(begin..end);
            }
            begin = end;
        }
        None
    }

    /// The first block that can have a row with this key, or with a greater one.
    ///
    /// If the stored key of a block equals `key`, the newest version of the row can be in the block before it.
    pub(super) fn find(&self, key: &[u8]) -> usize {
        let head = key.get(..self.prefix.len()).unwrap_or(key);
        match self.prefix.get(..head.len()).unwrap_or_default().cmp(head) {
            Ordering::Less => self.last(),
            Ordering::Greater => 0,
            Ordering::Equal if head.len() < self.prefix.len() => 0,
            Ordering::Equal => self.blocks_before(key.get(head.len()..).unwrap_or_default()),
        }
    }

    /// The number of the last block.
    fn last(&self) -> usize {
        self.count.saturating_sub(1)
    }

    /// The number of stored keys whose rest is smaller.
    fn blocks_before(&self, rest: &[u8]) -> usize {
        let (mut low, mut high) = (0, self.groups.len().saturating_sub(1));
        while low < high {
            // The group after the middle one: the first group has no first key.
            let next = low.midpoint(high) + 1;
            let first = self.entries(next).next();
            if first.is_some_and(|entry| entry.unshared < rest) {
                low = next;
            } else {
                high = next - 1;
            }
        }
        low * GROUP + self.blocks_before_in(low, rest)
    }

    /// The number of blocks of a group, without the first one, whose stored key has a smaller rest.
    fn blocks_before_in(&self, group: usize, rest: &[u8]) -> usize {
        let mut entries = self.entries(group);
        let first = entries.next();
        // How many bytes `rest` and the key before have in common. That key is smaller.
        let mut matched = match first {
            Some(first) => common_bytes(first.unshared, rest),
            None => return 0,
        };
        let mut smaller = 0;
        for entry in entries {
            match entry.shared.cmp(&matched) {
                // Where the key before differs from `rest`, this key is as the key before.
                Ordering::Greater => {}
                // Where this key differs from the key before, that key is as `rest`, and this key is greater.
                Ordering::Less => break,
                Ordering::Equal => {
                    let rest = rest.get(matched..).unwrap_or_default();
                    if entry.unshared >= rest {
                        break;
                    }
                    matched += common_bytes(entry.unshared, rest);
                }
            }
            smaller += 1;
        }
        smaller
    }

    /// The blocks of a group.
    fn entries(&self, group: usize) -> impl Iterator<Item = Entry<'_>> {
        let count = self.count.saturating_sub(group * GROUP).min(GROUP);
        let mut at = self
            .groups
            .get(group)
            .map_or(usize::MAX, |group| group.at as usize);
        (0..count).map_while(move |_| {
            let bytes = varint(&self.blocks, &mut at)? as u64;
            let shared = varint(&self.blocks, &mut at)?;
            let unshared = varint(&self.blocks, &mut at)?;
            let unshared = self.blocks.get(at..at + unshared)?;
            at += unshared.len();
            Some(Entry {
                bytes,
                shared,
                unshared,
            })
        })
    }

    /// The share of the file's bytes in the blocks that can have rows of these keys.
    pub(super) fn share(&self, keys: &KeyRange) -> f64 {
        let of = |bound: &Bound<Bytes>| match bound {
            Bound::Included(key) | Bound::Excluded(key) => Some(self.find(key)),
            Bound::Unbounded => None,
        };
        let last = self.last();
        let (from, to) = (of(&keys.start).unwrap_or(0), of(&keys.end).unwrap_or(last));
        let begin = |block: usize| self.block(block).map_or(0, |place| place.start);
        let end = |block: usize| self.block(block).map_or(0, |place| place.end);
        let inside = end(to).saturating_sub(begin(from));
        inside as f64 / end(last).saturating_sub(begin(0)).max(1) as f64
    }

    /// The bytes of memory that it takes.
    pub(super) fn bytes(&self) -> usize {
        let groups = size_of_val(&*self.groups);
        self.prefix.len() + self.blocks.len() + groups + size_of::<Self>()
    }
}

/// How many bytes two keys have in common from the beginning.
fn common_bytes(one: &[u8], other: &[u8]) -> usize {
    one.iter().zip(other).take_while(|(a, b)| a == b).count()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    fn key() -> impl Strategy<Value = Vec<u8>> {
        // Few bytes, so that keys equal each other and are prefixes of each other.
        proptest::collection::vec(0_u8..3, 0..6)
    }

    proptest! {
        #[test]
        fn the_first_block_with_a_key_is_found(
            keys in proptest::collection::btree_set(key(), 0..100),
            prefix in key(),
            wanted in key(),
            has_prefix in any::<bool>(),
        ) {
            let keys: BTreeSet<Vec<u8>> = keys.iter().map(|key| [&prefix[..], key].concat()).collect();
            let wanted = if has_prefix { [prefix, wanted].concat() } else { wanted };
            let stored = std::iter::once(&[][..]).chain(keys.iter().map(Vec::as_slice));
            let blocks: Vec<(u64, &[u8])> = (0..).step_by(10).zip(stored).collect();
            let end = if has_prefix { 1_000 } else { 1 << 31 };
            let index = BlockIndex::of(&blocks, end).unwrap();
            let before = keys.iter().filter(|key| **key < wanted).count();
            prop_assert_eq!(index.find(&wanted), before);
            let last = blocks.len() - 1;
            for number in 0..last {
                let begin = 10 * number as u64;
                prop_assert_eq!(index.block(number), Some(begin..begin + 10));
            }
            prop_assert_eq!(index.block(last), Some(10 * last as u64..end));
            prop_assert_eq!(index.block(last + 1), None);
            let memory = index.bytes() - size_of::<BlockIndex>() - index.prefix.len();
            prop_assert!(memory <= 26 + blocks.len() * 9, "{memory} bytes for {} blocks", blocks.len());
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
