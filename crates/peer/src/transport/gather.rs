//! Gathers the writes of HTTP/2.
//!
//! h2 keeps at most one frame of 256 bytes and more, and writes and flushes it before it takes the next one. So each
//! message would be a TLS record and a system call of its own, on both sides. [`Gathered`] keeps what h2 writes, and
//! [`Outlet`] passes it on once h2 has nothing more to write: messages that are ready together leave together.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::{Buf as _, BytesMut};
use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Writes of at least this size are not gathered: a copy would cost more than a write.
const LARGE_BYTES: usize = 16 << 10;

/// So much is kept. With more, the bytes are written first. It is what TLS takes at once.
const KEPT_BYTES_MAX: usize = 64 << 10;

/// With so many requests under way, a connection runs after the other ready tasks. With fewer, a turn of its own would only
/// delay them.
const MANY: usize = 4;

/// When a connection runs. The runtime runs it right after the first task that has written to it; what the other ready
/// tasks are about to write would then need a write of its own.
#[derive(Debug, Default)]
pub(super) struct Turn {
    has_waited: bool,
}

impl Turn {
    /// Whether the task is to return, so that the other ready tasks run first. It is woken at once.
    pub(super) fn waits(&mut self, under_way: usize, context: &Context<'_>) -> bool {
        let waits = !self.has_waited && under_way >= MANY;
        if waits {
            self.has_waited = true;
            context.waker().wake_by_ref();
        }
        waits
    }

    /// Ends the turn: the connection has nothing more to do.
    pub(super) fn end(&mut self) {
        self.has_waited = false;
    }
}

/// What h2 reads from and writes to.
pub(super) struct Gathered<S>(Arc<Mutex<Inner<S>>>);

/// Passes on what h2 has written. The task of the connection calls it whenever h2 has nothing to do.
pub(super) struct Outlet<S>(Arc<Mutex<Inner<S>>>);

struct Inner<S> {
    stream: S,
    kept: BytesMut,
    /// Whether the stream has bytes that it was not told to flush.
    is_dirty: bool,
    /// Why passing on failed. h2 learns it when it reads.
    failed: Option<io::Error>,
}

/// Gathers what is written to a stream.
pub(super) fn gather<S>(stream: S) -> (Gathered<S>, Outlet<S>) {
    let inner = Arc::new(Mutex::new(Inner {
        stream,
        kept: BytesMut::new(),
        is_dirty: false,
        failed: None,
    }));
    (Gathered(Arc::clone(&inner)), Outlet(inner))
}

impl<S: AsyncWrite + Unpin> Inner<S> {
    /// Writes what is kept.
    fn poll_write_kept(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        while !self.kept.is_empty() {
            let written = ready!(Pin::new(&mut self.stream).poll_write(context, &self.kept))?;
            if written == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.kept.advance(written);
            self.is_dirty = true;
        }
        Poll::Ready(Ok(()))
    }

    fn poll_pass_on(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_write_kept(context))?;
        if self.is_dirty {
            ready!(Pin::new(&mut self.stream).poll_flush(context))?;
            self.is_dirty = false;
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> Outlet<S> {
    /// Passes on what was gathered, as far as the peer takes it. The task is woken when it takes more.
    pub(super) fn pass_on(&self, context: &mut Context<'_>) {
        let mut inner = self.0.lock();
        if let Poll::Ready(Err(error)) = inner.poll_pass_on(context) {
            inner.kept.clear();
            inner.failed = Some(error);
            context.waker().wake_by_ref();
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Gathered<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let mut inner = self.0.lock();
        match inner.failed.take() {
            Some(error) => Poll::Ready(Err(error)),
            None => Pin::new(&mut inner.stream).poll_read(context, buffer),
        }
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Gathered<S> {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.poll_write_vectored(context, &[IoSlice::new(bytes)])
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let inner = &mut *self.0.lock();
        let len: usize = pieces.iter().map(|piece| piece.len()).sum();
        if len >= LARGE_BYTES || inner.kept.len() + len > KEPT_BYTES_MAX {
            ready!(inner.poll_write_kept(context))?;
        }
        if len >= LARGE_BYTES {
            inner.is_dirty = true;
            return Pin::new(&mut inner.stream).poll_write_vectored(context, pieces);
        }
        for piece in pieces {
            inner.kept.extend_from_slice(piece);
        }
        Poll::Ready(Ok(len))
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    /// Does nothing: the outlet flushes.
    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut inner = self.0.lock();
        ready!(inner.poll_pass_on(context))?;
        Pin::new(&mut inner.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::task::Waker;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    #[test]
    fn a_connection_with_many_requests_waits_once_a_turn() {
        let context = Context::from_waker(Waker::noop());
        let mut turn = Turn::default();
        assert!(!turn.waits(MANY - 1, &context));
        for _ in 0..2 {
            assert!(turn.waits(MANY, &context));
            assert!(!turn.waits(MANY, &context));
            turn.end();
        }
    }

    /// A stream that counts writes and flushes, and takes `room` bytes.
    #[derive(Default)]
    struct Counted {
        written: Vec<u8>,
        writes: u32,
        flushes: u32,
        room: usize,
    }

    impl AsyncWrite for Counted {
        fn poll_write(
            mut self: Pin<&mut Self>,
            _: &mut Context<'_>,
            bytes: &[u8],
        ) -> Poll<io::Result<usize>> {
            let taken = bytes.len().min(self.room);
            if taken == 0 {
                return Poll::Pending;
            }
            self.room -= taken;
            self.writes += 1;
            self.written.extend_from_slice(&bytes[..taken]);
            Poll::Ready(Ok(taken))
        }

        fn poll_flush(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            self.flushes += 1;
            Poll::Ready(Ok(()))
        }

        fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }
    }

    fn counted(room: usize) -> (Gathered<Counted>, Outlet<Counted>) {
        gather(Counted {
            room,
            ..Counted::default()
        })
    }

    fn write(gathered: &mut Gathered<Counted>, bytes: &[u8]) -> Poll<usize> {
        let mut context = Context::from_waker(Waker::noop());
        let written = Pin::new(&mut *gathered).poll_write(&mut context, bytes);
        assert!(Pin::new(gathered).poll_flush(&mut context).is_ready());
        written.map(Result::unwrap)
    }

    #[test]
    fn small_writes_leave_together_and_in_order() {
        let (mut gathered, outlet) = counted(usize::MAX);
        for byte in 0..10 {
            assert_eq!(write(&mut gathered, &[byte; 300]), Poll::Ready(300));
        }
        assert_eq!(outlet.0.lock().stream.writes, 0);
        outlet.pass_on(&mut Context::from_waker(Waker::noop()));
        outlet.pass_on(&mut Context::from_waker(Waker::noop()));
        let inner = outlet.0.lock();
        assert_eq!((inner.stream.writes, inner.stream.flushes), (1, 1));
        let expected: Vec<u8> = (0..10).flat_map(|byte| [byte; 300]).collect();
        assert_eq!(inner.stream.written, expected);
    }

    #[test]
    fn a_large_write_follows_what_was_kept() {
        let (mut gathered, outlet) = counted(usize::MAX);
        assert_eq!(write(&mut gathered, &[1; 10]), Poll::Ready(10));
        assert_eq!(
            write(&mut gathered, &[2; LARGE_BYTES]),
            Poll::Ready(LARGE_BYTES)
        );
        outlet.pass_on(&mut Context::from_waker(Waker::noop()));
        let inner = outlet.0.lock();
        assert_eq!((inner.stream.writes, inner.stream.flushes), (2, 1));
        let expected = [vec![1; 10], vec![2; LARGE_BYTES]].concat();
        assert_eq!(inner.stream.written, expected);
    }

    #[test]
    fn a_peer_that_takes_nothing_stops_the_writer() {
        let (mut gathered, outlet) = counted(100);
        let mut kept = 0;
        while write(&mut gathered, &[3; 1_000]).is_ready() {
            kept += 1_000;
        }
        assert!(
            (KEPT_BYTES_MAX - 1_000..=KEPT_BYTES_MAX).contains(&kept),
            "{kept}"
        );
        outlet.0.lock().stream.room = usize::MAX;
        outlet.pass_on(&mut Context::from_waker(Waker::noop()));
        assert_eq!(outlet.0.lock().stream.written, vec![3; kept]);
    }

    #[tokio::test]
    async fn a_failure_reaches_the_reader() {
        let (near, far) = tokio::io::duplex(64);
        drop(far);
        let (mut gathered, outlet) = gather(near);
        gathered.write_all(b"lost").await.unwrap();
        outlet.pass_on(&mut Context::from_waker(Waker::noop()));
        let failed = gathered.read_u8().await.unwrap_err();
        assert_eq!(failed.kind(), io::ErrorKind::BrokenPipe);
    }

    #[tokio::test]
    async fn the_end_of_the_stream_passes_on_what_was_kept() {
        let (near, mut far) = tokio::io::duplex(64);
        let (mut gathered, _outlet) = gather(near);
        gathered.write_all(b"last").await.unwrap();
        gathered.shutdown().await.unwrap();
        let mut received = Vec::new();
        far.read_to_end(&mut received).await.unwrap();
        assert_eq!(received, b"last");
    }
}
