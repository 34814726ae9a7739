//! The rules of ownership on a registry in memory, in virtual time.
#![allow(missing_docs, clippy::unwrap_used, reason = "tests")]

mod election;
mod expulsion;
mod lease;
mod link;
mod ownership;
mod replace;
mod routes;
mod schedules;
mod version;
mod world;
