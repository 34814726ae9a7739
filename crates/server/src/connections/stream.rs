//! A stream that reports its progress, and that discards what a client still sends after a refusal.

use super::progress::{Phase, Progress};
use bytes::Bytes;
use partita_service::{Busy, MemoryBudget, Reserved, UNCOUNTED_BYTES};
use std::future::poll_fn;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// The maximum number of bytes to discard: most bodies that are too large exceed the limit only a little.
const DISCARDED_MAX: usize = 16 << 20;

/// Bytes read at once while the memory budget has no room for a larger buffer.
const SHORT_READ_BYTES: usize = 8 << 10;

/// A stream that reports its progress, and that counts the buffers of a connection that reads much.
pub(super) struct WatchedStream<S> {
    inner: S,
    progress: Arc<Progress>,
    memory: Arc<MemoryBudget>,
    /// Received bytes that the next reads return.
    unread: Bytes,
    /// Bytes received so far of the head that is being received.
    head_bytes: usize,
    /// Size of the buffer that the head was read into. Its headers keep the buffer until the answer.
    head_buffer: usize,
    /// The memory of the buffers that hyper reads into.
    buffers: Reserved,
    is_shut_down: bool,
    discarded: usize,
}

impl<S> WatchedStream<S> {
    pub(super) fn new(inner: S, progress: Arc<Progress>, memory: Arc<MemoryBudget>) -> Self {
        Self {
            inner,
            progress,
            memory,
            unread: Bytes::new(),
            head_bytes: 0,
            head_buffer: 0,
            buffers: Reserved::default(),
            is_shut_down: false,
            discarded: 0,
        }
    }

    /// Makes the next reads return these bytes, which were received before. hyper's buffers are gone.
    pub(super) fn put_back(&mut self, unread: &[u8]) {
        self.unread = Bytes::copy_from_slice(unread);
        self.head_buffer = 0;
        self.buffers = Reserved::default();
    }

    /// The number of bytes to read into a buffer with this room. hyper doubles its buffer whenever a read fills it, and
    /// keeps it. So a larger buffer is counted before it is filled; without memory for it, it is filled only in part.
    ///
    /// # Errors
    /// [`Busy`] for a long head without memory: it needs a larger buffer.
    fn read_limit(&mut self, room: usize) -> Result<usize, Busy> {
        let phase = self.progress.state().phase();
        let held = match phase {
            Phase::New | Phase::Idle => room,
            Phase::Head => self.head_bytes + room,
            _ => self.head_buffer + room,
        };
        if matches!(phase, Phase::New | Phase::Idle | Phase::Head) {
            self.head_buffer = held;
        }
        if held <= UNCOUNTED_BYTES {
            return Ok(room);
        }
        match self.buffers.grow_to(&self.memory, held) {
            Ok(()) => Ok(room),
            Err(busy) if phase == Phase::Head && self.head_bytes > UNCOUNTED_BYTES => Err(busy),
            Err(_) => Ok(room.min(SHORT_READ_BYTES)),
        }
    }

    fn received(&mut self, bytes: usize) {
        self.head_bytes = match self.progress.state().phase() {
            Phase::Head => self.head_bytes + bytes,
            _ => bytes,
        };
        self.progress.read_bytes(bytes);
    }

    fn wrote(&mut self, polled: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        match polled {
            Poll::Ready(Ok(bytes)) => self.progress.wrote_bytes(bytes),
            Poll::Ready(Err(_)) => {}
            Poll::Pending => self.progress.has_to_write(),
        }
        polled
    }
}

impl<S: AsyncRead + Unpin> WatchedStream<S> {
    /// Waits until there is something to read: bytes, the end, or an error. Needs no buffer: it takes a single byte,
    /// which the next read returns. Cancel safe.
    pub(super) async fn readable(&mut self) {
        if !self.unread.is_empty() {
            return;
        }
        poll_fn(|cx| {
            let mut byte = [0];
            let mut buffer = ReadBuf::new(&mut byte);
            // The next read meets the end or the error again.
            let _ = ready!(Pin::new(&mut *self).poll_read(cx, &mut buffer));
            self.unread = Bytes::copy_from_slice(buffer.filled());
            Poll::Ready(())
        })
        .await;
    }

    /// Reads and drops what the client sends, until it closes its side. If the server closed the connection while bytes
    /// arrive, the client would get a reset instead of the answer.
    fn poll_discard(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let mut bytes = [0; 8 << 10];
        while self.discarded < DISCARDED_MAX {
            let mut buffer = ReadBuf::new(&mut bytes);
            let polled = ready!(Pin::new(&mut self.inner).poll_read(cx, &mut buffer));
            let read = buffer.filled().len();
            if polled.is_err() || read == 0 {
                break;
            }
            self.discarded += read;
        }
        Poll::Ready(())
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for WatchedStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if !self.unread.is_empty() {
            let count = self.unread.len().min(buffer.remaining());
            buffer.put_slice(&self.unread.split_to(count));
            return Poll::Ready(Ok(()));
        }
        let limit = self.read_limit(buffer.remaining());
        let limit = limit.map_err(|busy| io::Error::new(io::ErrorKind::OutOfMemory, busy))?;
        let before = buffer.filled().len();
        let polled = if limit == buffer.remaining() {
            Pin::new(&mut self.inner).poll_read(cx, buffer)
        } else {
            let mut part = ReadBuf::new(buffer.initialize_unfilled_to(limit));
            let polled = Pin::new(&mut self.inner).poll_read(cx, &mut part);
            let read = part.filled().len();
            buffer.advance(read);
            polled
        };
        let read = buffer.filled().len() - before;
        if read > 0 {
            self.received(read);
        }
        polled
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for WatchedStream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.inner).poll_write(cx, bytes);
        self.wrote(polled)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.inner).poll_write_vectored(cx, bytes);
        self.wrote(polled)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let polled = Pin::new(&mut self.inner).poll_flush(cx);
        if let Poll::Ready(Ok(())) = polled {
            self.progress.flushed();
        }
        polled
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if !self.is_shut_down {
            ready!(Pin::new(&mut self.inner).poll_shutdown(cx))?;
            self.is_shut_down = true;
            if self.progress.lingers() {
                self.progress.enter(Phase::Linger);
            }
        }
        if self.progress.lingers() {
            ready!(self.poll_discard(cx));
        }
        Poll::Ready(Ok(()))
    }
}
