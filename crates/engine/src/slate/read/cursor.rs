//! A place in a run of files.

use std::ops::{Bound, Range};
use std::sync::Arc;

use bytes::Bytes;
use slatedb::object_store::ObjectStore;

use super::block::{Block, BlockCursor};
use super::index::BlockIndex;
use super::version::Run;
use crate::{KeyRange, ReadError};

/// Where a cursor went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Moved {
    /// To a row.
    Row,
    /// To the end of a block: [`RunCursor::load`] must be called.
    BlockEnd,
    /// To the end of the range of keys.
    End,
}

/// How a scan reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ReadPlan {
    /// The bytes that are read from a file at a time; 0 for one block.
    pub(super) ahead_bytes: u64,
    /// Whether the cache keeps the blocks.
    pub(super) keep: bool,
}

/// A place in a run: a row, or the end.
#[derive(Debug)]
pub(super) struct RunCursor {
    run: usize,
    start: Bound<Bytes>,
    end: Bound<Bytes>,
    /// The next part of the run.
    next_part: usize,
    place: Option<Place>,
    /// Decoded blocks that follow in the part.
    ahead: std::vec::IntoIter<Arc<Block>>,
    block: Option<Arc<Block>>,
    row: BlockCursor,
    /// The number of the block in the rows that are being collected; `None` if it is not among them yet.
    pub(super) holder: Option<usize>,
}

/// The open part of a run.
#[derive(Debug)]
struct Place {
    part: usize,
    index: Arc<BlockIndex>,
    /// The next block to read.
    next_block: usize,
    /// The keys after these are not visible.
    end: Bound<Bytes>,
    /// Whether a row of the range was found: all rows after it are in the range, too, up to the end.
    is_entered: bool,
}

impl RunCursor {
    /// Before the first row of a range.
    pub(super) fn new(run: usize, in_run: &Run, range: &KeyRange) -> Self {
        Self {
            run,
            start: range.start.clone(),
            end: range.end.clone(),
            next_part: in_run.part_at(&range.start),
            place: None,
            ahead: Vec::new().into_iter(),
            block: None,
            row: BlockCursor::default(),
            holder: None,
        }
    }

    /// The number of its run in the version.
    pub(super) fn run(&self) -> usize {
        self.run
    }

    #[inline]
    pub(super) fn key(&self) -> &[u8] {
        self.row.key()
    }

    #[inline]
    pub(super) fn seq(&self) -> u64 {
        self.row.seq()
    }

    /// Where the value is in the content of the block; `None` if the row is a deletion.
    #[inline]
    pub(super) fn value(&self) -> Option<Range<usize>> {
        self.row.value()
    }

    /// The content of the block of the row.
    pub(super) fn content(&self) -> Bytes {
        let content = self.block.as_ref().map(|block| block.content().clone());
        content.unwrap_or_default()
    }

    /// Goes to the next row of the loaded block.
    #[inline]
    pub(super) fn advance(&mut self, run: &Run) -> Result<Moved, ReadError> {
        let Some(block) = &self.block else {
            return Ok(Moved::BlockEnd);
        };
        let moved = self.row.advance(block);
        self.arrived(run, moved)
    }

    /// Where the cursor is after a move in its block.
    #[inline]
    fn arrived(
        &mut self,
        run: &Run,
        moved: Result<bool, super::block::BadBlock>,
    ) -> Result<Moved, ReadError> {
        let Some(place) = &self.place else {
            return Ok(Moved::End);
        };
        match moved {
            Ok(true) if is_before(self.row.key(), &place.end) => Ok(Moved::Row),
            // The rest of the part is not visible.
            Ok(true) => {
                self.place = None;
                self.block = None;
                self.ahead = Vec::new().into_iter();
                Ok(Moved::BlockEnd)
            }
            Ok(false) => {
                self.block = None;
                Ok(Moved::BlockEnd)
            }
            Err(error) => Err(match run.parts.get(place.part) {
                Some(part) => part.file.damaged(error),
                None => ReadError::Corrupt(Arc::new(error)),
            }),
        }
    }

    /// Loads the next block that can have rows of the range, and goes to its first such row.
    pub(super) async fn load(
        &mut self,
        run: &Run,
        store: &Arc<dyn ObjectStore>,
        plan: ReadPlan,
    ) -> Result<Moved, ReadError> {
        loop {
            if self.place.is_none() && !self.open_part(run, store).await? {
                return Ok(Moved::End);
            }
            if !self.load_block(run, store, plan).await? {
                self.place = None;
                continue;
            }
            let moved = self.enter_block(run)?;
            if moved != Moved::BlockEnd {
                return Ok(moved);
            }
        }
    }

    /// Opens the next part that overlaps the range; `false` if there is none.
    async fn open_part(
        &mut self,
        run: &Run,
        store: &Arc<dyn ObjectStore>,
    ) -> Result<bool, ReadError> {
        let Some(part) = run.parts.get(self.next_part) else {
            return Ok(false);
        };
        if !begins_before(&part.keys.start, &self.end) {
            return Ok(false);
        }
        let index = part.file.index(store).await?;
        let start = later_start(&self.start, &part.keys.start);
        let next_block = match start {
            Bound::Included(key) | Bound::Excluded(key) => index.find(key),
            Bound::Unbounded => 0,
        };
        self.place = Some(Place {
            part: self.next_part,
            index,
            next_block,
            end: earlier_end(&self.end, &part.keys.end).clone(),
            is_entered: false,
        });
        self.next_part += 1;
        Ok(true)
    }

    /// Loads the next block of the part; `false` after the last one.
    async fn load_block(
        &mut self,
        run: &Run,
        store: &Arc<dyn ObjectStore>,
        plan: ReadPlan,
    ) -> Result<bool, ReadError> {
        self.holder = None;
        if let Some(block) = self.ahead.next() {
            self.block = Some(block);
            return Ok(true);
        }
        let Some((place, part)) = self.place.as_mut().and_then(|place| {
            let part = run.parts.get(place.part)?;
            Some((place, part))
        }) else {
            return Ok(false);
        };
        let Some(first) = place.index.block(place.next_block) else {
            return Ok(false);
        };
        if let Some(block) = part.file.cached_block(place.next_block) {
            place.next_block += 1;
            self.block = Some(block);
            return Ok(true);
        }
        if plan.ahead_bytes == 0 {
            let wanted = (place.next_block, first);
            place.next_block += 1;
            self.block = Some(part.file.read_block(store, wanted, plan.keep).await?);
            return Ok(true);
        }
        let wanted = blocks_ahead(place, plan.ahead_bytes);
        place.next_block += wanted.len();
        self.ahead = part.file.read_blocks(store, &wanted).await?.into_iter();
        self.block = self.ahead.next();
        Ok(self.block.is_some())
    }

    /// Goes to the first row of the loaded block that is in the range.
    fn enter_block(&mut self, run: &Run) -> Result<Moved, ReadError> {
        let (Some(block), Some(place)) = (&self.block, &self.place) else {
            return Ok(Moved::BlockEnd);
        };
        let start = match run.parts.get(place.part) {
            _ if place.is_entered => &Bound::Unbounded,
            Some(part) => later_start(&self.start, &part.keys.start),
            None => &self.start,
        };
        let moved = match start {
            Bound::Unbounded => {
                self.row.rewind();
                self.row.advance(block)
            }
            Bound::Included(key) => self.row.seek(block, key),
            Bound::Excluded(key) => {
                let mut moved = self.row.seek(block, key);
                while moved.is_ok_and(|is_row| is_row && self.row.key() == &key[..]) {
                    moved = self.row.advance(block);
                }
                moved
            }
        };
        if let (Ok(true), Some(place)) = (moved, &mut self.place) {
            place.is_entered = true;
        }
        self.arrived(run, moved)
    }
}

/// The next blocks of a part up to a number of bytes, at least one, without those after the end of the range.
fn blocks_ahead(place: &Place, bytes_max: u64) -> Vec<Range<u64>> {
    let index = &place.index;
    let last = match &place.end {
        Bound::Included(end) | Bound::Excluded(end) => {
            // Rows that equal the end can be in the block after the one that `find` names.
            (index.find(end) + 1).max(place.next_block)
        }
        Bound::Unbounded => usize::MAX,
    };
    let start = index.block(place.next_block).map_or(0, |block| block.start);
    let mut blocks = (place.next_block..=last).map_while(|number| index.block(number));
    let mut wanted: Vec<Range<u64>> = blocks.next().into_iter().collect();
    wanted.extend(blocks.take_while(|block| block.end - start <= bytes_max));
    wanted
}

fn is_before(key: &[u8], end: &Bound<Bytes>) -> bool {
    match end {
        Bound::Included(end) => key <= &end[..],
        Bound::Excluded(end) => key < &end[..],
        Bound::Unbounded => true,
    }
}

/// Whether keys from `start` on can lie before `end`.
fn begins_before(start: &Bound<Bytes>, end: &Bound<Bytes>) -> bool {
    match start {
        Bound::Included(start) | Bound::Excluded(start) => is_before(start, end),
        Bound::Unbounded => true,
    }
}

fn later_start<'b>(a: &'b Bound<Bytes>, b: &'b Bound<Bytes>) -> &'b Bound<Bytes> {
    narrower(a, b, |a, b| a > b)
}

fn earlier_end<'b>(a: &'b Bound<Bytes>, b: &'b Bound<Bytes>) -> &'b Bound<Bytes> {
    narrower(a, b, |a, b| a < b)
}

/// The bound that leaves fewer keys. `is_narrower` compares two different keys of bounds.
fn narrower<'b>(
    a: &'b Bound<Bytes>,
    b: &'b Bound<Bytes>,
    is_narrower: fn(&Bytes, &Bytes) -> bool,
) -> &'b Bound<Bytes> {
    let key = |bound: &'b Bound<Bytes>| match bound {
        Bound::Included(key) | Bound::Excluded(key) => Some(key),
        Bound::Unbounded => None,
    };
    match (key(a), key(b)) {
        (None, _) => b,
        (_, None) => a,
        (Some(one), Some(other)) if one == other => match a {
            Bound::Excluded(_) => a,
            _ => b,
        },
        (Some(one), Some(other)) if is_narrower(one, other) => a,
        _ => b,
    }
}
