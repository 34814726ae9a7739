//! Tests of the binary as a process: its arguments, output, signals and requests.

#![allow(
    clippy::unwrap_used,
    reason = "a failed test panics; the lint exempts test functions only, not their helpers"
)]

mod access;
mod bulk;
mod commands;
mod completions;
mod connect;
mod damage;
mod damaged_store;
mod gate;
mod log_commands;
#[cfg(target_os = "linux")]
mod memory_group;
#[cfg(target_os = "linux")]
mod memory_limits;
mod migrate_commands;
mod moving_data;
mod object_store;
mod operate;
mod pages;
mod process;
mod profiles;
mod proxy;
mod queue_commands;
mod request;
mod serve;
mod slow_clients;
mod snapshots;
mod stored_formats;
mod stress;
mod tokens;
mod tools;
