//! The server: HTTP front, settings, TLS, logging, metrics and the admin port. See ARCHITECTURE.md.

pub mod admin;
pub mod backup;
pub mod check;
pub mod config;
pub mod connect;
mod connections;
mod environment;
pub mod explain;
pub mod forwarding;
mod freed_memory;
pub mod front;
mod jobs;
mod known_names;
pub mod logging;
mod member;
pub mod metrics;
mod open_files;
mod scrub;
pub mod serve;
mod start;
pub mod status;
pub mod store;
pub mod tls;

pub use environment::Environment;
pub use freed_memory::set_release_freed_memory;
pub use member::join_error::JoinError;
pub use member::parts::MemberParts;
pub use serve::Server;

/// The version of the server.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The number of threads for requests: one per core, but at most one for each 32 MiB of the available memory, and at
/// least 2 if there are as many cores. Each takes 2 MiB of the address space, and memory of the allocator.
#[must_use]
pub fn request_threads() -> usize {
    let threads_max = usize::try_from(partita_rt::memory::available() >> 25).unwrap_or(usize::MAX);
    partita_rt::threads::cores().min(threads_max.max(2))
}

/// The maximum number of threads for blocking work, such as reading files of the store: one for each 16 MiB of the
/// available memory, from 16 to tokio's default of 512. Each takes 2 MiB of the address space.
#[must_use]
pub fn blocking_threads_max() -> usize {
    let threads = (partita_rt::memory::available() >> 24).clamp(16, 512);
    usize::try_from(threads).expect("512 at most")
}
