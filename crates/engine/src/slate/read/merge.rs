//! The rows of a version in the order of their keys, each in its newest version.

use std::cmp::Ordering;
use std::sync::Arc;

use bytes::Bytes;
use slatedb::object_store::ObjectStore;

use super::cursor::{Moved, ReadPlan, RunCursor};
use super::memtable::ChunkCursor;
use super::version::Version;
use crate::{KeyRange, ReadError, Rows};

/// A place in a part of a memtable, or in a run.
#[derive(Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "there are few, and each row is reached through one pointer less"
)]
enum Source {
    Memtable(ChunkCursor),
    Run(RunCursor),
}

impl Source {
    #[inline]
    fn key(&self) -> &[u8] {
        match self {
            Self::Memtable(cursor) => cursor.key(),
            Self::Run(cursor) => cursor.key(),
        }
    }

    #[inline]
    fn seq(&self) -> u64 {
        match self {
            Self::Memtable(cursor) => cursor.seq(),
            Self::Run(cursor) => cursor.seq(),
        }
    }

    /// By key, then from the newest to the oldest.
    #[inline]
    fn order(&self, other: &Self) -> Ordering {
        let order = self.key().cmp(other.key());
        order.then_with(|| other.seq().cmp(&self.seq()))
    }

    /// Adds the row to `rows` unless it is a deletion.
    #[inline]
    fn push_to(&mut self, rows: &mut Rows) {
        match self {
            Self::Memtable(cursor) => {
                if let Some(value) = cursor.value() {
                    rows.push(cursor.key(), Bytes::clone(value));
                }
            }
            Self::Run(cursor) => {
                if let Some(value) = cursor.value() {
                    let holder = cursor.holder.unwrap_or_else(|| rows.hold(cursor.content()));
                    cursor.holder = Some(holder);
                    rows.push_part(cursor.key(), holder, value);
                }
            }
        }
    }
}

/// The rows of a range in a snapshot: a version, and the last sequence number.
#[derive(Debug)]
pub(super) struct Merge {
    version: Arc<Version>,
    seq: u64,
    store: Arc<dyn ObjectStore>,
    plan: ReadPlan,
    sources: Vec<Source>,
    /// The numbers of the sources that are at a row: a binary heap, the first row at the front.
    heap: Vec<usize>,
    /// The key of the last row that was added, or whose deletion was met. Older versions of it follow.
    decided: Vec<u8>,
    state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// No source is at a row.
    New,
    /// The row at the front of the heap is the next one.
    AtRow,
    /// The row at the front of the heap is done.
    Done,
}

impl Merge {
    /// The rows of `range`.
    pub(super) fn new(
        version: Arc<Version>,
        seq: u64,
        store: Arc<dyn ObjectStore>,
        range: &KeyRange,
        plan: ReadPlan,
    ) -> Self {
        // All rows of the snapshot are in them by now; those that came after it are not shown.
        let memtables = version.memtables.iter();
        let memtables = memtables.flat_map(|memtable| memtable.cursors(range));
        let memtables = memtables.map(Source::Memtable);
        let runs = version.runs.iter().enumerate();
        let runs = runs.map(|(number, run)| Source::Run(RunCursor::new(number, run, range)));
        let sources: Vec<Source> = memtables.chain(runs).collect();
        Self {
            heap: Vec::with_capacity(sources.len()),
            sources,
            version,
            seq,
            store,
            plan,
            decided: Vec::new(),
            state: State::New,
        }
    }

    /// Adds rows until there are `rows_max` or `bytes_max` bytes, or until the end, when it returns `true`.
    pub(super) async fn fill(
        &mut self,
        rows: &mut Rows,
        rows_max: usize,
        bytes_max: usize,
    ) -> Result<bool, ReadError> {
        for source in &mut self.sources {
            if let Source::Run(cursor) = source {
                cursor.holder = None;
            }
        }
        if self.state == State::New {
            for number in 0..self.sources.len() {
                if self.advance(number).await? {
                    self.heap.push(number);
                    self.sift_up(self.heap.len() - 1);
                }
            }
            // No key is empty, so none equals this one.
            self.state = State::AtRow;
        }
        loop {
            if self.state == State::Done {
                self.replace_front().await?;
                self.state = State::AtRow;
            }
            let Some(source) = self.front() else {
                return Ok(true);
            };
            if rows.len() >= rows_max || rows.bytes() >= bytes_max {
                return Ok(false);
            }
            let source = self.sources.get_mut(source);
            if let Some(source) = source
                && (source.key() != self.decided || self.decided.is_empty())
            {
                self.decided.clear();
                self.decided.extend_from_slice(source.key());
                source.push_to(rows);
            }
            self.state = State::Done;
        }
    }

    fn front(&self) -> Option<usize> {
        self.heap.first().copied()
    }

    /// Moves the source at the front of the heap to its next row.
    #[inline]
    async fn replace_front(&mut self) -> Result<(), ReadError> {
        let Some(front) = self.front() else {
            return Ok(());
        };
        if self.advance(front).await? {
            self.sift_down();
        } else {
            let last = self.heap.pop();
            if let (Some(first), Some(last)) = (self.heap.first_mut(), last) {
                *first = last;
                self.sift_down();
            }
        }
        Ok(())
    }

    /// Moves a source to its next row. `false` at its end.
    #[inline]
    async fn advance(&mut self, number: usize) -> Result<bool, ReadError> {
        match self.sources.get_mut(number) {
            Some(Source::Memtable(cursor)) => Ok(cursor.advance(self.seq)),
            Some(Source::Run(cursor)) => {
                let Some(run) = self.version.runs.get(cursor.run()) else {
                    return Ok(false);
                };
                let mut moved = cursor.advance(run)?;
                if moved == Moved::BlockEnd {
                    // Lets other tasks run, from time to time.
                    tokio::task::coop::consume_budget().await;
                    moved = Box::pin(cursor.load(run, &self.store, self.plan)).await?;
                }
                Ok(moved == Moved::Row)
            }
            None => Ok(false),
        }
    }

    /// Whether the source at one place of the heap must come before the one at another.
    #[inline]
    fn is_before(&self, one: usize, other: usize) -> bool {
        let source = |place: usize| self.sources.get(*self.heap.get(place)?);
        match (source(one), source(other)) {
            (Some(one), Some(other)) => one.order(other).is_lt(),
            _ => false,
        }
    }

    fn sift_up(&mut self, mut place: usize) {
        while place > 0 {
            let parent = (place - 1) / 2;
            if !self.is_before(place, parent) {
                return;
            }
            self.heap.swap(place, parent);
            place = parent;
        }
    }

    #[inline]
    fn sift_down(&mut self) {
        let mut place = 0;
        loop {
            let (left, right) = (2 * place + 1, 2 * place + 2);
            let mut first = place;
            if self.is_before(left, first) {
                first = left;
            }
            if self.is_before(right, first) {
                first = right;
            }
            if first == place {
                return;
            }
            self.heap.swap(place, first);
            place = first;
        }
    }
}
