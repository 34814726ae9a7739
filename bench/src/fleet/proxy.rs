//! A TCP proxy that delays each direction of its connections, as a distance does: it limits neither the throughput nor
//! the number of connections.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};

/// Pieces that one direction of a connection may have under way. With [`PIECE_BYTES`] and a delay of 5 ms, this is more
/// than a machine can send.
const PIECES_MAX: usize = 1_024;

/// Maximum size of a piece, in bytes.
const PIECE_BYTES: usize = 64 * 1_024;

/// Proxies of one or more servers; they end when this is dropped.
#[derive(Debug)]
pub(super) struct DelayProxy {
    runtime: Runtime,
    /// The delay of each direction.
    delay: Duration,
}

/// A piece of a stream, and when it arrives.
struct Piece {
    bytes: Vec<u8>,
    arrives: Instant,
}

impl DelayProxy {
    /// A proxy with this round trip.
    pub(super) fn new(round_trip: Duration) -> anyhow::Result<Self> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()?;
        Ok(Self {
            runtime,
            delay: round_trip / 2,
        })
    }

    /// Forwards the connections of a new port to a server. Returns the address of the port.
    pub(super) fn forward(&self, server: SocketAddr) -> anyhow::Result<SocketAddr> {
        let listener = self.runtime.block_on(TcpListener::bind("127.0.0.1:0"))?;
        let (addr, delay) = (listener.local_addr()?, self.delay);
        // The runtime owns the task, and ends it when it is dropped.
        drop(self.runtime.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((client, _)) = listener.accept().await {
                connections.spawn(connection(client, server, delay));
                while connections.try_join_next().is_some() {}
            }
        }));
        Ok(addr)
    }
}

/// Forwards a connection until both sides have closed it.
async fn connection(client: TcpStream, server: SocketAddr, delay: Duration) {
    let Ok(server) = TcpStream::connect(server).await else {
        return;
    };
    if client
        .set_nodelay(true)
        .and(server.set_nodelay(true))
        .is_err()
    {
        return;
    }
    let (from_client, to_client) = client.into_split();
    let (from_server, to_server) = server.into_split();
    tokio::join!(
        direction(from_client, to_server, delay),
        direction(from_server, to_client, delay)
    );
}

/// Forwards one direction: reads at once, and writes each piece when it arrives.
async fn direction(from: OwnedReadHalf, mut to: OwnedWriteHalf, delay: Duration) {
    let (sender, mut pieces) = mpsc::channel::<Piece>(PIECES_MAX);
    let writing = async move {
        while let Some(piece) = pieces.recv().await {
            sleep_until(piece.arrives).await;
            if to.write_all(&piece.bytes).await.is_err() {
                return;
            }
        }
        // A failure means that the other side has closed the connection.
        let _ = to.shutdown().await;
    };
    tokio::join!(read(from, sender, delay), writing);
}

async fn read(mut from: OwnedReadHalf, pieces: mpsc::Sender<Piece>, delay: Duration) {
    let mut buffer = vec![0; PIECE_BYTES];
    while let Ok(count @ 1..) = from.read(&mut buffer).await {
        let piece = Piece {
            bytes: buffer.get(..count).unwrap_or_default().to_vec(),
            arrives: Instant::now() + delay,
        };
        if pieces.send(piece).await.is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn delays_a_round_trip_but_not_what_follows() {
        let server = TcpListener::bind("127.0.0.1:0").unwrap();
        let proxy = DelayProxy::new(Duration::from_millis(60)).unwrap();
        let addr = proxy.forward(server.local_addr().unwrap()).unwrap();
        let mut client = std::net::TcpStream::connect(addr).unwrap();
        let (mut accepted, _) = server.accept().unwrap();
        let echo = std::thread::spawn(move || {
            std::io::copy(&mut accepted.try_clone().unwrap(), &mut accepted)
        });
        // Four megabytes are many pieces, of which none waits for the one before.
        let sent = vec![7; 4 << 20];
        let begun = std::time::Instant::now();
        let mut writer = client.try_clone().unwrap();
        let bytes = sent.clone();
        let writing = std::thread::spawn(move || {
            writer.write_all(&bytes).unwrap();
            writer.shutdown(std::net::Shutdown::Write).unwrap();
        });
        let mut first = [0];
        client.read_exact(&mut first).unwrap();
        assert!(begun.elapsed() >= Duration::from_millis(60));
        let mut rest = Vec::new();
        client.read_to_end(&mut rest).unwrap();
        assert_eq!(rest.len() + 1, sent.len());
        writing.join().unwrap();
        echo.join().unwrap().unwrap();
    }
}
