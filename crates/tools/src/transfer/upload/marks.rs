//! Finds the last mark before which all rows are written. Writes may end in any order.

use std::collections::VecDeque;

/// The number of a chunk, in the order in which chunks were read.
pub(super) type ChunkId = u64;

/// The oldest chunk with unwritten rows and all chunks after it, written or not. Each has its mark: the position of the
/// source after the chunk.
pub(super) struct Marks<M> {
    /// The id of the oldest chunk in `open`.
    first: ChunkId,
    open: VecDeque<Open<M>>,
}

struct Open<M> {
    /// The number of rows not yet written.
    rows: usize,
    mark: M,
}

impl<M> Default for Marks<M> {
    fn default() -> Self {
        Self {
            first: 0,
            open: VecDeque::new(),
        }
    }
}

impl<M> Marks<M> {
    /// Adds a chunk with this number of rows.
    pub(super) fn begin(&mut self, rows: usize, mark: M) -> ChunkId {
        self.open.push_back(Open { rows, mark });
        self.first + self.open.len() as u64 - 1
    }

    /// Counts written rows of a chunk.
    ///
    /// # Panics
    /// If the chunk has fewer unwritten rows.
    pub(super) fn written(&mut self, chunk: ChunkId, rows: usize) {
        let at =
            usize::try_from(chunk - self.first).expect("the number of open chunks fits into usize");
        let open = self.open.get_mut(at).expect("the chunk has unwritten rows");
        open.rows = open
            .rows
            .checked_sub(rows)
            .expect("no row is written twice");
    }

    /// The last mark before which all rows are written; `None` if no mark was reached since the last call.
    pub(super) fn reached(&mut self) -> Option<M> {
        let mut reached = None;
        while self.open.front().is_some_and(|open| open.rows == 0) {
            self.first += 1;
            reached = self.open.pop_front();
        }
        reached.map(|open| open.mark)
    }

    /// Whether all marks have been reached and returned.
    pub(super) fn is_empty(&self) -> bool {
        self.open.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_waits_for_the_rows_before_it() {
        let mut marks = Marks::default();
        let [a, b, c] = [(3, 'a'), (1, 'b'), (0, 'c')].map(|(rows, mark)| marks.begin(rows, mark));
        assert_eq!(marks.reached(), None);
        marks.written(b, 1);
        marks.written(a, 2);
        assert_eq!(marks.reached(), None);
        marks.written(a, 1);
        assert_eq!(marks.reached(), Some('c'));
        assert!(marks.is_empty() && c == 2);
        let d = marks.begin(1, 'd');
        marks.written(d, 1);
        assert_eq!((d, marks.reached(), marks.reached()), (3, Some('d'), None));
    }
}
