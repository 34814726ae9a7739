//! The index of a data file: where its blocks are, and which keys they hold.

use std::cmp::Ordering;
use std::ops::Range;

use slatedb::SstIndex;

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
    offsets: Box<[u64]>,
}

impl BlockIndex {
    /// `blocks_end`: where the last block ends. `None` if the index is not in order.
    pub(super) fn new(index: &SstIndex, blocks_end: u64) -> Option<Self> {
        let keys = || index.iter().skip(1).map(|(_, key)| key);
        // The keys are in order, so what the first and the last have in common, all have.
        let (first, last) = (
            keys().next().unwrap_or_default(),
            keys().last().unwrap_or_default(),
        );
        let common = first.iter().zip(last).take_while(|(a, b)| a == b).count();
        let prefix = first.get(..common).unwrap_or_default();
        let (mut rests, mut ends) = (Vec::new(), Vec::with_capacity(index.len()));
        let mut before: &[u8] = &[];
        for key in keys() {
            if key < before {
                return None;
            }
            before = key;
            rests.extend_from_slice(key.get(common..)?);
            ends.push(u32::try_from(rests.len()).ok()?);
        }
        let mut offsets: Vec<u64> = index.iter().map(|(offset, _)| offset).collect();
        offsets.push(blocks_end);
        offsets.is_sorted().then(|| Self {
            prefix: prefix.into(),
            rests: rests.into(),
            ends: ends.into(),
            offsets: offsets.into(),
        })
    }

    /// Where a block is in the file; `None` after the last block.
    pub(super) fn block(&self, number: usize) -> Option<Range<u64>> {
        Some(*self.offsets.get(number)?..*self.offsets.get(number + 1)?)
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

    fn rest(&self, number: usize) -> &[u8] {
        let end = |number: usize| self.ends.get(number).map_or(0, |end| *end as usize);
        let start = number.checked_sub(1).map_or(0, end);
        self.rests.get(start..end(number)).unwrap_or_default()
    }

    /// The bytes of memory that it takes.
    pub(super) fn bytes(&self) -> usize {
        let ends = size_of_val(&*self.ends) + size_of_val(&*self.offsets);
        self.prefix.len() + self.rests.len() + ends + size_of::<Self>()
    }
}
