//! The front end: from a connection to an answer.
//!
//! ```text
//! connection ─▶ head ─▶ target ─▶ credentials ─▶ operation ─▶ body ─▶ service ─▶ reply
//! ```
//!
//! Here is what all storage protocols share: connections under watch, request heads and bodies, replies, CORS. A
//! [`Protocol`] answers a request; each has a folder of its own ([`table`]), where every operation has a file of its name.
//! `wire` reads and writes the protocol's text, the service's crate does the work, and HTTP joins them here.
//!
//! Invariants:
//! - nothing in a request is trusted before its credentials are verified;
//! - whatever a client does, it takes bounded memory and time;
//! - every answer, also an error, has a request id, and nothing internal.

mod accounts;
mod body;
mod busy;
mod connection;
mod cors;
mod listener;
mod progress;
mod protocol;
mod reply;
mod request_head;
pub mod table;
#[cfg(test)]
mod tests;

pub use accounts::{InvalidAccount, accounts};
use protocol::Protocol;
pub use protocol::{Front, FrontParts, InvalidSetting};
