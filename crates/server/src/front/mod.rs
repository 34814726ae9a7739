//! The front end: from a connection to an answer.
//!
//! ```text
//! connection ─▶ head ─▶ target ─▶ credentials ─▶ operation ─▶ body ─▶ service ─▶ reply
//! ```
//!
//! This module holds the parts that all storage protocols share: listeners, request heads and bodies, credentials,
//! replies, CORS, and the order of the steps (`answer`). Each protocol has a folder ([`table`], [`queue`]) with its `Protocol`,
//! in which every operation has a file of its name. `wire` reads and writes the protocol's text, and the service's
//! crate performs the operation.
//!
//! Invariants:
//! - nothing in a request is trusted before its credentials are verified;
//! - a client uses bounded memory and time, also a hostile one;
//! - every answer has a request id, errors too, and shows no internal detail.

mod accounts;
mod answer;
mod answer_body;
mod authenticate;
mod authorized;
mod body;
mod busy;
mod connections;
mod cors;
mod execute;
mod forward;
mod front_parts;
#[cfg(test)]
mod head_tests;
mod listener;
mod owner_hint;
mod protocol;
pub mod queue;
mod receive;
mod refused;
mod reply;
mod request_head;
mod rows;
mod service_properties;
mod spellings;
#[cfg(test)]
mod stall_tests;
pub mod table;
#[cfg(test)]
mod tests;

pub use accounts::{InvalidAccount, accounts};
pub use connections::Connections;
pub use front_parts::{Front, FrontParts, InvalidSetting};
pub use receive::Receiver;
