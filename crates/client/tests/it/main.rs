//! Tests of the client against a real server, and against a server with scripted failures.

#![allow(
    clippy::unwrap_used,
    reason = "the whole crate is tests, though not every function has the attribute"
)]

mod busy;
mod credentials;
mod durations;
mod errors;
mod examples;
mod extension;
mod faults;
mod faulty_server;
mod log_tail;
mod lost_answers;
mod on_the_server;
mod owner_hints;
mod proxy;
mod queue_faults;
mod queues;
mod samples;
#[path = "../example/server.rs"]
mod server;
