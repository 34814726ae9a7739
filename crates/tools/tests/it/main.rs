//! Tests of transfers, migrations, stress tests and the admin client on a real server.

#![allow(
    clippy::unwrap_used,
    reason = "the whole crate is tests, but clippy recognises only functions with the test attribute"
)]

mod admin_port;
mod fleet;
mod killed;
mod lost_answers;
mod migrate_killed;
mod migrations;
#[path = "../../../client/tests/example/server.rs"]
mod server;
mod stress;
mod tables;
mod transfer;
