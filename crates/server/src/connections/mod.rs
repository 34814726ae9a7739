//! Connections of the table port and of the admin port: accepted, watched, and closed when they take too long or when
//! others need their place.
//!
//! ```text
//! accept ─▶ first byte ─▶ (TLS) ─▶ HTTP ─▶ head ─▶ [body] ─▶ work ─▶ answer ─┐
//!                                           ▲                                │
//!                                           └──────────── idle ◀─────────────┘
//! ```
//!
//! - [`accept`](accept::accept) takes every new connection. When all places are taken, it closes the connection that
//!   has waited longest. A new client waits only while all connections are in use.
//! - [`Watch`] checks all connections once a second, without a timer for each request.
//! - [`serve`] speaks HTTP/1.1 over a stream that reports its [`Progress`].

mod accept;
mod http;
mod progress;
mod stream;
#[cfg(test)]
mod tests;
mod watch;

pub(crate) use accept::accept;
pub(crate) use http::{Buffers, serve};
pub(crate) use progress::{Ended, Phase, Progress};
pub(crate) use watch::{Evicts, Patience, Watch, Watched};
