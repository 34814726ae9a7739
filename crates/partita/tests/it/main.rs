//! The binary as its users meet it: started, read, signalled, asked.

#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot go on panics; the lint knows test functions only"
)]

mod bulk;
mod commands;
mod connect;
mod gate;
mod log_commands;
mod migrate_commands;
mod operate;
mod process;
mod proxy;
mod request;
mod serve;
mod snapshots;
mod stored_formats;
mod stress;
mod tokens;
mod tools;
mod tools_doc;
