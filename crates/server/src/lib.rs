//! The server: HTTP front, settings, TLS, logging, metrics and the admin port. See ARCHITECTURE.md.

pub mod admin;
pub mod backup;
pub mod check;
pub mod config;
pub mod connect;
mod connections;
mod environment;
pub mod explain;
pub mod front;
mod jobs;
pub mod logging;
pub mod metrics;
mod open_files;
mod scrub;
pub mod serve;
pub mod status;
pub mod tls;

pub use environment::Environment;
pub use serve::Server;

/// The version of the server.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
