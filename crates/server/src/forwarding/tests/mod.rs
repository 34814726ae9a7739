//! Servers of one cluster in this process: real sockets, real connections between them, a map and gates that the test
//! controls.

#![allow(
    clippy::disallowed_methods,
    reason = "sends requests over real sockets, and kills a server with its runtime"
)]

mod answers;
pub(crate) mod client;
mod failures;
mod gates;
mod hints;
mod holding;
mod member;
mod moves;
mod registry;
mod script;

use client::*;
use member::*;
