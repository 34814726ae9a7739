//! Opens a connection to a peer.

use std::sync::Arc;

use bytes::Bytes;
use h2::client::{Builder, Connection, SendRequest};
use partita_rt::net::{Network, Stream};
use rustls::ClientConfig;
use rustls_pki_types::ServerName;
use tokio::io::BufReader;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::connect_error::{ConnectError, Target};
use super::gather::{Gathered, Outlet, gather};
use super::greeting::{Greeting, read_greeting};
use super::settings::{
    ANSWER_WINDOW_BYTES, CONNECTION_WINDOW_BYTES, FRAME_BYTES_MAX, READ_BUFFER_BYTES, Settings,
};

type Verified = TlsStream<BufReader<Stream>>;

/// A connection, which must be polled for its requests to progress. After each poll, the outlet passes on what it wrote.
pub(super) struct Driver {
    pub(super) connection: Connection<Gathered<Verified>, Bytes>,
    pub(super) outlet: Outlet<Verified>,
}

/// Connects to the peer.
pub(super) async fn connect(
    target: &Target,
    network: &dyn Network,
    tls: Arc<ClientConfig>,
    settings: &Settings,
) -> Result<(SendRequest<Bytes>, Driver), ConnectError> {
    let limit = settings.connect_timeout;
    timeout(limit, open(target, network, tls, settings))
        .await
        .unwrap_or_else(|_| Err(target.timed_out(limit)))
}

async fn open(
    target: &Target,
    network: &dyn Network,
    tls: Arc<ClientConfig>,
    settings: &Settings,
) -> Result<(SendRequest<Bytes>, Driver), ConnectError> {
    let address = &target.address;
    let stream = network.connect(address.host(), address.port()).await;
    let stream = stream.map_err(|error| target.unreachable(error))?;
    let stream = BufReader::with_capacity(READ_BUFFER_BYTES, stream);
    // TLS wants a name. It is not sent, and the verifier compares the name of the server in the cluster instead.
    let unused = ServerName::from(std::net::Ipv4Addr::UNSPECIFIED);
    let connected = TlsConnector::from(tls).connect(unused, stream).await;
    let mut stream = connected.map_err(|error| target.handshake(error))?;
    let greeting = read_greeting(&mut stream).await;
    match greeting.map_err(|error| target.handshake(error))? {
        Greeting::Same => {}
        Greeting::Version(theirs) => return Err(target.version(theirs)),
        Greeting::Other => {
            let other = std::io::Error::other("unknown greeting");
            return Err(target.not_a_peer(other));
        }
    }
    let (gathered, outlet) = gather(stream);
    let opened = Builder::new()
        .initial_window_size(ANSWER_WINDOW_BYTES)
        .initial_connection_window_size(CONNECTION_WINDOW_BYTES)
        .max_frame_size(FRAME_BYTES_MAX)
        // Before the server has said so itself: all servers have the same limit.
        .initial_max_send_streams(settings.streams_max as usize)
        .enable_push(false)
        .handshake(gathered)
        .await;
    let opened = opened.map_err(|error| target.not_a_peer(std::io::Error::other(error)));
    opened.map(|(sender, connection)| (sender, Driver { connection, outlet }))
}
