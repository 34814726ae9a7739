//! A server as a member of a cluster: it forwards requests, and serves the store while it owns it.
//!
//! ```text
//!  start_member ─▶ forwards everything ─▶ open_store ─▶ (activate the tenure) ─▶ host ─▶ … ─▶ give_up ─▶ forwards
//! ```
//!
//! A process opens the store once: after it gave the store up, only a new process can open it again.

mod hosting;
pub(crate) mod join_error;
pub(crate) mod life;
pub(crate) mod parts;
mod process;
mod start;

pub(crate) use start::start;
