//! The data of a server: where it is, and how it is opened and closed.
//!
//! Opening and closing do not depend on the ports: a server may open its ranges at any time, and close them again while
//! it listens. A store that several servers can reach has no lock. The server that opens it last takes it over, and
//! the engine's `fenced` tells the others.

mod engines;
mod error;
mod identity;
mod open;
mod remote_store;
mod restore;
mod version;

pub(crate) use engines::examine;
pub use error::Error;
pub(crate) use open::OpenRanges;
pub(crate) use remote_store::RemoteStore;
pub use restore::{RestoreError, restore_to_store};

#[cfg(test)]
mod tests;
