//! The bounds and times of the transport.

use std::time::Duration;

use partita_rt::threads::cores;

/// The bounds and times of the transport. All servers of a cluster have the same `streams_max`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The maximum number of requests under way on a connection. More are not sent.
    pub streams_max: u32,
    /// Connections to each peer for small requests. A connection is one task, so one for every two cores.
    pub small_connections: usize,
    /// The maximum number of connections that a server accepts.
    pub connections_max: usize,
    /// The maximum size of all request bodies under way to all peers, in bytes. More are not sent.
    pub forwarded_bytes_max: usize,
    /// The maximum size of the head of a message in bytes.
    pub head_bytes_max: usize,
    /// The time limit of connecting, up to the greeting; the server waits as long for the handshake.
    pub connect_timeout: Duration,
    /// A connection without requests is closed after this time.
    pub idle_timeout: Duration,
    /// The pause between two pings of a client while it waits for answers.
    pub ping_interval: Duration,
    /// A peer that does not answer a ping within this time is dead: its requests fail.
    pub ping_timeout: Duration,
    /// The pause between two pings of a server, and how long it waits for the answer.
    pub server_ping: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            streams_max: 1024,
            small_connections: (cores() / 2).max(1),
            connections_max: 4096,
            forwarded_bytes_max: 64 << 20,
            head_bytes_max: 256 << 10,
            connect_timeout: Duration::from_secs(1),
            idle_timeout: Duration::from_secs(60),
            // Together less than a second: a dead peer is found within one.
            ping_interval: Duration::from_millis(400),
            ping_timeout: Duration::from_millis(500),
            server_ping: Duration::from_secs(5),
        }
    }
}

/// How much of a request may be in flight before the server takes it: a whole batch.
pub(super) const REQUEST_WINDOW_BYTES: u32 = 4 << 20;

/// How much of an answer may be in flight before the client takes it. A small part of the connection's window, so that
/// clients of a front that read slowly do not stop the answers of others.
pub(super) const ANSWER_WINDOW_BYTES: u32 = 256 << 10;

/// How much of all messages of a connection may be in flight in one direction.
pub(super) const CONNECTION_WINDOW_BYTES: u32 = 32 << 20;

/// The largest frame: a page of 1 MiB has 16 frames.
pub(super) const FRAME_BYTES_MAX: u32 = 64 << 10;

/// The size of the buffer between socket and TLS, which asks for 4 KiB at a time.
pub(super) const READ_BUFFER_BYTES: usize = 64 << 10;
