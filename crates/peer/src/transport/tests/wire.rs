//! A network in memory, for tests in virtual time. Its connections can be frozen: they stay open, and nothing passes.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::{Context, Poll};

use partita_rt::net::{Answer, Listener, Network, Stream, simulated};
use tokio::io::{AsyncRead, AsyncWrite, DuplexStream, ReadBuf, duplex};
use tokio::sync::{Mutex, mpsc};

const BUFFER_BYTES: usize = 64 << 10;

/// A network in memory with one listener.
#[derive(Debug)]
pub(super) struct Wire {
    accepted: mpsc::Sender<Stream>,
    waiting: parking_lot::Mutex<Option<mpsc::Receiver<Stream>>>,
    pub(super) is_frozen: Arc<AtomicBool>,
    /// How many connections were opened, and how many ends of them are open.
    pub(super) opened: AtomicUsize,
    pub(super) open_ends: Arc<AtomicUsize>,
}

impl Default for Wire {
    fn default() -> Self {
        let (accepted, waiting) = mpsc::channel(16);
        Self {
            accepted,
            waiting: parking_lot::Mutex::new(Some(waiting)),
            is_frozen: Arc::default(),
            opened: AtomicUsize::new(0),
            open_ends: Arc::default(),
        }
    }
}

struct WireListener(Mutex<mpsc::Receiver<Stream>>);

/// One end of a connection.
#[derive(Debug)]
struct End {
    stream: DuplexStream,
    is_frozen: Arc<AtomicBool>,
    open_ends: Arc<AtomicUsize>,
}

impl Drop for End {
    fn drop(&mut self) {
        self.open_ends.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Wire {
    fn end(&self, stream: DuplexStream) -> Stream {
        self.open_ends.fetch_add(1, Ordering::Relaxed);
        simulated(End {
            stream,
            is_frozen: Arc::clone(&self.is_frozen),
            open_ends: Arc::clone(&self.open_ends),
        })
    }
}

impl Network for Wire {
    fn listen<'a>(&'a self, _: &'a str, _: u16) -> Answer<'a, Box<dyn Listener>> {
        Box::pin(async move {
            let waiting = self.waiting.lock().take().expect("one listener");
            Ok(Box::new(WireListener(Mutex::new(waiting))) as Box<dyn Listener>)
        })
    }

    fn connect<'a>(&'a self, _: &'a str, _: u16) -> Answer<'a, Stream> {
        Box::pin(async move {
            let (ours, theirs) = duplex(BUFFER_BYTES);
            self.opened.fetch_add(1, Ordering::Relaxed);
            let theirs = self.end(theirs);
            let accepted = self.accepted.send(theirs).await;
            accepted.map_err(|_| io::Error::from(io::ErrorKind::ConnectionRefused))?;
            Ok(self.end(ours))
        })
    }
}

impl Listener for WireListener {
    fn address(&self) -> io::Result<SocketAddr> {
        Ok((Ipv4Addr::LOCALHOST, 1).into())
    }

    #[allow(clippy::await_holding_invalid_type, reason = "only one task accepts")]
    fn accept(&self) -> Answer<'_, (Stream, SocketAddr)> {
        Box::pin(async move {
            let accepted = self.0.lock().await.recv().await;
            let stream = accepted.ok_or(io::ErrorKind::BrokenPipe)?;
            Ok((stream, self.address()?))
        })
    }
}

impl AsyncRead for End {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.is_frozen.load(Ordering::Relaxed) {
            return Poll::Pending;
        }
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for End {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        if self.is_frozen.load(Ordering::Relaxed) {
            return Poll::Pending;
        }
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
