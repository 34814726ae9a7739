//! What the server knows of a request besides its text.

use partita_model::DateTime;
use std::net::IpAddr;

/// When, from where and how a request arrived.
#[derive(Debug, Clone, Copy)]
pub struct Caller {
    /// The server's time.
    pub now: DateTime,
    /// The client's address; `None` where it is unknown (a Unix socket), which no address range permits.
    pub address: Option<IpAddr>,
    /// Whether the connection is encrypted.
    pub https: bool,
}
