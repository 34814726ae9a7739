//! The network: listeners and connections, of the machine or of a simulation.
//!
//! A server takes its listeners from a [`Network`]. [`MachineNetwork`] opens TCP sockets. A simulation gives listeners of its own,
//! whose connections are [`Stream::simulated`].

use std::fmt::Debug;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};

/// An answer that is awaited.
pub type Answer<'a, T> = Pin<Box<dyn Future<Output = io::Result<T>> + Send + 'a>>;

/// Gives listeners.
pub trait Network: Debug + Send + Sync + 'static {
    /// Listens on a port of a host's address or name; port 0 picks a free one.
    fn listen<'a>(&'a self, host: &'a str, port: u16) -> Answer<'a, Box<dyn Listener>>;
}

/// Takes connections.
pub trait Listener: Send + Sync + 'static {
    /// Where it listens.
    ///
    /// # Errors
    /// What the system says.
    fn address(&self) -> io::Result<SocketAddr>;

    /// Waits for the next connection, and says who made it. Cancel safe.
    fn accept(&self) -> Answer<'_, (Stream, SocketAddr)>;
}

/// A connection that a simulation makes.
pub trait SimulatedStream: AsyncRead + AsyncWrite + Debug + Send + Unpin + 'static {}

impl<S: AsyncRead + AsyncWrite + Debug + Send + Unpin + 'static> SimulatedStream for S {}

/// A connection.
#[derive(Debug)]
pub struct Stream(Kind);

#[derive(Debug)]
enum Kind {
    Tcp(TcpStream),
    Simulated(Box<dyn SimulatedStream>),
}

impl Stream {
    /// A connection of a simulation.
    #[must_use]
    pub fn simulated(stream: impl SimulatedStream) -> Self {
        Self(Kind::Simulated(Box::new(stream)))
    }
}

/// The machine's network.
#[derive(Clone, Copy, Debug, Default)]
pub struct MachineNetwork;

impl Network for MachineNetwork {
    #[allow(
        clippy::disallowed_methods,
        reason = "this is the door to the machine's network"
    )]
    fn listen<'a>(&'a self, host: &'a str, port: u16) -> Answer<'a, Box<dyn Listener>> {
        Box::pin(async move {
            let listener = TcpListener::bind((host, port)).await?;
            Ok(Box::new(listener) as Box<dyn Listener>)
        })
    }
}

impl Listener for TcpListener {
    fn address(&self) -> io::Result<SocketAddr> {
        self.local_addr()
    }

    fn accept(&self) -> Answer<'_, (Stream, SocketAddr)> {
        Box::pin(async move {
            let (stream, peer) = Self::accept(self).await?;
            // What is written is whole; waiting for more would only delay it.
            let _ = stream.set_nodelay(true);
            Ok((Stream(Kind::Tcp(stream)), peer))
        })
    }
}

impl AsyncRead for Stream {
    #[inline]
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match &mut self.0 {
            Kind::Tcp(stream) => Pin::new(stream).poll_read(context, buffer),
            Kind::Simulated(stream) => Pin::new(stream).poll_read(context, buffer),
        }
    }
}

impl AsyncWrite for Stream {
    #[inline]
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match &mut self.0 {
            Kind::Tcp(stream) => Pin::new(stream).poll_write(context, bytes),
            Kind::Simulated(stream) => Pin::new(stream).poll_write(context, bytes),
        }
    }

    #[inline]
    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match &mut self.0 {
            Kind::Tcp(stream) => Pin::new(stream).poll_write_vectored(context, pieces),
            Kind::Simulated(stream) => Pin::new(stream).poll_write_vectored(context, pieces),
        }
    }

    #[inline]
    fn is_write_vectored(&self) -> bool {
        match &self.0 {
            Kind::Tcp(stream) => stream.is_write_vectored(),
            Kind::Simulated(stream) => stream.is_write_vectored(),
        }
    }

    #[inline]
    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.0 {
            Kind::Tcp(stream) => Pin::new(stream).poll_flush(context),
            Kind::Simulated(stream) => Pin::new(stream).poll_flush(context),
        }
    }

    #[inline]
    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.0 {
            Kind::Tcp(stream) => Pin::new(stream).poll_shutdown(context),
            Kind::Simulated(stream) => Pin::new(stream).poll_shutdown(context),
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;

    async fn echoes(mut stream: Stream, mut client: impl AsyncRead + AsyncWrite + Unpin) {
        let echoing = async {
            let mut bytes = [0; 4];
            stream.read_exact(&mut bytes).await.unwrap();
            stream.write_all(&bytes).await.unwrap();
            stream.shutdown().await.unwrap();
        };
        let asking = async {
            client.write_all(b"ping").await.unwrap();
            let mut answer = Vec::new();
            client.read_to_end(&mut answer).await.unwrap();
            answer
        };
        let ((), answer) = tokio::join!(echoing, asking);
        assert_eq!(answer, b"ping");
    }

    #[tokio::test]
    #[allow(clippy::disallowed_methods, reason = "the other end of the door")]
    async fn a_connection_of_the_machine_carries_bytes_and_its_end() {
        let listener = MachineNetwork.listen("127.0.0.1", 0).await.unwrap();
        let address = listener.address().unwrap();
        let (accepted, client) = tokio::join!(listener.accept(), TcpStream::connect(address));
        let (stream, peer) = accepted.unwrap();
        let client = client.unwrap();
        assert_eq!(client.local_addr().unwrap(), peer);
        echoes(stream, client).await;
    }

    #[tokio::test]
    async fn a_simulated_connection_carries_bytes_and_its_end() {
        let (stream, client) = tokio::io::duplex(16);
        echoes(Stream::simulated(stream), client).await;
    }
}
