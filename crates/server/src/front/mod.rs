//! The front end of the table protocol: from a connection to an answer.
//!
//! ```text
//! connection ─▶ request ─▶ target ─▶ credentials ─▶ operation ─▶ body ─▶ table service ─▶ reply
//! ```
//!
//! `wire` reads and writes what goes over the line, `table` does what is asked; here they meet, and HTTP with them. One
//! operation, one file, under `table`.
//!
//! Invariants:
//! - nothing of a request is believed before its credentials were;
//! - whatever a client does, it takes bounded memory and time;
//! - every answer, errors too, carries a request id, and nothing internal.

mod account;
mod authenticate;
mod body;
mod connection;
mod context;

mod progress;
mod reply;
mod request;
mod serve;
mod table;
#[cfg(test)]
mod tests;

pub use account::{Accounts, InvalidAccount};
pub use serve::{Front, FrontParts, Unsendable};
pub use table::explain_plan;
