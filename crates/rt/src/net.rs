//! The network: listeners and connections, real or simulated.
//!
//! A server takes its listeners and its connections to peers from a [`Network`]. [`MachineNetwork`] opens TCP sockets. A simulation implements the
//! traits itself and makes its connections with [`simulated`].

use std::fmt::Debug;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio_util::either::Either;

/// The future that an operation of the network returns.
pub type Answer<'a, T> = Pin<Box<dyn Future<Output = io::Result<T>> + Send + 'a>>;

/// Opens listeners and connections.
pub trait Network: Debug + Send + Sync + 'static {
    /// Listens on a port of `host`, an address or a name; port 0 picks a free port.
    fn listen<'a>(&'a self, host: &'a str, port: u16) -> Answer<'a, Box<dyn Listener>>;

    /// Connects to a port of `host`, an address or a name. Has no time limit of its own: drop the future to give up.
    fn connect<'a>(&'a self, host: &'a str, port: u16) -> Answer<'a, Stream>;
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

/// Waits until a connection has bytes to read, or has ended; a simulated connection counts as ready. Takes no bytes, so
/// a silent connection needs no buffer. Cancel safe.
///
/// # Errors
/// Those of the operating system.
pub async fn readable(stream: &mut Stream) -> io::Result<()> {
    match stream {
        // Does not use tokio's `readable`, which may return although there is nothing to read.
        Either::Left(stream) => stream.peek(&mut [0]).await.map(drop),
        Either::Right(_) => Ok(()),
    }
}

/// The length of the queue of connections that wait to be accepted. When it is full, the system drops the client's
/// packets, and the client tries again after a second. The standard library's length of 128 is too short for a burst of
/// clients; Linux allows 4096 (`net.core.somaxconn`).
const WAITING_MAX: u32 = 4096;

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
            let mut failed = io::Error::new(io::ErrorKind::NotFound, "the host has no address");
            for address in tokio::net::lookup_host((host, port)).await? {
                match listen_at(address) {
                    Ok(listener) => return Ok(Box::new(listener) as Box<dyn Listener>),
                    Err(error) => failed = error,
                }
            }
            Err(failed)
        })
    }

    #[allow(
        clippy::disallowed_methods,
        reason = "the only place that opens real sockets"
    )]
    fn connect<'a>(&'a self, host: &'a str, port: u16) -> Answer<'a, Stream> {
        Box::pin(async move {
            let stream = TcpStream::connect((host, port)).await?;
            send_at_once(&stream);
            Ok(Either::Left(stream))
        })
    }
}

/// Each write is a whole request or response, so Nagle's algorithm would only delay it.
fn send_at_once(stream: &TcpStream) {
    let _ = stream.set_nodelay(true);
}

/// Connects to a port of `host`, an address or a name: tries each address of the name. Not simulated, so only for parts
/// that a simulation replaces. Cancel safe.
///
/// # Errors
/// Those of the operating system, for the last address.
#[allow(
    clippy::disallowed_methods,
    reason = "the only place that opens real connections"
)]
pub async fn connect(host: &str, port: u16) -> io::Result<TcpStream> {
    let stream = TcpStream::connect((host, port)).await?;
    // Small messages, each of which the peer waits for.
    stream.set_nodelay(true)?;
    Ok(stream)
}

fn listen_at(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = match address {
        SocketAddr::V4(_) => TcpSocket::new_v4()?,
        SocketAddr::V6(_) => TcpSocket::new_v6()?,
    };
    // A restarted server can listen although connections of its previous process are still closing.
    #[cfg(unix)]
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(WAITING_MAX)
}

impl Listener for TcpListener {
    fn address(&self) -> io::Result<SocketAddr> {
        self.local_addr()
    }

    fn accept(&self) -> Answer<'_, (Stream, SocketAddr)> {
        Box::pin(async move {
            let (stream, peer) = Self::accept(self).await?;
            send_at_once(&stream);
            Ok((Either::Left(stream), peer))
        })
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::task::Poll;
    use std::time::Duration;

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

    /// A connection to a listener on this host: the accepted stream, its peer, and the client's side.
    #[allow(clippy::disallowed_methods, reason = "the client side of the test")]
    async fn connected(host: &str) -> (Stream, SocketAddr, TcpStream) {
        let listener = MachineNetwork.listen(host, 0).await.unwrap();
        let address = listener.address().unwrap();
        let (accepted, client) = tokio::join!(listener.accept(), TcpStream::connect(address));
        let (stream, peer) = accepted.unwrap();
        (stream, peer, client.unwrap())
    }

    #[tokio::test]
    async fn a_real_connection_carries_bytes_and_end_of_stream() {
        let (stream, peer, client) = connected("127.0.0.1").await;
        assert_eq!(client.local_addr().unwrap(), peer);
        echoes(stream, client).await;
    }

    #[tokio::test]
    async fn a_connection_is_opened_and_accepted() {
        let listener = MachineNetwork.listen("127.0.0.1", 0).await.unwrap();
        let port = listener.address().unwrap().port();
        let connecting = MachineNetwork.connect("127.0.0.1", port);
        let (accepted, client) = tokio::join!(listener.accept(), connecting);
        echoes(accepted.unwrap().0, client.unwrap()).await;
        drop(listener);
        let refused = MachineNetwork.connect("127.0.0.1", port).await.unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::ConnectionRefused);
    }

    #[tokio::test]
    async fn a_silent_connection_is_not_readable_until_its_first_byte() {
        let (mut stream, _, mut client) = connected("localhost").await;
        {
            let mut waiting = std::pin::pin!(readable(&mut stream));
            let is_waiting =
                poll_fn(|context| Poll::Ready(waiting.as_mut().poll(context).is_pending()));
            assert!(is_waiting.await);
            client.write_all(b"ping").await.unwrap();
            waiting.await.unwrap();
        }
        let mut bytes = [0; 4];
        stream.read_exact(&mut bytes).await.unwrap();
        assert_eq!(&bytes, b"ping");
    }

    #[tokio::test]
    async fn connect_finds_a_listener_by_name() {
        let listener = MachineNetwork.listen("127.0.0.1", 0).await.unwrap();
        let port = listener.address().unwrap().port();
        let (accepted, client) = tokio::join!(listener.accept(), connect("localhost", port));
        echoes(accepted.unwrap().0, client.unwrap()).await;
    }

    /// With the standard library's queue of 128 connections, each further client would wait for a second.
    #[tokio::test]
    #[allow(clippy::disallowed_methods, reason = "the client side of the test")]
    async fn hundreds_of_clients_can_wait_to_be_accepted() {
        let listener = MachineNetwork.listen("127.0.0.1", 0).await.unwrap();
        let address = listener.address().unwrap();
        let mut clients = Vec::new();
        for _ in 0..400 {
            let connecting = TcpStream::connect(address);
            let connected = tokio::time::timeout(Duration::from_millis(800), connecting).await;
            clients.push(connected.expect("the queue is full").unwrap());
        }
    }

    #[tokio::test]
    async fn a_simulated_connection_carries_bytes_and_end_of_stream() {
        let (stream, client) = tokio::io::duplex(16);
        echoes(simulated(stream), client).await;
    }
}
