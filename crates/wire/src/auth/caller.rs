//! The facts about a request that the checks of credentials use: time, address and encryption.

use partita_model::DateTime;
use std::net::IpAddr;

/// When, from which address and how a request arrived.
#[derive(Debug, Clone, Copy)]
pub struct Caller {
    /// The server's time.
    pub now: DateTime,
    /// The client's address; `None` if unknown (a Unix socket). No address range permits an unknown address.
    pub address: Option<IpAddr>,
    /// Whether the connection is encrypted.
    pub https: bool,
}
