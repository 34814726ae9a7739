//! The network: listeners and connections, real or simulated.
//!
//! A server takes its listeners from a [`Network`]. [`MachineNetwork`] opens TCP sockets. A simulation implements the traits itself and
//! makes its connections with [`simulated`].

use std::fmt::Debug;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::either::Either;

/// The future of an operation of the network.
pub type Answer<'a, T> = Pin<Box<dyn Future<Output = io::Result<T>> + Send + 'a>>;

/// Opens listeners.
pub trait Network: Debug + Send + Sync + 'static {
    /// Listens on a port of `host`, an address or a name; port 0 picks a free port.
    fn listen<'a>(&'a self, host: &'a str, port: u16) -> Answer<'a, Box<dyn Listener>>;
}

/// Accepts connections.
pub trait Listener: Send + Sync + 'static {
    /// The local address of the listener.
    ///
    /// # Errors
    /// Those of the operating system.
    fn address(&self) -> io::Result<SocketAddr>;

    /// Waits for the next connection, and returns it with the peer address. Cancel safe.
    fn accept(&self) -> Answer<'_, (Stream, SocketAddr)>;
}

/// A connection made by a simulation.
pub trait SimulatedStream: AsyncRead + AsyncWrite + Debug + Send + Unpin + 'static {}

impl<S: AsyncRead + AsyncWrite + Debug + Send + Unpin + 'static> SimulatedStream for S {}

/// A connection: real or simulated.
pub type Stream = Either<TcpStream, Box<dyn SimulatedStream>>;

/// Wraps a simulated connection.
#[must_use]
pub fn simulated(stream: impl SimulatedStream) -> Stream {
    Either::Right(Box::new(stream))
}

/// The machine's network.
#[derive(Clone, Copy, Debug, Default)]
pub struct MachineNetwork;

impl Network for MachineNetwork {
    #[allow(
        clippy::disallowed_methods,
        reason = "the only place that opens real sockets"
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
            // Each write is a whole response: Nagle's algorithm would only delay it.
            let _ = stream.set_nodelay(true);
            Ok((Either::Left(stream), peer))
        })
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
        let sending = async {
            client.write_all(b"ping").await.unwrap();
            let mut answer = Vec::new();
            client.read_to_end(&mut answer).await.unwrap();
            answer
        };
        let ((), answer) = tokio::join!(echoing, sending);
        assert_eq!(answer, b"ping");
    }

    #[tokio::test]
    #[allow(clippy::disallowed_methods, reason = "the client side of the test")]
    async fn a_real_connection_carries_bytes_and_end_of_stream() {
        let listener = MachineNetwork.listen("127.0.0.1", 0).await.unwrap();
        let address = listener.address().unwrap();
        let (accepted, client) = tokio::join!(listener.accept(), TcpStream::connect(address));
        let (stream, peer) = accepted.unwrap();
        let client = client.unwrap();
        assert_eq!(client.local_addr().unwrap(), peer);
        echoes(stream, client).await;
    }

    #[tokio::test]
    async fn a_simulated_connection_carries_bytes_and_end_of_stream() {
        let (stream, client) = tokio::io::duplex(16);
        echoes(simulated(stream), client).await;
    }
}
