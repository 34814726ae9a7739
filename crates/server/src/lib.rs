//! The `server` room: HTTP front, settings, TLS, admin API, metrics. See ARCHITECTURE.md.

pub mod config;
pub mod logging;
pub mod metrics;
pub mod tls;
