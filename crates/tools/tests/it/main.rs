//! Tests of transfers, fleets, stress tests and the admin client on a real server.

#![allow(
    clippy::unwrap_used,
    reason = "the whole crate is tests, but clippy recognises only functions with the test attribute"
)]

mod admin_port;
mod fleet;
mod killed;
#[path = "../../../bulk/tests/support/lossy.rs"]
mod lossy;
mod lost_answers;
#[path = "../../../client/tests/example/server.rs"]
mod server;
mod stress;
mod tables;
#[path = "../../../bulk/tests/support/rows.rs"]
mod test_rows;
mod transfer;
