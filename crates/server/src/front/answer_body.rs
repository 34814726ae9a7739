//! The body of an answer: pieces, each of which gives its memory back when the client's socket has taken it.
//!
//! An answer of up to [`UNCOUNTED_BYTES`] is one piece and does not touch the memory budget. The body of an answer of
//! another server of the cluster is passed on as it arrives; the connection between the servers bounds its memory.

use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};
use partita_peer::BodyError;
use partita_service::{Busy, MemoryBudget, Reserved, UNCOUNTED_BYTES};
use std::borrow::Cow;
use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

/// The size of a piece of a page. A row is never divided, so pieces may be larger.
const PIECE_BYTES: usize = 256 << 10;

/// The body of an answer.
#[derive(Debug, Default)]
pub(super) struct AnswerBody {
    first: Bytes,
    rest: VecDeque<Bytes>,
    /// The body of another server's answer.
    arriving: Option<Box<Arriving>>,
    /// Whether its memory is reserved, or too small to be counted.
    is_counted: bool,
}

/// A body that another server sends.
#[derive(Debug)]
struct Arriving {
    body: partita_peer::Body,
    /// The bytes that have not arrived yet.
    left: u64,
}

/// The body of another server's answer did not arrive as announced. The connection to the client breaks.
#[derive(Debug, thiserror::Error)]
pub(super) enum AnswerBodyError {
    /// The connection between the servers broke.
    #[error(transparent)]
    Broken(#[from] BodyError),
    /// The body has another size than announced.
    #[error("the body of a forwarded answer has another size than announced")]
    Size,
}

impl From<Bytes> for AnswerBody {
    fn from(first: Bytes) -> Self {
        Self {
            is_counted: first.len() <= UNCOUNTED_BYTES,
            first,
            rest: VecDeque::new(),
            arriving: None,
        }
    }
}

impl AnswerBody {
    /// The body of another server's answer, of `bytes` bytes.
    pub(super) fn arriving(body: partita_peer::Body, bytes: u64) -> Self {
        let arriving = (bytes > 0).then(|| Box::new(Arriving { body, left: bytes }));
        Self {
            arriving,
            is_counted: true,
            ..Self::default()
        }
    }

    /// The number of bytes that are not taken yet.
    pub(super) fn len(&self) -> u64 {
        let here = self.first.len() + self.rest.iter().map(Bytes::len).sum::<usize>();
        let arriving = self.arriving.as_ref();
        here as u64 + arriving.map_or(0, |arriving| arriving.left)
    }

    /// The pieces of a body that this server has made, for another server.
    pub(super) fn into_pieces(self) -> Vec<Bytes> {
        let pieces = std::iter::once(self.first).chain(self.rest);
        pieces.filter(|piece| !piece.is_empty()).collect()
    }

    /// All bytes in one piece, of a body that this server has made.
    pub(super) fn whole(&self) -> Cow<'_, [u8]> {
        if self.rest.is_empty() {
            return Cow::Borrowed(&self.first);
        }
        let mut whole = Vec::with_capacity(self.rest.len() * PIECE_BYTES);
        whole.extend_from_slice(&self.first);
        for piece in &self.rest {
            whole.extend_from_slice(piece);
        }
        Cow::Owned(whole)
    }

    /// Reserves the memory of the body until it is sent.
    ///
    /// # Errors
    /// [`Busy`] if the budget has no room.
    pub(super) fn reserve(&mut self, memory: &Arc<MemoryBudget>) -> Result<(), Busy> {
        if !self.is_counted {
            let mut reserved = Reserved::default();
            reserved.grow_to(memory, self.first.len())?;
            self.hold(reserved);
        }
        Ok(())
    }

    /// Like [`Self::reserve`], but beyond the limit if necessary: the operation was executed, so its answer must not be
    /// replaced by a refusal.
    pub(super) fn reserve_beyond_limit(&mut self, memory: &Arc<MemoryBudget>) {
        if !self.is_counted {
            let mut reserved = Reserved::default();
            reserved.grow_beyond_limit(memory, self.first.len());
            self.hold(reserved);
        }
    }

    fn hold(&mut self, memory: Reserved) {
        let bytes = std::mem::take(&mut self.first);
        self.first = Bytes::from_owner(Counted { bytes, memory });
        self.is_counted = true;
    }
}

/// Bytes with their memory, given back when the last reference to them is dropped.
struct Counted<B> {
    bytes: B,
    #[allow(dead_code, reason = "held until the bytes are dropped")]
    memory: Reserved,
}

impl<B: AsRef<[u8]>> AsRef<[u8]> for Counted<B> {
    fn as_ref(&self) -> &[u8] {
        self.bytes.as_ref()
    }
}

impl Body for AnswerBody {
    type Data = Bytes;
    type Error = AnswerBodyError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, AnswerBodyError>>> {
        let next = self.rest.pop_front().unwrap_or_default();
        let piece = std::mem::replace(&mut self.first, next);
        if !piece.is_empty() {
            return Poll::Ready(Some(Ok(Frame::data(piece))));
        }
        let Some(arriving) = &mut self.arriving else {
            return Poll::Ready(None);
        };
        let arrived = ready!(arriving.poll(context));
        if arrived.is_err() || arriving.left == 0 {
            self.arriving = None;
        }
        Poll::Ready(Some(arrived.map(Frame::data)))
    }

    fn is_end_stream(&self) -> bool {
        self.first.is_empty() && self.arriving.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.len())
    }
}

impl Arriving {
    /// The next piece; the body has not ended yet.
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Result<Bytes, AnswerBodyError>> {
        let Some(piece) = ready!(self.body.poll_frame(context))? else {
            return Poll::Ready(Err(AnswerBodyError::Size));
        };
        let left = self.left.checked_sub(piece.len() as u64);
        self.left = left.ok_or(AnswerBodyError::Size)?;
        Poll::Ready(Ok(piece))
    }
}

/// Writes a long body in pieces. The memory of a piece is reserved before it is written.
#[derive(Debug)]
pub(super) struct BodyWriter<'m> {
    memory: &'m Arc<MemoryBudget>,
    pieces: VecDeque<Bytes>,
    piece: Vec<u8>,
    reserved: Reserved,
    /// The bytes that the pieces after the current one are expected to have.
    expected: usize,
}

impl<'m> BodyWriter<'m> {
    /// A body of about `expected` bytes.
    ///
    /// # Errors
    /// [`Busy`] if the budget has no room.
    pub(super) fn new(memory: &'m Arc<MemoryBudget>, expected: usize) -> Result<Self, Busy> {
        let mut writer = Self {
            memory,
            pieces: VecDeque::new(),
            piece: Vec::new(),
            reserved: Reserved::default(),
            expected,
        };
        writer.begin_piece()?;
        Ok(writer)
    }

    fn begin_piece(&mut self) -> Result<(), Busy> {
        let capacity = self.expected.min(PIECE_BYTES);
        if capacity > UNCOUNTED_BYTES || !self.pieces.is_empty() {
            self.reserved.grow_to(self.memory, capacity)?;
        }
        self.piece = Vec::with_capacity(capacity);
        self.expected -= capacity;
        Ok(())
    }

    /// The current piece, to which the caller appends.
    pub(super) fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.piece
    }

    /// Ends the piece unless about `bytes` more fit into it. Call it between rows.
    ///
    /// # Errors
    /// [`Busy`] if the budget has no room.
    pub(super) fn make_room(&mut self, bytes: usize) -> Result<(), Busy> {
        let fits = self.piece.len() + bytes <= self.piece.capacity().max(UNCOUNTED_BYTES);
        if fits || self.piece.is_empty() {
            return Ok(());
        }
        self.end_piece()?;
        self.expected = self.expected.max(bytes);
        self.begin_piece()
    }

    fn end_piece(&mut self) -> Result<(), Busy> {
        // Rows may have become longer than expected.
        self.reserved.grow_to(self.memory, self.piece.capacity())?;
        let bytes = std::mem::take(&mut self.piece);
        let memory = std::mem::take(&mut self.reserved);
        self.pieces
            .push_back(Bytes::from_owner(Counted { bytes, memory }));
        Ok(())
    }

    /// The body.
    ///
    /// # Errors
    /// [`Busy`] if the budget has no room.
    pub(super) fn finish(mut self) -> Result<AnswerBody, Busy> {
        if self.pieces.is_empty() && self.piece.capacity() <= UNCOUNTED_BYTES {
            return Ok(Bytes::from(self.piece).into());
        }
        self.end_piece()?;
        let first = self.pieces.pop_front().unwrap_or_default();
        Ok(AnswerBody {
            first,
            rest: self.pieces,
            arriving: None,
            is_counted: true,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http_body_util::BodyExt as _;

    const ROW: usize = 10_000;

    fn written(memory: &Arc<MemoryBudget>, rows: usize) -> Result<AnswerBody, Busy> {
        let mut writer = BodyWriter::new(memory, rows * ROW)?;
        for row in 0..rows {
            writer.make_room(ROW)?;
            let bytes = [row as u8 + 1; ROW];
            writer.buffer().extend_from_slice(&bytes);
        }
        writer.finish()
    }

    #[tokio::test]
    async fn a_long_body_gives_back_its_memory_piece_by_piece() {
        let memory = MemoryBudget::new(4 << 20);
        let mut body = written(&memory, 100).unwrap();
        let whole = body.whole().into_owned();
        assert_eq!((body.len(), whole.len()), (100 * ROW as u64, 100 * ROW));
        let held = memory.bytes();
        assert!((1_000_000..1_100_000).contains(&held), "{held}");
        let (mut received, mut before) = (Vec::new(), held);
        while let Some(frame) = body.frame().await {
            let piece = frame.unwrap().into_data().unwrap();
            received.extend_from_slice(&piece);
            assert_eq!(memory.bytes(), before, "the piece is still held");
            drop(piece);
            assert!(memory.bytes() < before);
            before = memory.bytes();
        }
        assert!(received == whole && body.is_end_stream());
        assert_eq!(memory.bytes(), 0);
    }

    #[tokio::test]
    async fn a_short_body_is_one_piece_and_not_counted() {
        let memory = MemoryBudget::new(0);
        let mut body = written(&memory, 1).unwrap();
        body.reserve(&memory).unwrap();
        let piece = body.frame().await.unwrap().unwrap().into_data().unwrap();
        assert_eq!(piece.len(), ROW);
        assert!(body.is_end_stream() && body.frame().await.is_none());
    }

    #[test]
    fn a_body_without_memory_is_refused_and_gives_everything_back() {
        let memory = MemoryBudget::new(300 << 10);
        assert!(written(&memory, 100).is_err());
        assert_eq!(memory.bytes(), 0);
        let mut whole = AnswerBody::from(Bytes::from(vec![0; 301 << 10]));
        assert!(whole.reserve(&memory).is_err());
        whole.reserve_beyond_limit(&memory);
        assert_eq!((memory.bytes(), whole.len()), (301 << 10, 301 << 10));
        drop(whole);
        assert_eq!(memory.bytes(), 0);
    }

    /// Escapes make JSON up to six times as long as stored rows.
    #[test]
    fn a_body_longer_than_expected_is_counted_as_it_is() {
        let memory = MemoryBudget::new(4 << 20);
        let mut writer = BodyWriter::new(&memory, 100).unwrap();
        writer.make_room(100).unwrap();
        writer.buffer().resize(1 << 20, 1);
        let body = writer.finish().unwrap();
        assert_eq!(body.len(), 1 << 20);
        assert!(memory.bytes() >= 1 << 20);
    }
}
