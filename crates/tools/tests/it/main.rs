//! Transfers and the admin port against a real server.

#![allow(
    clippy::unwrap_used,
    reason = "the whole crate is tests, though not every function has the attribute"
)]

mod admin_port;
mod killed;
mod lost_answers;
mod migrate_killed;
mod migrations;
#[path = "../../../client/tests/example/server.rs"]
mod server;
mod stress;
mod tables;
mod transfer;
