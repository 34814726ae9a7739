//! The front end: from a connection to an answer.
//!
//! ```text
//! connection ─▶ head ─▶ target ─▶ credentials ─▶ operation ─▶ body ─▶ service ─▶ reply
//! ```
//!
//! This module holds the parts that all storage protocols share: listeners, request heads and bodies, replies, CORS. A
//! [`Protocol`] answers a request; each protocol has a folder ([`table`]), in which every operation has a file of its
//! name. `wire` reads and writes the protocol's text, and the service's crate performs the operation.
//!
//! Invariants:
//! - nothing in a request is trusted before its credentials are verified;
//! - a client uses bounded memory and time, also a hostile one;
//! - every answer has a request id, errors too, and shows no internal detail.

mod accounts;
mod answer_body;
mod body;
mod busy;
mod cors;
#[cfg(test)]
mod head_tests;
mod listener;
mod protocol;
mod reply;
mod request_head;
#[cfg(test)]
mod stall_tests;
pub mod table;
#[cfg(test)]
mod tests;

pub use accounts::{InvalidAccount, accounts};
use protocol::Protocol;
pub use protocol::{Front, FrontParts, InvalidSetting};
