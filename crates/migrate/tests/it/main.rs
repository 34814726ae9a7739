//! Tests of migrations on a real server.

#![allow(
    clippy::unwrap_used,
    reason = "the whole crate is tests, but clippy recognises only functions with the test attribute"
)]

mod at_start;
mod killed;
#[path = "../../../bulk/tests/support/lossy.rs"]
mod lossy;
mod migrations;
#[path = "../../../client/tests/example/server.rs"]
mod server;
#[path = "../../../bulk/tests/support/rows.rs"]
mod tables;
