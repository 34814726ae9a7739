//! The client against a real server, and against one that fails on purpose.

#![allow(
    clippy::unwrap_used,
    reason = "all of it is tests, though not every function is marked so"
)]

mod busy;
mod credentials;
mod extension;
mod faults;
mod faulty_server;
mod log_tail;
mod lost_answers;
mod on_the_server;
mod proxy;
#[path = "../example/server.rs"]
mod server;
