//! Requests and answers over HTTP/2 streams between servers.
//!
//! ```text
//!  TCP ─▶ TLS 1.3, both verified ─▶ greeting: protocol and version ─▶ HTTP/2: a stream for each request
//!  a message on a stream: length of the head, head, body
//! ```
//!
//! The server greets after it has verified the client. So a client that has read the greeting knows that nothing of the
//! handshake can fail any more, and every earlier failure is a failure to connect.
//!
//! HTTP/2 gives streams, flow control, and the means to say what was not processed: a GOAWAY with the last stream, or a
//! stream that is refused. Method, path, status and headers of a message are in its head as bytes, not in HTTP/2
//! headers: their compression would cost more than everything else, and HTTP/2 does not keep the case of names.
//!
//! - [`Server`] accepts; [`Handler`] answers. A request whose client gives up is dropped.
//! - [`Peers`] has a [`Peer`] for each server: connections for small requests, and one for bulk.

mod address;
mod body;
mod connect;
mod connect_error;
mod framing;
mod gather;
mod greeting;
mod heartbeat;
mod link;
mod peer;
mod peers;
mod send_error;
mod serve;
mod server;
mod settings;
#[cfg(test)]
mod tests;

pub use address::{Address, InvalidAddress};
pub use body::{Body, BodyError};
pub use connect_error::ConnectError;
pub use peer::{Answer, Class, Peer};
pub use peers::Peers;
pub use send_error::{NotProcessed, SendError, Unknown};
pub use serve::{Handler, Outcome, Received, Refuse, Reply};
pub use server::Server;
pub use settings::Settings;
