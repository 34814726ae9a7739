//! What is known of a request besides what it says itself.

use partita_model::DateTime;
use std::net::IpAddr;

/// When, from where and how a request came.
#[derive(Debug, Clone, Copy)]
pub struct Caller {
    /// The server's time.
    pub now: DateTime,
    /// The client's address, `None` where there is no telling (a Unix socket): then an address range refuses.
    pub address: Option<IpAddr>,
    /// Whether the connection is encrypted.
    pub https: bool,
}
